//! The resource types of `Microsoft.Compute` that the disk driver works with.

pub mod data_disks;
pub mod disks;
pub mod skus;
pub mod snapshots;
pub mod types;
pub mod vms;
pub mod vmss;
