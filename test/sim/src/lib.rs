//! placeholder

pub mod cli;
pub mod control;
pub mod entra;
pub mod imds;
pub mod kubeapi;
pub mod link;
pub mod persist;
mod query;
pub mod serve;
pub mod worldfile;
