//! The client of virtual networks; its calls are beside what they answer.

use crate::arm::client::ArmClient;

/// Calls on virtual networks and subnets.
#[derive(Clone, Debug)]
pub struct Networks {
    pub(super) arm: ArmClient,
}

impl Networks {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }
}
