//! The parameters of a VolumeAttributesClass.

use std::collections::BTreeMap;

use azcsi_types::params::{BadParam, ParamMap};

use super::params::number;

/// What changes of a share that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MutableParams {
    /// Provisioned IOPS.
    pub iops: Option<u64>,
    /// Provisioned bandwidth in MiB/s.
    pub bandwidth: Option<u64>,
}

impl MutableParams {
    /// Reads them.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn parse(map: BTreeMap<String, String>) -> Result<Self, BadParam> {
        let mut map = ParamMap::new(map)?;
        let params = Self {
            iops: number(&mut map, "provisionedIOPS")?,
            bandwidth: number(&mut map, "provisionedBandwidth")?,
        };
        map.finish()?;
        Ok(params)
    }
}

/// Checks parameters that are to be laid over those of a StorageClass: only these may be.
///
/// # Errors
/// The first that is wrong.
pub fn check(map: BTreeMap<String, String>) -> Result<(), BadParam> {
    MutableParams::parse(map).map(drop)
}
