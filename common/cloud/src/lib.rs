//! Azure behind typed clients: ARM, the file service, tokens, instance metadata.
//!
//! [`Azure`] gives out one small client per resource type, and [`Files`] for what a storage account
//! serves itself. Every request leaves through the
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
pub mod network;
pub mod pipeline;
mod spelling;
pub mod storage;
#[cfg(test)]
mod testing;
mod wire;

pub use arm::calls::Put;
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
pub use network::client::Networks;
pub use network::private_dns::PrivateDns;
pub use network::private_endpoints::{PrivateEndpoint, PrivateEndpointCreate, PrivateEndpoints};
pub use network::subnets::Subnet;
pub use network::virtual_networks::VirtualNetwork;
pub use pipeline::throttle::{Gate, Governor};
pub use pipeline::transport::{
    HttpOptions, HttpTransport, ServiceTransport, Transport, TransportError,
    install_crypto_provider,
};
pub use storage::account_body::{
    AccountCreate, AccountProperties, AccountSettings, AccountUpdate, NetworkAcls, StorageSku,
    VirtualNetworkRule,
};
pub use storage::accounts::{Account, Accounts};
pub use storage::classify::AccountLimit;
pub use storage::data_plane::{Files, FilesCredential, FilesEndpoint};
pub use storage::file_services::{FileServiceProperties, FileServiceUsage, FileServices};
pub use storage::keys::{AccountKey, KeyName, StorageKeys};
pub use storage::share_snapshots::{ShareSnapshot, ShareSnapshots};
pub use storage::shares::{
    Metadata, Share, ShareCreate, ShareFilter, ShareProperties, ShareUpdate, Shares, SnapshotsToo,
};
