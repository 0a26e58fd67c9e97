//! The Azure File CSI driver, `file.csi.azure.com`: SMB and NFS shares.
//!
//! | module | what it holds |
//! |---|---|
//! | [`model`] | parameters and volume context: what controller and node share |
//! | [`controller`] | the Controller service: Azure, no mounts |
//! | [`node`] | the Node service: the kernel, no Azure credentials of the controller |
//!
//! Must not know: the other driver, the simulator. `controller` and `node` never use each other.

pub mod controller;
pub mod model;
pub mod node;
