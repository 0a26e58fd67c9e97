//! placeholder

pub mod entra;
pub mod imds;
pub mod kubeapi;
pub mod link;
mod query;
pub mod serve;
pub mod worldfile;
