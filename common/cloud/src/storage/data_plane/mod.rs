//! The file service's own protocol (REST reference, "Azure Files"): shares, snapshots, directories
//! and files over `https://<account>.file.<suffix>`.
//!
//! It has no such limits on the number of calls as Azure Resource Manager has, but it needs a way
//! through the account's firewall. It answers with the same codes, so its errors are
//! [`crate::ArmError`] too, and with the same properties of shares.

mod client;
mod copies;
mod credential;
mod directories;
mod endpoint;
mod files;
mod headers;
mod path;
mod ranges;
mod request;
mod sas;
mod share_snapshots;
mod shared_key;
mod shares;
mod tickets;
pub(crate) mod xml;

pub use client::Files;
pub(crate) use client::{Auth, Parts};
pub use copies::{CopySource, CopyState, CopyStatus, Preserve};
pub use credential::{FilesCredential, STORAGE_SCOPE};
pub use directories::{DirectoryEntry, DirectoryPage, EntryKind};
pub use endpoint::{FilesEndpoint, NotAFilesEndpoint, VERSION};
pub use files::{FileAttributes, FileProperties};
pub use path::{NotASharePath, SharePath};
pub use ranges::{RANGE_LIMIT, RangeSource};
pub use request::FileRef;
pub use sas::{SAS_VERSION, Sas, SasPermissions, SasProtocols};
pub use tickets::{KerberosTicket, TICKET_VERSION};
