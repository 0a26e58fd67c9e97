//! `Microsoft.Network`, as far as storage needs it: one file per resource type, and who can reach
//! what.

pub(crate) mod life;
pub mod model;
pub(crate) mod nics;
pub(crate) mod private_endpoints;
pub mod reach;
pub(crate) mod view;
