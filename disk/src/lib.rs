//! The Azure Disk CSI driver, `disk.csi.azure.com`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`config`] | command line and start-up configuration |
//! | [`model`] | parameters, volume context and publish context: what controller and node share |
//! | [`controller`] | the Controller service: Azure, no mounts |
//! | [`node`] | the Node service: the kernel, no Azure credentials |
//! | [`kubernetes`], [`machines`], [`metadata`] | their ports: the cluster, Azure's machines, the metadata service |
//! | [`notices`] | what users see without reading logs |
//! | [`start`] | the composition root: builds everything and serves |
//! | [`version`] | what `--version` prints |
//!
//! Must not know: the other driver, the simulator. `controller` and `node` never use each other.

pub mod config;
pub mod controller;
pub mod kubernetes;
pub mod machines;
pub mod metadata;
pub mod model;
pub mod node;
pub mod notices;
pub mod start;
pub mod version;

#[cfg(test)]
mod readme;
