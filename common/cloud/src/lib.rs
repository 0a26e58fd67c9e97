//! Azure behind typed clients: ARM, tokens, instance metadata.
//!
//! [`Azure`] gives out one small client per resource type. Every request leaves through the
//! [`Transport`] it was made with, and every call carries the [`azcsi_types::op::Op`] on whose
//! behalf it is made: its deadline bounds every wait, its id is Azure's correlation id.
//!
//! Must not know: CSI, Kubernetes, devices. It reads no environment and no file at a place of its
//! own choice, except the token and certificate files that the configuration names.

pub mod arm;
pub mod auth;
mod azure;
pub mod cache;
pub mod compute;
pub mod config;
pub mod environment;
pub mod metadata;
pub mod pipeline;
#[cfg(test)]
mod testing;
mod wire;

pub use arm::error::{Absence, ArmError, ErrorDetail, ErrorKind};
pub use azure::{Azure, Seams, StartError};
pub use compute::data_disks::{
    AttachDisk, DataDisk, DataDiskChanges, DataDiskList, DetachDisk, DetachOption, ManagedDisk,
};
pub use compute::disks::{
    Disk, DiskCreate, DiskCreateProperties, DiskProperties, DiskSkuRef, DiskState, DiskUpdate,
    DiskUpdateProperties, Disks,
};
pub use compute::skus::{ResourceSku, Skus};
pub use compute::snapshots::{
    Snapshot, SnapshotCreate, SnapshotCreateProperties, SnapshotProperties, SnapshotUpdate,
    Snapshots,
};
pub use compute::types::{
    CreationData, Encryption, ExtendedLocation, GroupScope, ProvisioningState, SubResource, Tags,
};
pub use compute::vms::{ETag, StorageProfile, Vm, VmProperties, Vms};
pub use compute::vmss::{ScaleSet, ScaleSets};
pub use config::CloudConfig;
pub use environment::Environment;
pub use metadata::{Instance, InstanceMetadata};
pub use pipeline::throttle::{Gate, Governor};
pub use pipeline::transport::{
    HttpOptions, HttpTransport, ServiceTransport, Transport, TransportError,
    install_crypto_provider,
};
