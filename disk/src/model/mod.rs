//! What controller and node share: parameters, names, tags, volume context and publish context.

pub mod claim;
pub mod names;
pub mod params;
pub mod performance;
pub mod publish_context;
pub mod snapshot_params;
pub mod tags;
pub mod template;
pub mod topology;
pub mod volume_context;
