//! `networkInterfaces`: those of private endpoints, to be read.

use crate::call::{Answer, Call, Reply};
use crate::error::ArmError;
use crate::network::view::show;
use crate::state::State;
use crate::world::key;

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let group = call.group.as_deref().unwrap_or_default();
    let found = state.world.network.get(&key(&call.id));
    let found = found.ok_or_else(|| {
        ArmError::missing("Microsoft.Network/networkInterfaces", call.name(0), group)
    })?;
    Ok(Reply::ok(show(found)))
}
