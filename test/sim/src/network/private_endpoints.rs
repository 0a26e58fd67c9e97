//! `privateEndpoints`.

use serde_json::{Value, json};

use crate::network::reach::leads_to;
use crate::state::State;
use crate::world::leaf;

/// The connections of an account, as the account shows them.
pub(crate) fn connections(state: &State, account: &str) -> Vec<Value> {
    let endpoints = state.world.network.values();
    let leading = endpoints
        .filter(|endpoint| endpoint.kind == "privateEndpoints" && leads_to(endpoint, account));
    let show = |endpoint: &crate::network::model::Linked| {
        let name = format!("{}.{}", leaf(&endpoint.id), endpoint.etag);
        json!({
            "id": format!("{account}/privateEndpointConnections/{name}"),
            "name": name,
            "type": "Microsoft.Storage/storageAccounts/privateEndpointConnections",
            "properties": {
                "provisioningState": "Succeeded",
                "privateEndpoint": {"id": endpoint.id},
                "privateLinkServiceConnectionState": {
                    "status": "Approved", "description": "Auto-Approved", "actionRequired": "None",
                },
            },
        })
    };
    leading.map(show).collect()
}
