//! `kubernetes.io/azure-disk` and `disk.csi.azure.com`.

pub(crate) mod back;
pub(crate) mod class;
pub(crate) mod forward;

/// The topology key of the disk driver.
pub(crate) const ZONE_KEY: &str = "topology.disk.csi.azure.com/zone";
