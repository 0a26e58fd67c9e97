//! What NodePublishVolume is asked for, checked.

use azcsi_proto::csi::v1;
use azcsi_rpc::validate;
use azcsi_types::access::{AccessMode, VolumeMode};
use azcsi_types::host_path::HostPath;

use super::context::{PublishContext, VolumeContext};
use super::error::NodeError;
use super::volume::Volume;

/// A checked request.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) volume: Volume,
    pub(super) staging: Option<HostPath>,
    pub(super) target: HostPath,
    pub(super) is_block: bool,
    pub(super) mode: AccessMode,
    pub(super) read_only: bool,
    pub(super) context: VolumeContext,
    pub(super) published: PublishContext,
}

impl Request {
    /// Checks what came over the wire.
    pub(super) fn decode(wire: v1::NodePublishVolumeRequest) -> Result<Self, NodeError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let target = validate::path("target_path", &wire.target_path)?;
        let access = validate::capability(wire.volume_capability)?;
        let staging = validate::optional_path("staging_target_path", &wire.staging_target_path)?;
        let volume = Volume::decode(id)?;
        let context = VolumeContext::decode(wire.volume_context)?;
        access
            .on_disk(context.shares)
            .map_err(|error| NodeError::value("volume_capability", error))?;
        Ok(Self {
            volume,
            staging,
            target,
            is_block: access.volume == VolumeMode::Block,
            mode: access.mode,
            read_only: wire.readonly || access.mode.is_read_only(),
            context,
            published: PublishContext::decode(wire.publish_context)?,
        })
    }

    pub(super) fn refused(&self, why: impl Into<String>) -> NodeError {
        NodeError::Refused {
            volume: self.volume.as_str().to_owned(),
            why: why.into(),
        }
    }
}
