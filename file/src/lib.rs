//! The Azure File CSI driver, `file.csi.azure.com`: SMB and NFS shares.
//!
//! | module | what it holds |
//! |---|---|
//! | [`config`] | command line and start-up configuration |
//! | [`model`] | parameters and volume context: what controller and node share |
//! | [`controller`] | the Controller service: Azure, no mounts |
//! | [`node`] | the Node service: the kernel, no Azure credentials of the controller |
//! | [`kubernetes`] | the controller's ports over a cluster |
//! | [`start`] | the composition root: builds everything and serves |
//! | [`version`] | what `--version` prints |
//!
//! Must not know: the other driver, the simulator. `controller` and `node` never use each other.

pub mod config;
pub mod controller;
pub mod kubernetes;
pub mod model;
pub mod node;
pub mod start;
pub mod version;
