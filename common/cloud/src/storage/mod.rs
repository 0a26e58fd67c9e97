//! Storage: accounts, keys, file services, shares and share snapshots through Azure Resource
//! Manager, and the shares' own protocol in [`data_plane`].

pub mod account_body;
pub mod accounts;
pub mod classify;
pub mod data_plane;
pub mod file_services;
pub mod keys;
pub mod share_snapshots;
pub mod shares;
