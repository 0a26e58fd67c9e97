//! Finding the device of a slot, and proving which disk it is.

use std::time::Duration;

use azcsi_host::devices::{Changed, Devices, Disk, Found, Guard};
use azcsi_types::clock::Deadline;
use azcsi_types::lun::Lun;
use azcsi_types::op::Op;

use super::Node;
use super::error::NodeError;
use super::identity::{self, Evidence, Hardware, InSlot, Trust, Verdict};
use super::machine::Look;
use super::record::DeviceMark;
use super::volume::Volume;

/// Time that is left for the rest of an operation when a wait ends.
const MARGIN: Duration = Duration::from_secs(5);
/// First and longest pause between two looks.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(2);

/// What is known about the disk beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// Its slot.
    pub(crate) lun: Lun,
    /// `uniqueId` that the controller passed on.
    pub(crate) unique_id: Option<String>,
    /// The smallest size in bytes that the device may have.
    pub(crate) least: u64,
}

impl Expected {
    /// Only the slot is known.
    pub(crate) const fn at(lun: Lun) -> Self {
        Self {
            lun,
            unique_id: None,
            least: 0,
        }
    }
}

/// A device that is proven to be a volume's disk, and kept from becoming another.
#[derive(Debug)]
pub(crate) struct Proven {
    pub(crate) guard: Guard,
    pub(crate) mark: DeviceMark,
    pub(crate) trust: Trust,
}

impl Proven {
    pub(crate) const fn disk(&self) -> &Disk {
        self.guard.disk()
    }
}

/// Finds the device at a slot, waiting for it if need be, and proves that it is the volume's disk.
///
/// # Errors
/// NOT READY while it may still come; REFUSED when it is another disk or cannot be told.
pub(crate) async fn locate(
    node: &Node,
    op: &Op,
    volume: &Volume,
    expected: &Expected,
) -> Result<Proven, NodeError> {
    let begin = node.clock.now();
    let disk = wait(node, op, volume, expected.lun).await?;
    let guard = node
        .powers
        .devices
        .guard(&disk)
        .map_err(|error| changed(volume, error))?;
    let proven = prove(node, op, volume, guard, expected).await?;
    let took = node.clock.now().saturating_sub(begin);
    node.metrics.found(proven.disk().transport, took);
    Ok(proven)
}

