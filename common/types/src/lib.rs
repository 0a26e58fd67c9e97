//! Vocabulary shared by every crate of the suite.
//!
//! | module | what it names |
//! |---|---|
//! | [`access`] | access mode and volume mode, and which combinations a volume supports |
//! | [`account`] | names and ids of storage accounts |
//! | [`clock`] | time as a value: [`clock::Clock`], [`clock::Deadline`] |
//! | [`fault`] | what kind of thing went wrong, for every error of the suite |
//! | [`host_path`] | absolute paths on a node |
//! | [`keys`] | every wire literal: parameter, context, tag, label and annotation keys |
//! | [`lun`] | the slot of a data disk on a virtual machine |
//! | [`node`] | node names, virtual machine identities, `spec.providerID` |
//! | [`op`] | the token that every call to Azure or to the kernel carries |
//! | [`params`] | string maps that are taken apart once, at the edge |
//! | [`resource_id`] | the grammar of Azure resource ids |
//! | [`disk_uri`] | volume ids and snapshot ids of the disk driver |
//! | [`secret`] | values that cannot be printed |
//! | [`share`] | names of file shares, times that name their snapshots |
//! | [`share_handle`] | volume ids and snapshot ids of the file driver |
//! | [`size`] | bytes, GiB and capacity ranges |
//! | [`sku`] | disk SKUs and what each allows |
//! | [`topology`] | zones and topology segments |
//!
//! Must not know: any runtime, any I/O, tonic, HTTP, serde. Every value has one parser and one
//! printer, and a property test that they are inverse to each other.

pub mod access;
pub mod account;
pub mod clock;
pub mod disk_uri;
pub mod fault;
pub mod host_path;
pub mod keys;
pub mod lun;
pub mod node;
pub mod op;
pub mod params;
pub mod resource_id;
pub mod secret;
pub mod share;
pub mod share_handle;
pub mod size;
pub mod sku;
pub mod topology;
