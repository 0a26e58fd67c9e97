//! `Microsoft.Storage`: one file per resource type, and the rules that both planes share.

pub(crate) mod account_rules;
pub(crate) mod account_view;
pub(crate) mod accounts;
pub(crate) mod control;
pub(crate) mod file_service;
pub(crate) mod front;
pub(crate) mod keys;
pub mod model;
pub(crate) mod sas;
pub(crate) mod share_lease;
pub(crate) mod share_life;
pub(crate) mod share_limits;
pub(crate) mod share_rules;
pub(crate) mod share_view;
pub(crate) mod shares;
pub(crate) mod usage;
