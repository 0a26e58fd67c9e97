//! The data plane of Azure Files: shares, directories, files, ranges and copies, with every
//! signature checked.
//!
//! | part | holds |
//! |---|---|
//! | `target`, `operation` | which account, share and path a request is about, and what it wants |
//! | `access`, `shared_key`, `sas` | who asks, and whether they may |
//! | `service`, `shares`, `directories`, `file_ops`, `ranges`, `copies` | one kind of thing each |
//! | `contents`, `memory`, `folder`, `facts` | what is in shares |
//! | `plane` | a request's way through all that |

pub(crate) mod access;
pub mod contents;
pub(crate) mod copies;
pub(crate) mod directories;
pub(crate) mod error;
pub mod facts;
pub(crate) mod file_ops;
pub mod folder;
mod memory;
pub(crate) mod node;
pub(crate) mod operation;
pub(crate) mod plane;
pub(crate) mod ranges;
pub(crate) mod reply;
pub(crate) mod sas;
pub(crate) mod service;
pub(crate) mod shared_key;
pub(crate) mod shares;
pub(crate) mod target;
pub(crate) mod xml;

pub use memory::Memory;
pub use target::PathStyle;
