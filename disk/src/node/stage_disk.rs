//! Staging a filesystem: from a proven device to a mount that is what was asked for.
//!
//! The kubelet takes a final error to mean that nothing is mounted. So whatever fails after the
//! mount is followed by an unmount; where even that fails, the answer asks for another try.

use std::io::ErrorKind;
use std::path::Path;

use azcsi_host::HostError;
use azcsi_host::devices::{Disk, Guard};
use azcsi_host::growfs::Mounted as GrowMounted;
use azcsi_host::mkfs::Kernel;
use azcsi_host::mount::{MountOptions, Unmount, Wanted};
use azcsi_types::op::Op;

use super::Node;
use super::device::{self, Proven};
use super::error::NodeError;
use super::mounted;
use super::record::{Intent, Record};
use super::stage_plan::{self, AtStaging, Mounted};
use super::stage_request::{Request, Wish};
use super::staged::{end_formatting, remember};

/// Everything of one stage that does not change.
pub(super) struct Job<'a> {
    pub(super) node: &'a Node,
    pub(super) op: &'a Op,
    pub(super) request: &'a Request,
    pub(super) wish: &'a Wish,
    pub(super) proven: &'a Proven,
    /// The disk, or the partition of it that is wanted.
    pub(super) target: Disk,
    /// The same, kept from becoming another; `None` when it is the whole disk.
    pub(super) part: Option<Guard>,
}

/// Makes sure that the filesystem is mounted at the staging path.
pub(super) async fn filesystem(
    node: &Node,
    op: &Op,
    request: &Request,
    wish: &Wish,
    proven: &Proven,
) -> Result<(), NodeError> {
    let missing = node.powers.tools.missing(wish.kind);
    if !missing.is_empty() {
        let why = format!("{} is not installed on this node", missing.join(", "));
        return Err(NodeError::value("the filesystem type", why));
    }
    let job = job(node, op, request, wish, proven)?;
    match job.at_staging()? {
        AtStaging::Staged => {}
        AtStaging::Refuse(why) => {
            return Err(NodeError::Incompatible {
                path: request.staging.as_path().to_owned(),
                why: why.to_owned(),
            });
        }
        AtStaging::CleanUp => {
            job.unmount(Unmount::DeviceGone).await?;
            node.metrics.repaired();
            job.mount_fresh().await?;
        }
        AtStaging::Mount => job.mount_fresh().await?,
    }
    if !wish.read_only
        && let Err(error) = job.grow().await
    {
        return Err(job.take_back(error).await);
    }
    remember(
        node,
        request,
        job.record(Intent::None, &request.staging.to_string()),
    );
    Ok(())
}

fn job<'a>(
    node: &'a Node,
    op: &'a Op,
    request: &'a Request,
    wish: &'a Wish,
    proven: &'a Proven,
) -> Result<Job<'a>, NodeError> {
    let devices = &node.powers.devices;
    let (target, part) = match request.context.partition {
        None => (proven.disk().clone(), None),
        Some(number) => {
            let part = devices.partition(proven.disk(), number);
            let part = part.ok_or_else(|| NodeError::Refused {
                volume: request.volume.as_str().to_owned(),
                why: format!("it has no partition {number}"),
            })?;
            let guard = devices
                .guard(&part)
                .map_err(|error| device::changed(&request.volume, error))?;
            (part, Some(guard))
        }
    };
    Ok(Job {
        node,
        op,
        request,
        wish,
        proven,
        target,
        part,
    })
}

