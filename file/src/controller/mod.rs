//! The Controller service: Azure, no mounts.
//!
//! | file | holds |
//! |---|---|
//! | [`service`] | the tonic trait, one line for each RPC |
//! | `create_volume`, `delete_volume`, ... | one RPC each |
//! | [`create_plan`], [`account`] | decisions: facts in, a verdict out |
//! | [`record`] | what a share tells of itself |
//! | `choose`, `place`, `network` | an account for a volume, and the way to it |
//! | [`source`], [`copy`] | what a volume is made of, and how its content comes into it |
//! | [`access`], [`keys`] | how the shares of an account are managed, and with which key |
//! | `directory`, `delete_directory`, `delete_tree` | volumes that are directories in a common share |
//! | [`ports`] | what is asked of Kubernetes |
//!
//! No handler relies on what another process or an earlier call remembered: ids, the metadata of
//! shares and the tags of accounts are the record.

pub mod access;
pub mod account;
mod choose;
mod common;
pub mod copy;
pub mod create_plan;
pub mod create_snapshot;
pub mod create_volume;
pub mod credentials;
mod delete_directory;
pub mod delete_snapshot;
mod delete_tree;
pub mod delete_volume;
mod directory;
pub mod error;
pub mod expand;
pub mod get_capabilities;
pub mod get_capacity;
pub mod get_snapshot;
pub mod get_volume;
pub mod get_volume_health;
pub mod keys;
pub mod list_snapshots;
pub mod modify;
mod network;
mod place;
pub mod ports;
pub mod record;
mod serial;
pub mod service;
pub mod source;
pub mod taken;
pub mod validate_capabilities;

use std::sync::Arc;
use std::time::Duration;

use azcsi_cloud::cache::Cache;
use azcsi_cloud::{Account, Azure, Metadata};
use azcsi_rpc::capability::ControllerCapabilities;
use azcsi_types::clock::Clock;
use azcsi_types::resource_id::ResourceId;
use azcsi_types::topology::Region;

use account::inventory::Inventory;
use keys::Keys;
use ports::{KeySecrets, SecretName, Volumes};
use serial::Serial;

/// How the controller is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The driver's name.
    pub driver: String,
    /// The subscription of the cluster.
    pub subscription: String,
    /// Its resource group.
    pub resource_group: String,
    /// Its region.
    pub location: Region,
    /// Its network.
    pub network: HomeNetwork,
    /// After this time a full account is tried again.
    pub full_retry: Duration,
    /// Whether snapshots are deleted with their share.
    pub delete_snapshots: bool,
    /// What is offered.
    pub capabilities: ControllerCapabilities,
}

/// The network of the cluster, as the cloud configuration tells it; empty where it does not.
#[derive(Clone, Debug, Default)]
pub struct HomeNetwork {
    /// The subscription; empty for the cluster's.
    pub subscription: String,
    /// The resource group; empty for the cluster's.
    pub resource_group: String,
    /// The network.
    pub name: String,
    /// The subnet of the nodes.
    pub subnet: String,
}

/// What the controller asks of Kubernetes.
#[derive(Clone, Debug)]
pub struct Ports {
    /// Keys in Secrets.
    pub secrets: Arc<dyn KeySecrets>,
    /// PersistentVolumes.
    pub volumes: Arc<dyn Volumes>,
}

/// Everything that the RPCs work with.
#[derive(Debug)]
pub struct Controller {
    azure: Azure,
    ports: Ports,
    settings: Settings,
    clock: Arc<dyn Clock>,
    inventory: Inventory,
    keys: Keys,
    accounts: Cache<String, Account>,
    subnets: Cache<String, Arc<Vec<ResourceId>>>,
    snapshots: Cache<String, Metadata>,
    sources: Cache<String, String>,
    written: Cache<(SecretName, String), ()>,
    serial: Serial,
}

/// For how long what was read of an account is good.
const ACCOUNT: Duration = Duration::from_secs(300);
/// For how long the subnets of a network are good.
const SUBNETS: Duration = Duration::from_secs(600);
/// For how long a Secret that was written is not looked at again.
const WRITTEN: Duration = Duration::from_secs(60);

impl Controller {
    /// A controller over these clients and ports.
    #[must_use]
    pub fn new(azure: Azure, ports: Ports, settings: Settings, clock: &Arc<dyn Clock>) -> Self {
        Self {
            inventory: Inventory::new(azure.clone(), Arc::clone(clock)),
            keys: Keys::new(azure.clone(), Arc::clone(&ports.secrets), Arc::clone(clock)),
            accounts: Cache::new(Arc::clone(clock), ACCOUNT),
            subnets: Cache::new(Arc::clone(clock), SUBNETS),
            snapshots: Cache::new(Arc::clone(clock), taken::REMEMBERED),
            sources: Cache::new(Arc::clone(clock), taken::REMEMBERED),
            written: Cache::new(Arc::clone(clock), WRITTEN),
            serial: Serial::default(),
            azure,
            ports,
            settings,
            clock: Arc::clone(clock),
        }
    }
}
