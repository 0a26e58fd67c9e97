//! `Microsoft.Network`, as far as storage needs it: one file per resource type, and who can reach
//! what.

pub(crate) mod life;
pub mod model;
pub(crate) mod nics;
pub(crate) mod private_endpoints;
pub(crate) mod private_zones;
pub mod reach;
pub(crate) mod seed;
pub(crate) mod subnets;
pub(crate) mod view;
pub(crate) mod virtual_networks;
pub(crate) mod zone_groups;
pub(crate) mod zone_links;
