//! `Microsoft.Compute`: one file per resource type.

pub(crate) mod access;
pub(crate) mod attach;
pub(crate) mod body;
pub(crate) mod catalogue;
pub(crate) mod disk_rules;
pub(crate) mod disks;
pub(crate) mod encryption_sets;
pub(crate) mod groups;
pub(crate) mod kept;
pub(crate) mod machine_view;
pub(crate) mod placement;
pub(crate) mod scale_sets;
pub(crate) mod skus;
pub(crate) mod snapshots;
pub(crate) mod vms;
pub(crate) mod vmss;
