//! The cases. Each has data that is checked byte for byte.
//!
//! | module | holds |
//! |---|---|
//! | [`life`] | life cycles on SCSI and NVMe, with and without udev, late devices, many at once |
//! | [`pull`] | disks that go while they are used, and slots that others get |
//! | [`power`] | machines that lose power or restart |
//! | [`grow`] | growth under a mounted filesystem |
//! | [`share`] | clones beside their source, disks of several nodes, disks that are not ours |
//! | [`files`] | plain SMB and NFS mounts |
//! | [`sanity`] | csi-sanity over the File driver |
//! | [`shares`] | the File driver: life cycles, lost servers, keys, causes |

pub mod files;
pub mod grow;
pub mod life;
pub mod power;
pub mod pull;
pub mod sanity;
pub mod share;
pub mod shares;

use std::pin::Pin;

use anyhow::Result;

use crate::lab::Lab;

/// What a case does, on its way.
pub type Walk<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;
/// What a case does.
pub type Steps = for<'a> fn(&'a mut Lab) -> Walk<'a>;

/// A case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Whether it is part of the selection for each submission.
    pub quick: bool,
    /// What it does.
    pub steps: Steps,
}

macro_rules! cases {
    ($($when:ident $name:literal $steps:path: $about:literal,)*) => {
        &[$(Case {
            name: $name,
            about: $about,
            quick: cases!(@ $when),
            steps: |lab| Box::pin($steps(lab)),
        }),*]
    };
    (@ always) => { true };
    (@ full) => { false };
}

/// All of them, in the order in which they run.
pub const ALL: &[Case] = cases! {
    always "life-scsi-ext4" life::scsi_ext4: "a filesystem on a SCSI disk, through detach and attach",
    always "life-scsi-block" life::scsi_block: "a raw SCSI disk",
    always "life-nvme-xfs" life::nvme_xfs: "a filesystem on an NVMe namespace",
    always "life-nvme-block" life::nvme_block: "a raw NVMe namespace",
    full "life-scsi-btrfs" life::scsi_btrfs: "btrfs on a SCSI disk",
    always "no-udev" life::without_udev: "a SCSI disk on a node without udev and without links",
    always "only-links" life::only_links: "a SCSI disk on an unknown controller, found by its link",
    always "late-device" life::late: "a device that appears seconds after the attach",
    always "burst-scsi" life::burst_scsi: "32 disks at once, each the one it should be",
    full "burst-nvme" life::burst_nvme: "the same with NVMe namespaces",
    always "pull-scsi" pull::scsi: "a SCSI disk detached while it is written",
    full "pull-nvme" pull::nvme: "an NVMe namespace detached while it is written",
    always "slot-reuse-scsi" pull::reuse_scsi: "a slot that another disk gets while the first is mounted",
    full "slot-reuse-nvme" pull::reuse_nvme: "the same with NVMe namespaces",
    always "grow-scsi-ext4" grow::scsi_ext4: "growth three times in a row, no news of it from the device",
    always "grow-nvme-xfs" grow::nvme_xfs: "growth three times in a row, told by the namespace",
    always "clone-xfs" share::clone: "an XFS clone beside its source",
    always "shared" share::shared: "one disk on two nodes, each sees what the other wrote",
    always "decoys" share::decoys: "data disks between disks that look like them",
    full "silent" life::silent: "several disks at once on a controller that tells of none",
    always "power-loss" power::loss: "a node loses power, the volume moves, the node comes back",
    full "reboot" power::reboot: "a node restarts by itself, the volume is staged again",
    always "smb" files::smb: "SMB 3.1.1 with encryption; the server stops, the network is cut",
    always "nfs" files::nfs: "NFS 4.1; the server stops, the network is cut",
    always "file-smb" shares::life_smb: "a volume of the File driver over SMB, on two nodes",
    always "file-nfs" shares::life_nfs: "the same over NFS",
    full "file-restart-smb" shares::restart_smb: "the SMB server restarts under a pod that writes",
    full "file-restart-nfs" shares::restart_nfs: "the same with NFS",
    full "file-cut-smb" shares::cut_smb: "the network is cut under an SMB mount",
    full "file-cut-nfs" shares::cut_nfs: "the same with NFS",
    always "file-rotate" shares::rotate: "the account's key is rotated under a mounted share",
    always "file-wrong-key" shares::wrong_key: "a mount with a wrong key says so",
    always "file-missing" shares::missing: "a mount of a deleted share says so",
    full "file-blocked" shares::blocked: "a mount through a firewall says so",
    full "file-sanity-smb" sanity::smb: "the real csi-sanity over the File driver, SMB",
    full "file-sanity-nfs" sanity::nfs: "the same over NFS",
};
