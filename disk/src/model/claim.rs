//! What a new volume is for: the claim, as external-provisioner tells it.

use azcsi_types::keys::metadata;
use azcsi_types::params::ParamMap;

use super::params::read::text;

/// What external-provisioner tells with `--extra-create-metadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Name of the claim.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Name of the volume.
    pub volume: Option<String>,
}

impl Claim {
    /// Takes what is told of the claim.
    pub fn take(map: &mut ParamMap) -> Self {
        Self {
            name: text(map.take(metadata::PVC_NAME)),
            namespace: text(map.take(metadata::PVC_NAMESPACE)),
            volume: text(map.take(metadata::PV_NAME)),
        }
    }
}
