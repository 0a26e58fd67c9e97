//! Exact translation between in-tree Azure volumes and CSI: values in, values out.
//!
//! Kubernetes stores PersistentVolumes of `kubernetes.io/azure-disk` and `kubernetes.io/azure-file`
//! for ever and shows them to a CSI driver through a translation. This crate is that translation,
//! so that handles, attachment names and staging paths agree with what the cluster computes.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mode`] | `Compat` does what Kubernetes does, `Strict` refuses what goes wrong later |
//! | [`registry`] | which plugin and driver belong together, and whose object this is |
//! | [`persistent_volume`] | PersistentVolumes, both ways |
//! | [`inline`] | volumes of a pod template, to CSI |
//! | [`storage_class`] | StorageClasses, to CSI |
//! | [`topology`] | zone keys, zone labels, fault domains |
//! | [`handle`] | volume ids: their grammars, old and new |
//! | [`request`] | one translation described as JSON, as the command line and the tests give it |
//! | [`error`] | why something cannot be translated |
//!
//! Objects are plain JSON values. Input is never changed, fields that are not understood survive,
//! and the same input always gives the same output.
//!
//! Must not know: any runtime, any I/O, HTTP, the Kubernetes client, Azure's API.

#![deny(missing_docs)]

mod azure_disk;
mod azure_file;
pub mod error;
mod fields;
pub mod handle;
pub mod inline;
mod lines;
pub mod mode;
pub mod persistent_volume;
pub mod registry;
pub mod request;
pub mod storage_class;
pub mod topology;

pub use error::TranslateError;
pub use mode::Mode;
pub use registry::Plugin;
