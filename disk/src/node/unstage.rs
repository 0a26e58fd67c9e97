//! NodeUnstageVolume.

use std::sync::Arc;

use azcsi_host::devices::{Class, Disk, Found, Transport};
use azcsi_host::mountinfo::DevT;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::host_path::HostPath;
use azcsi_types::lun::Lun;
use azcsi_types::op::Op;

use super::error::NodeError;
use super::record::{DeviceMark, Record};
use super::volume::{VolumeKey, path_guard};
use super::{Node, mounted};

/// The RPC.
#[derive(Debug)]
pub struct NodeUnstageVolume;

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    volume: VolumeKey,
    staging: HostPath,
}

impl Handler for NodeUnstageVolume {
    type Ctx = Node;
    type Wire = v1::NodeUnstageVolumeRequest;
    type WireReply = v1::NodeUnstageVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = NodeError;
    const METHOD: Method = Method::NodeUnstageVolume;

    fn decode(_: &Node, wire: Self::Wire) -> Result<Request, NodeError> {
        Ok(Request {
            volume: VolumeKey::decode(wire.volume_id)?,
            staging: validate::path("staging_target_path", &wire.staging_target_path)?,
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![request.volume.guard(), path_guard(&request.staging)],
            fingerprint: format!("{request:?}"),
        }
    }

    async fn run(node: Arc<Node>, request: Request, op: Op) -> Result<(), NodeError> {
        let request = Request {
            staging: mounted::resolve(&request.staging),
            ..request
        };
        let volume = request.volume.as_str();
        let path = request.staging.as_path();
        let device = device_of(&node, &request)?;
        let record = node.records.get(&request.volume);
        if let Some(device) = device {
            // Before anything changes: what is staged stays staged while a pod needs it.
            not_used_elsewhere(&node, &request, device)?;
        }
        mounted::clear(&node, &op, path, volume).await?;
        if let Some(device) = device {
            not_used_elsewhere(&node, &request, device)?;
            let_go(&node, &op, device, record.as_ref()).await;
        }
        node.records
            .forget(&request.volume)
            .map_err(|error| NodeError::io("removing the record", volume, error))?;
        node.health.forget(&request.volume);
        Ok(())
    }

    fn encode((): ()) -> Self::WireReply {
        v1::NodeUnstageVolumeResponse {}
    }
}

/// The device that is staged: what is mounted, else what was recorded in this boot.
fn device_of(node: &Node, request: &Request) -> Result<Option<DevT>, NodeError> {
    let table = mounted::table(node, request.volume.as_str())?;
    if let Some(mount) = table.top(request.staging.as_path()) {
        return Ok(Some(mount.block_device()));
    }
    let record = node.records.get(&request.volume);
    Ok(record
        .filter(|record| record.mark.boot_id == node.powers.boot_id)
        .and_then(|record| DevT::parse(&record.mark.device)))
}

/// After an unstage the disk is detached. That must not happen under a pod that still uses it.
fn not_used_elsewhere(node: &Node, request: &Request, device: DevT) -> Result<(), NodeError> {
    let volume = request.volume.as_str();
    // A device that is gone cannot lose any more data.
    if device.major == 0 || !mounted::is_alive(node, device) {
        return Ok(());
    }
    let table = mounted::table(node, volume)?;
    let mut left = table.of_device(device);
    left.extend(table.of_node(device));
    let staging = request.staging.as_path();
    match left.iter().find(|mount| mount.point != staging) {
        None => Ok(()),
        Some(mount) => Err(NodeError::Refused {
            volume: volume.to_owned(),
            why: format!("it is still mounted at '{}'", mount.point.display()),
        }),
    }
}

/// Writes out and forgets what the kernel has cached, so that whoever attaches the disk next sees it;
/// then lets the kernel forget a SCSI disk, so that nobody meets its remains in the slot.
async fn let_go(node: &Node, op: &Op, device: DevT, record: Option<&Record>) {
    let devices = &node.powers.devices;
    let Some(disk) = devices.by_number(device) else {
        return;
    };
    let flushed = devices.guard(&disk).and_then(|guard| {
        guard.flush()?;
        Ok(guard)
    });
    let guard = match flushed {
        Ok(guard) => guard,
        Err(error) => {
            let error = azcsi_types::fault::report(&error);
            tracing::warn!(error, "a device was not flushed");
            return;
        }
    };
    let Some(disk) = in_its_slot(node, device, record) else {
        return;
    };
    // The guard keeps the name with this very disk until the kernel has the word.
    if guard.verify(devices).is_err() || !devices.holders(&disk).is_empty() {
        return;
    }
    if let Err(error) = node.powers.rescan.forget(op, &disk).await {
        let error = azcsi_types::fault::report(&error);
        tracing::warn!(error, "the kernel keeps a device that is not used any more");
    }
}

/// The SCSI disk that the kernel may forget: a data disk, still in the slot of the volume, and
/// certainly the one that was staged.
fn in_its_slot(node: &Node, device: DevT, record: Option<&Record>) -> Option<Disk> {
    let mark = &record?.mark;
    let devices = &node.powers.devices;
    let lun = Lun::try_from(i64::from(mark.lun)).ok()?;
    let Found::One(disk) = devices.find(lun) else {
        return None;
    };
    let now = DeviceMark {
        lun: mark.lun,
        hardware_id: devices.hardware_id(&disk),
        device: disk.device.to_string(),
        sequence: devices.sequence(&disk),
        boot_id: node.powers.boot_id.clone(),
        size_bytes: mark.size_bytes,
    };
    (disk.device == device && may_be_forgotten(&disk, mark, &now)).then_some(disk)
}

/// By the kernel's sequence number, or by the world-wide name where there is none.
fn may_be_forgotten(disk: &Disk, staged: &DeviceMark, now: &DeviceMark) -> bool {
    let same_name = staged.hardware_id.is_some() && staged.hardware_id == now.hardware_id;
    let same = staged.is_same_attachment(now)
        || (now.sequence.is_none() && same_name && staged.device == now.device);
    disk.transport == Transport::Scsi && disk.class == Class::Data && same
}

#[cfg(test)]
mod tests {
    use azcsi_host::devices::{Class, Disk, Transport};
    use azcsi_host::mountinfo::DevT;

