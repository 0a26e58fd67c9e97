//! What happens to network resources: made, changed, gone.

use crate::state::State;
use crate::world::Provisioning;

/// The operation on it ends.
pub(crate) fn finish(state: &mut State, target: &str) {
    if let Some(resource) = state.world.network.get_mut(target) {
        resource.provisioning = Provisioning::Succeeded;
    }
}

/// It goes, with everything below it.
pub(crate) fn remove(state: &mut State, target: &str) {
    let below = format!("{target}/");
    state
        .world
        .network
        .retain(|id, _| id != target && !id.starts_with(&below));
}
