//! Reads and writes of the Kubernetes API that the drivers need.
//!
//! | module | what it holds |
//! |---|---|
//! | [`client`] | the connection: who to talk to, how fast, how long to wait |
//! | [`error`] | what the API server answered, as kinds |
//! | [`nodes`] | Node objects: the machine behind a node, its zone, its taints |
//! | [`csinodes`] | what kubelet registered for a driver |
//! | [`taints`] | removal of the taint that keeps pods away until the driver is there |
//! | [`attachments`] | VolumeAttachments of one driver, kept in memory by a watch |
//! | [`volumes`] | PersistentVolumes: name, handle, labels |
//! | [`ledger`] | the pure part of those two: who claims which volume on which node |
//! | [`drain`] | waiting until a node that is being emptied has no attachments left |
//! | [`objects`] | whole objects as JSON, for tools that make them anew |
//! | [`secrets`] | one key of a Secret, or all of them |
//! | [`access`] | whether a service account may get a Secret |
//! | [`claims`] | the unique id of a PersistentVolumeClaim |
//! | [`pacing`] | how often something may be said |
//! | [`events`] | events that users see with `kubectl describe` |
//! | [`watch`] | list, then follow; begin again when that breaks |
//!
//! Objects are decoded into small structs of the fields that are used: a cluster has tens of
//! thousands of them.
//!
//! Must not know: Azure's API, the kernel, CSI messages.

#![deny(missing_docs)]

pub mod access;
pub mod attachments;
pub mod claims;
pub mod client;
pub mod csinodes;
pub mod drain;
pub mod error;
pub mod events;
pub mod ledger;
pub mod nodes;
pub mod objects;
pub mod pacing;
pub mod secrets;
pub mod taints;
pub mod volumes;
pub mod watch;

pub use client::{ConnectError, Kube, Options};
pub use error::KubeError;

#[cfg(test)]
mod testing;
