//! The Controller service: Azure, no mounts.

pub mod account;