/// Waits for the device at a slot.
async fn wait(node: &Node, op: &Op, volume: &Volume, lun: Lun) -> Result<Disk, NodeError> {
    let until = limit(node, op, node.config.device_wait);
    let mut pause = FIRST_PAUSE;
    let mut asked = false;
    loop {
        let found = node.powers.devices.find(lun);
        if let Found::One(disk) = found {
            return Ok(disk);
        }
        if until.passed(&*node.clock) || matches!(found, Found::Ambiguous { .. }) {
            return Err(not_found(volume, lun, &found));
        }
        if !asked {
            // While another volume's scan runs, the controller takes no request for this one.
            asked = node.powers.rescan.for_lun(op, lun).await;
            if asked {
                continue;
            }
        }
        tokio::time::sleep(pause.min(until.remaining(&*node.clock))).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

fn not_found(volume: &Volume, lun: Lun, found: &Found) -> NodeError {
    let volume = volume.as_str().to_owned();
    match found {
        Found::Ambiguous { names } => NodeError::Refused {
            volume,
            why: format!("slot {lun} has several devices: {}", names.join(", ")),
        },
        Found::Disagree {
            sysfs,
            link,
            leads_to,
        } => NodeError::Refused {
            volume,
            why: format!(
                "for slot {lun} the kernel shows '{sysfs}', but '{}' leads to '{leads_to}': \
                 correct the udev rules of this node",
                link.display()
            ),
        },
        Found::NotReady { name, why } => NodeError::NotReady {
            volume,
            why: format!("its device '{name}' in slot {lun} cannot be used yet: {why}"),
        },
        Found::Nothing { seen } => NodeError::NotReady {
            volume,
            why: format!(
                "no device has appeared in slot {lun} (seen there: {})",
                if seen.is_empty() {
                    "none".to_owned()
                } else {
                    seen.join(", ")
                }
            ),
        },
        Found::One(disk) => NodeError::NotReady {
            volume,
            why: format!("its device '{}' appeared too late", disk.name),
        },
    }
}

/// Gathers evidence until the table of [`identity`] is content or time is up.
async fn prove(
    node: &Node,
    op: &Op,
    volume: &Volume,
    guard: Guard,
    expected: &Expected,
) -> Result<Proven, NodeError> {
    let lun = expected.lun;
    let until = limit(node, op, node.config.confirm_wait);
    let mut pause = FIRST_PAUSE;
    loop {
        let mark = mark(node, &guard, lun);
        let evidence = gather(node, volume, &guard, &mark, expected).await;
        let (why, refuse) = match identity::decide(&evidence, node.config.identity) {
            Verdict::Proceed(trust) => {
                guard
                    .verify(&node.powers.devices)
                    .map_err(|error| changed(volume, error))?;
                if trust == Trust::Unproven {
                    tracing::warn!(%volume.uri, %lun, device = guard.disk().name, "nobody confirms which disk this is");
                }
                return Ok(Proven { guard, mark, trust });
            }
            Verdict::Refuse(why) => return Err(refused(volume, &guard, why)),
            Verdict::Wait(why) => (why, false),
            Verdict::WaitThenRefuse(why) => (why, true),
        };
        if until.passed(&*node.clock) {
            if refuse {
                return Err(refused(volume, &guard, why));
            }
            return Err(NodeError::NotReady {
                volume: volume.as_str().to_owned(),
                why,
            });
        }
        if !evidence.is_large_enough
            && let Err(error) = node.powers.rescan.size(op, guard.disk()).await
        {
            tracing::warn!(%error, "the size of a device could not be asked for");
        }
        tokio::time::sleep(pause.min(until.remaining(&*node.clock))).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

fn refused(volume: &Volume, guard: &Guard, why: String) -> NodeError {
    let device = &guard.disk().name;
    NodeError::WrongDisk {
        volume: volume.as_str().to_owned(),
        why: format!("device '{device}': {why}"),
    }
}

async fn gather(
    node: &Node,
    volume: &Volume,
    guard: &Guard,
    mark: &DeviceMark,
    expected: &Expected,
) -> Evidence {
    let key = volume.key();
    let earlier = node.records.get(&key).map(|record| record.mark);
    let hardware = mark.hardware_id.as_deref();
    Evidence {
        class: guard.disk().class,
        slot: in_slot(node, volume, mark.lun).await,
        published: identity::published(hardware, expected.unique_id.as_deref()),
        recorded: match &earlier {
            Some(earlier) if earlier.is_same_attachment(mark) => Hardware::Equal,
            earlier => {
                let earlier = earlier
                    .as_ref()
                    .and_then(|mark| mark.hardware_id.as_deref());
                identity::recorded(hardware, earlier)
            }
        },
        is_large_enough: guard.size().is_ok_and(|size| size >= expected.least),
        owner: node.records.other_owner(&key, mark),
    }
}

/// E1: what Azure says is in the slot, asked now.
pub(crate) async fn in_slot(node: &Node, volume: &Volume, lun: u8) -> InSlot {
    let facts = match node.machine.facts(Look::Fresh).await {
        Ok(facts) => facts,
        Err(error) => {
            tracing::warn!(
                error = azcsi_types::fault::report(&error),
                "no word on attached disks"
            );
            return InSlot::Unknown;
        }
    };
    let slot = facts.disks.iter().find(|(at, _)| at.get() == lun);
    match slot {
        None => InSlot::Nothing,
        Some((_, Some(disk))) if *disk == volume.uri => InSlot::Ours,
        Some((_, Some(disk))) => InSlot::Other(disk.to_string()),
        // The entry is there, but does not say which disk it is.
        Some((_, None)) => InSlot::Unknown,
    }
}

/// Everything that tells this device from others.
fn mark(node: &Node, guard: &Guard, lun: Lun) -> DeviceMark {
    let devices: &Devices = &node.powers.devices;
    let disk = guard.disk();
    DeviceMark {
        lun: lun.get(),
        hardware_id: devices.hardware_id(disk),
        device: disk.device.to_string(),
        sequence: devices.sequence(disk),
        boot_id: node.powers.boot_id.clone(),
        size_bytes: guard.size().unwrap_or(0),
    }
}

pub(crate) fn changed(volume: &Volume, error: Changed) -> NodeError {
    NodeError::step("using the device", volume.as_str(), error)
}

/// A time limit inside the operation's, with something left for the rest.
fn limit(node: &Node, op: &Op, wait: Duration) -> Deadline {
    let left = op.deadline().remaining(&*node.clock);
    Deadline::after(&*node.clock, wait.min(left.saturating_sub(MARGIN)))
}