impl Job<'_> {
    pub(super) fn volume(&self) -> &str {
        self.request.volume.as_str()
    }

    fn staging(&self) -> &Path {
        self.request.staging.as_path()
    }

    pub(super) fn guard(&self) -> &Guard {
        self.part.as_ref().unwrap_or(&self.proven.guard)
    }

    /// Checks that disk and partition are still what they were.
    pub(super) fn verify(&self) -> Result<(), NodeError> {
        let devices = &self.node.powers.devices;
        self.proven
            .guard
            .verify(devices)
            .and_then(|()| self.guard().verify(devices))
            .map_err(|error| device::changed(&self.request.volume, error))
    }

    fn at_staging(&self) -> Result<AtStaging, NodeError> {
        let table = mounted::table(self.node, self.volume())?;
        let Some(mount) = table.top(self.staging()) else {
            return Ok(stage_plan::at_staging(None));
        };
        let device = mount.block_device();
        let is_root = mount.root == Path::new("/");
        Ok(stage_plan::at_staging(Some(Mounted {
            is_device: device == self.target.device,
            is_alive: mounted::is_alive(self.node, device),
            is_filesystem: is_root && mount.fs_type == self.wish.kind.name(),
            is_mode: mount.is_read_only() == self.wish.read_only,
        })))
    }

    async fn mount_fresh(&self) -> Result<(), NodeError> {
        let options = self.options()?;
        if !self.wish.direct {
            self.prepare().await?;
        }
        self.verify()?;
        end_formatting(self.node, self.request, || self.record(Intent::None, ""))?;
        let made = make_folder(self.staging())
            .map_err(|error| NodeError::io("making the staging folder", self.volume(), error))?;
        let wanted = Wanted {
            source: self.target.node.clone(),
            target: self.staging().to_owned(),
            fs_type: self.wish.kind.name().to_owned(),
            options,
        };
        if let Err(error) = self.node.powers.mounter.mount(self.op, wanted).await {
            let timed_out = matches!(error, HostError::TimedOut { .. });
            if made && !timed_out {
                let _ = std::fs::remove_dir(self.staging());
            }
            return Err(NodeError::step("mounting", self.volume(), error));
        }
        match self.check_mount() {
            Ok(()) => Ok(()),
            Err(error) => Err(self.take_back(error).await),
        }
    }

    pub(super) fn size(&self) -> Result<u64, NodeError> {
        self.guard()
            .size()
            .map_err(|error| device::changed(&self.request.volume, error))
    }

    pub(super) fn to_grow(&self, device: u64) -> GrowMounted {
        GrowMounted {
            kind: self.wish.kind,
            node: self.target.node.clone(),
            point: self.staging().to_owned(),
            device,
        }
    }

    /// The mount options. On a device that takes no writes a journal cannot be replayed, so the
    /// filesystem is mounted as it is; without that word the kernel refuses it when it was not
    /// unmounted in order.
    fn options(&self) -> Result<MountOptions, NodeError> {
        let mut options = self.wish.options.clone();
        if !self.node.powers.devices.is_write_protected(&self.target) {
            return Ok(options);
        }
        if !self.wish.read_only {
            return Err(NodeError::Refused {
                volume: self.volume().to_owned(),
                why: "its device is write-protected: use the volume read only".to_owned(),
            });
        }
        if let Some(option) = stage_plan::without_recovery(self.wish.kind, Kernel::running()) {
            options.add(option);
            let text = format!(
                "volume '{}' is on a write-protected device and is mounted with {option}: what was \
                 written last may be missing",
                self.volume()
            );
            self.node
                .tell_flaw(self.request, "MountedWithoutRecovery", &text);
        }
        Ok(options)
    }

    /// Whether what is mounted now is what was asked for.
    fn check_mount(&self) -> Result<(), NodeError> {
        self.verify()?;
        match self.at_staging()? {
            AtStaging::Staged => Ok(()),
            other => Err(NodeError::NotReady {
                volume: self.volume().to_owned(),
                why: format!("the mount is not what was asked for ({other:?})"),
            }),
        }
    }

    async fn grow(&self) -> Result<(), NodeError> {
        let wanted = self.to_grow(self.size()?);
        self.node
            .powers
            .grow
            .to_device(self.op, &wanted)
            .await
            .map(drop)
            .map_err(|error| NodeError::step("growing the filesystem", self.volume(), error))
    }

    async fn unmount(&self, how: Unmount) -> Result<(), NodeError> {
        self.node
            .powers
            .mounter
            .unmount_all(self.op, self.staging(), how)
            .await
            .map_err(|error| NodeError::step("unmounting", self.volume(), error))
    }

    /// Unmounts after a failure, so that the failure may be final.
    async fn take_back(&self, error: NodeError) -> NodeError {
        match self.unmount(Unmount::Plain).await {
            Ok(()) => {
                remember(self.node, self.request, self.record(Intent::None, ""));
                error
            }
            Err(stuck) => {
                tracing::warn!(
                    error = azcsi_types::fault::report(&stuck),
                    "a failed stage stays mounted"
                );
                NodeError::LeftMounted {
                    volume: self.volume().to_owned(),
                    path: self.staging().to_owned(),
                    source: Box::new(error),
                }
            }
        }
    }

    /// The path is empty until something is mounted there.
    pub(super) fn record(&self, intent: Intent, staging_path: &str) -> Record {
        Record {
            mark: self.proven.mark.clone(),
            fs_type: Some(self.wish.kind.name().to_owned()),
            staging_path: staging_path.to_owned(),
            read_only: self.wish.read_only,
            intent,
            time: self.node.now(),
            ..Record::default()
        }
    }
}

/// Makes the staging folder; tells whether it was missing.
fn make_folder(path: &Path) -> Result<bool, HostError> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().mode(0o750).create(path);
    match made {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => std::fs::DirBuilder::new()
            .mode(0o750)
            .recursive(true)
            .create(path)
            .map(|()| true)
            .map_err(|source| HostError::io("make the folder", path, source)),
        Err(source) => Err(HostError::io("make the folder", path, source)),
    }
}
