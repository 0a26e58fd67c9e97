//! What ARM's front door knows of storage and networks: which resource and which parent is there.

use http::Method;

use crate::call::Call;
use crate::error::ArmError;
use crate::route::Route;
use crate::state::State;
use crate::world::key;

/// Resources whose absence the front door tells, by their pattern.
fn kind(pattern: &str) -> Option<&'static str> {
    Some(match pattern {
        "rg/storageAccounts/*" => "Microsoft.Storage/storageAccounts",
        "rg/virtualNetworks/*" => "Microsoft.Network/virtualNetworks",
        "rg/privateEndpoints/*" => "Microsoft.Network/privateEndpoints",
        "rg/privateDnsZones/*" => "Microsoft.Network/privateDnsZones",
        "rg/networkInterfaces/*" => "Microsoft.Network/networkInterfaces",
        _ => return None,
    })
}

/// Refuses what the front door knows not to be there; this draws nothing from a provider.
pub(crate) fn exists(state: &State, route: &Route, call: &Call) -> Result<(), ArmError> {
    let group = call.group.as_deref().unwrap_or_default();
    if let Some(kind) = kind(route.pattern) {
        let reads = matches!(route.method, Method::GET | Method::PATCH);
        return if reads && !there(state, &call.id) {
            Err(ArmError::missing(kind, call.name(0), group))
        } else {
            Ok(())
        };
    }
    let Some(parent) = parent(route.pattern, call) else {
        return Ok(());
    };
    if there(state, &parent) {
        return Ok(());
    }
    if route.method == Method::POST && route.pattern.matches('*').count() == 1 {
        let kind = "Microsoft.Storage/storageAccounts";
        return Err(ArmError::missing(kind, call.name(0), group));
    }
    let act = match route.method {
        Method::GET => "read",
        Method::DELETE => "delete",
        _ => "write",
    };
    Err(ArmError::no_parent(act, &types(route.pattern), &parent))
}

/// The id of the top resource above a child or an action of it.
fn parent(pattern: &str, call: &Call) -> Option<String> {
    let below = pattern.strip_prefix("rg/")?;
    let top = below.split('/').next()?;
    let known = [
        "storageAccounts",
        "virtualNetworks",
        "privateEndpoints",
        "privateDnsZones",
    ];
    if below.split('/').count() < 3 || !known.contains(&top) {
        return None;
    }
    let parts: Vec<&str> = call.path.split('/').collect();
    Some(parts.get(..9)?.join("/"))
}

/// The types of a pattern, without names.
fn types(pattern: &str) -> String {
    let words = pattern.trim_start_matches("rg/").split('/');
    words.step_by(2).collect::<Vec<_>>().join("/")
}

fn there(state: &State, id: &str) -> bool {
    let id = key(id);
    let world = &state.world;
    world.accounts.contains_key(&id) || world.network.contains_key(&id)
}

/// The region whose windows a request draws from.
pub(crate) fn region(state: &State, id: &str) -> String {
    let top: Vec<&str> = id.split('/').take(9).collect();
    let account = state.world.accounts.get(&top.join("/"));
    account.map_or_else(|| "global".to_owned(), |account| account.location.clone())
}
