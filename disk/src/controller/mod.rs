//! The Controller service: Azure, no mounts.
//!
//! | file | holds |
//! |---|---|
//! | [`service`] | the tonic trait, one line for each RPC |
//! | `create_volume`, `publish`, ... | one RPC each |
//! | [`create_plan`], [`expand_plan`], [`modify_plan`], [`snapshot_plan`], [`health`] | decisions: facts in, a verdict out |
//! | [`attach`] | the engine that attaches and detaches: one writer for each machine |
//! | [`ports`] | what is asked of Kubernetes |
//! | [`sku_migration`] | watches conversions to Premium v2 |
//! | [`notices`] | which failures users are told of, and in which words |
//! | [`brief`], [`facts`], [`sku_facts`] | what is remembered of disks, and how much |
//!
//! No handler relies on what another process or an earlier call remembered: the disk in Azure, with
//! its tags, is the record.

pub mod attach;
pub mod brief;
mod common;
pub mod create_plan;
pub mod create_snapshot;
pub mod create_volume;
pub mod delete_snapshot;
pub mod delete_volume;
pub mod error;
pub mod expand;
pub mod expand_plan;
pub mod facts;
pub mod get_capabilities;
pub mod get_capacity;
pub mod get_snapshot;
pub mod get_volume;
pub mod get_volume_health;
pub mod health;
pub mod list_snapshots;
pub mod list_volume_health;
pub mod list_volumes;
pub mod modify;
pub mod modify_plan;
pub mod notices;
pub mod ports;
pub mod publish;
pub mod service;
pub mod sku_facts;
pub mod sku_migration;
pub mod snapshot_plan;
pub mod unpublish;
pub mod validate_capabilities;

use std::sync::Arc;

use azcsi_cloud::{Azure, ExtendedLocation, Snapshot};
use azcsi_rpc::capability::ControllerCapabilities;
use azcsi_rpc::paging::Recent;
use azcsi_types::clock::Clock;
use azcsi_types::topology::Region;

use attach::AttachEngine;
use attach::machines::AzureMachines;
use brief::Brief;
use facts::FactsCache;
use ports::{Attachments, NodeDirectory};
use sku_facts::SkuFacts;
use sku_migration::SkuMigration;

use crate::notices::{Notices, Silent};

/// How the controller is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The subscription of the cluster.
    pub subscription: String,
    /// Its resource group.
    pub resource_group: String,
    /// Its region.
    pub location: Region,
    /// Its edge zone, if it is in one.
    pub extended_location: Option<ExtendedLocation>,
    /// Whether disks that are in use may grow.
    pub online_resize: bool,
    /// Whether slots are avoided that other volumes claim.
    pub collision_guard: bool,
    /// Whether CreateSnapshot waits until the snapshot can be used.
    pub wait_for_snapshot: bool,
    /// Whether migrated in-tree volumes with caching ReadWrite are attached with ReadOnly.
    pub convert_read_write: bool,
    /// Whether the cloud is an Azure Stack Hub.
    pub stack: bool,
    /// What is offered.
    pub capabilities: ControllerCapabilities,
}

/// What the controller asks of Kubernetes.
#[derive(Clone, Debug)]
pub struct Ports {
    /// Nodes and machines.
    pub nodes: Arc<dyn NodeDirectory>,
    /// VolumeAttachments.
    pub attachments: Arc<dyn Attachments>,
}

/// Everything that the RPCs work with.
#[derive(Debug)]
pub struct Controller {
    azure: Azure,
    ports: Ports,
    notices: Arc<dyn Notices>,
    migration: Option<SkuMigration>,
    settings: Settings,
    clock: Arc<dyn Clock>,
    attach: AttachEngine,
    facts: FactsCache,
    skus: SkuFacts,
    disks: Recent<Arc<Brief>>,
    snapshots: Recent<Arc<Snapshot>>,
}

impl Controller {
    /// A controller over these clients and ports.
    #[must_use]
    pub fn new(azure: Azure, ports: Ports, settings: Settings, clock: Arc<dyn Clock>) -> Self {
        let machines = AzureMachines::new(azure.clone(), Arc::clone(&clock));
        Self {
            attach: AttachEngine::new(Arc::new(machines), Arc::clone(&clock)),
            facts: FactsCache::new(Arc::clone(&clock)),
            skus: SkuFacts::new(azure.clone(), Arc::clone(&clock)),
            disks: Recent::default(),
            snapshots: Recent::default(),
            azure,
            ports,
            notices: Arc::new(Silent),
            migration: None,
            settings,
            clock,
        }
    }

    /// The same controller, with somebody who is told.
    #[must_use]
    pub fn with_notices(self, notices: Arc<dyn Notices>) -> Self {
        Self { notices, ..self }
    }

    /// The same controller, with somebody who watches conversions.
    #[must_use]
    pub fn with_migration(self, migration: SkuMigration) -> Self {
        Self {
            migration: Some(migration),
            ..self
        }
    }

    /// The attach engine, for metrics.
    #[must_use]
    pub const fn engine(&self) -> &AttachEngine {
        &self.attach
    }
}