    use super::{DeviceMark, may_be_forgotten};

    fn disk(class: Class, transport: Transport) -> Disk {
        Disk {
            name: "sdc".to_owned(),
            device: DevT {
                major: 8,
                minor: 32,
            },
            node: "/dev/sdc".into(),
            class,
            transport,
        }
    }

    fn mark(hardware: Option<&str>, sequence: Option<u64>) -> DeviceMark {
        DeviceMark {
            lun: 1,
            hardware_id: hardware.map(str::to_owned),
            device: "8:32".to_owned(),
            sequence,
            boot_id: "b".to_owned(),
            size_bytes: 1,
        }
    }

    #[test]
    fn only_the_disk_that_was_staged_is_forgotten() {
        let data = disk(Class::Data, Transport::Scsi);
        let same = mark(Some("w"), Some(7));
        assert!(may_be_forgotten(&data, &same, &same));
        assert!(may_be_forgotten(
            &data,
            &mark(Some("w"), None),
            &mark(Some("w"), None)
        ));
        for (staged, now) in [
            (mark(Some("w"), Some(7)), mark(Some("w"), Some(8))),
            (mark(None, None), mark(None, None)),
            (mark(Some("w"), None), mark(Some("x"), None)),
        ] {
            assert!(!may_be_forgotten(&data, &staged, &now), "{staged:?}");
        }
        for other in [
            disk(Class::System, Transport::Scsi),
            disk(Class::Unknown, Transport::Scsi),
            disk(Class::Data, Transport::Nvme),
        ] {
            assert!(!may_be_forgotten(&other, &same, &same), "{other:?}");
        }
    }
}
