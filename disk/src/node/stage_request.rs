//! What NodeStageVolume is asked for, checked.

use azcsi_host::mount::MountOptions;
use azcsi_host::probe::FsKind;
use azcsi_proto::csi::v1;
use azcsi_rpc::validate;
use azcsi_types::access::{Access, VolumeMode};
use azcsi_types::host_path::HostPath;
use azcsi_types::lun::Lun;

use super::context::{PublishContext, VolumeContext};
use super::error::NodeError;
use super::volume::Volume;

/// How the volume is to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As a raw device.
    Block,
    /// As a filesystem.
    Filesystem(Wish),
}

/// A filesystem that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Which.
    pub kind: FsKind,
    /// Mount options.
    pub options: MountOptions,
    /// Neither look at the disk nor check or make a filesystem (the mount flag `directmount`).
    pub direct: bool,
    /// Nothing is to be written.
    pub read_only: bool,
}

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The volume.
    pub volume: Volume,
    /// Where to mount it.
    pub staging: HostPath,
    /// Its slot.
    pub lun: Lun,
    /// How.
    pub mode: Mode,
    /// From the volume.
    pub context: VolumeContext,
    /// From the attach.
    pub published: PublishContext,
}

impl Request {
    /// Checks what came over the wire.
    pub(super) fn decode(wire: v1::NodeStageVolumeRequest) -> Result<Self, NodeError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let staging = validate::path("staging_target_path", &wire.staging_target_path)?;
        let access = validate::capability(wire.volume_capability)?;
        let volume = Volume::decode(id)?;
        let context = VolumeContext::decode(wire.volume_context)?;
        access
            .on_disk(context.shares)
            .map_err(|error| NodeError::value("volume_capability", error))?;
        let mode = mode(&access, &context)?;
        let published = PublishContext::decode(wire.publish_context)?;
        Ok(Self {
            volume,
            staging,
            lun: published.needed_lun()?,
            mode,
            context,
            published,
        })
    }
}

/// The filesystem that counts: the volume's own word, the capability's, ext4.
fn mode(access: &Access, context: &VolumeContext) -> Result<Mode, NodeError> {
    let VolumeMode::Filesystem {
        fs_type,
        mount_flags,
    } = &access.volume
    else {
        return Ok(Mode::Block);
    };
    let named = context
        .fs_type
        .as_deref()
        .or(Some(fs_type.as_str()))
        .filter(|name| !name.is_empty())
        .unwrap_or("ext4");
    let kind: FsKind = named
        .parse()
        .map_err(|error| NodeError::value("the filesystem type", error))?;
    let mut options = MountOptions::parse(mount_flags)
        .map_err(|error| NodeError::value("volume_capability.mount_flags", error))?;
    let direct = options.take("directmount");
    if kind == FsKind::Xfs {
        // A clone has the UUID of its source, and the kernel mounts only one of the two without.
        options.add("nouuid");
    }
    if access.mode.is_read_only() && !options.is_read_only() {
        options.take("rw");
        options.add("ro");
    }
    Ok(Mode::Filesystem(Wish {
        kind,
        direct,
        read_only: options.is_read_only(),
        options,
    }))
}

#[cfg(test)]
mod tests {
    use azcsi_host::probe::FsKind;
    use azcsi_types::access::{Access, AccessMode, VolumeMode};

    use super::{Mode, VolumeContext, Wish, mode};

    fn wish(in_context: Option<&str>, in_capability: &str, flags: &[&str]) -> Wish {
        let mut context = VolumeContext::decode(std::collections::HashMap::new()).unwrap();
        context.fs_type = in_context.map(str::to_owned);
        let access = Access {
            mode: AccessMode::SingleNodeWriter,
            volume: VolumeMode::Filesystem {
                fs_type: in_capability.to_owned(),
                mount_flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            },
        };
        match mode(&access, &context).unwrap() {
            Mode::Filesystem(wish) => wish,
            Mode::Block => panic!("block"),
        }
    }

    #[test]
    fn without_any_word_on_the_filesystem_it_is_ext4_nd_22() {
        assert_eq!(wish(None, "", &[]).kind, FsKind::Ext4);
    }

    #[test]
    fn the_volume_s_word_wins_and_xfs_never_looks_at_the_uuid() {
        for (context, capability, kind) in [
            (None, "", FsKind::Ext4),
            (None, "xfs", FsKind::Xfs),
            (Some("XFS"), "", FsKind::Xfs),
            (Some("xfs"), "ext4", FsKind::Xfs),
            (Some("ext4"), "xfs", FsKind::Ext4),
        ] {
            let wish = wish(context, capability, &[]);
            assert_eq!(wish.kind, kind);
            assert_eq!(wish.options.has("nouuid"), kind == FsKind::Xfs);
        }
    }

    #[test]
    fn flags_are_taken_apart() {
        let wish = wish(None, "ext4", &["ro,noatime", "directmount"]);
        assert!(wish.read_only && wish.direct);
        assert_eq!(wish.options.words(), ["ro", "noatime"]);
    }
}
