//! The URLs that lead to an operation. They carry parameters that only the service understands, and
//! each provider has its own form.

use http::HeaderMap;
use http::header::{LOCATION, RETRY_AFTER};

use crate::answer::{named, put};
use crate::call::{Call, Links};
use crate::lro::Operation;
use crate::requests::is_poll;
use crate::state::{Profile, State};

/// Operations of the storage provider.
pub(crate) const STORAGE: &str = "Microsoft.Storage/asyncoperations";
/// Operations of the network provider.
pub(crate) const NETWORK: &str = "Microsoft.Network/operations";
/// Operations of private DNS; they belong to a resource group.
pub(crate) const DNS: &str = "Microsoft.Network/privateDnsOperationStatuses";

/// Where to poll, and where the result is.
fn urls(call: &Call, operation: &Operation) -> (String, String) {
    let version = call.query.get("api-version").unwrap_or("2024-07-01");
    let id = &operation.id;
    let sealed = crate::guids::guid_of(id).replace('-', "");
    let end = format!("{id}?p={sealed}&api-version={version}");
    let (base, place) = (&call.base, &operation.location);
    let subscription = format!("{base}/subscriptions/{}", call.subscription);
    match operation.family.as_str() {
        STORAGE => {
            let end = end.replace(&format!("api-version={version}"), "api-version=2024-01-01");
            let url = format!(
                "{subscription}/providers/Microsoft.Storage/locations/{place}/asyncoperations/{end}"
            );
            (url.clone(), format!("{url}&monitor=true"))
        }
        NETWORK => {
            let below = format!("{subscription}/providers/Microsoft.Network/locations/{place}");
            (
                format!("{below}/operations/{end}"),
                format!("{below}/operationResults/{end}"),
            )
        }
        DNS => {
            let group = call
                .group
                .as_deref()
                .unwrap_or_default()
                .to_ascii_lowercase();
            let below =
                format!("{subscription}/resourceGroups/{group}/providers/Microsoft.Network");
            (
                format!("{below}/privateDnsOperationStatuses/{end}"),
                format!("{below}/privateDnsOperationResults/{end}"),
            )
        }
        family => {
            let url = format!(
                "{subscription}/providers/Microsoft.Compute/locations/{place}/{family}/{end}"
            );
            (url.clone(), format!("{url}&monitor=true"))
        }
    }
}

/// Adds the headers that lead to an operation.
pub(crate) fn headers(
    state: &State,
    call: &Call,
    (id, links): (&str, Links),
    headers: &mut HeaderMap,
) {
    let Some(operation) = state.world.operations.get(id) else {
        return;
    };
    let (poll, result) = urls(call, operation);
    if !is_poll(&call.path) && links != Links::Location {
        named(headers, "azure-asyncoperation", &poll);
        named(headers, "azure-asyncnotification", "Enabled");
    }
    if links != Links::Async {
        put(headers, LOCATION, &result);
    }
    if state.knobs.profile != Profile::Instant {
        put(headers, RETRY_AFTER, "1");
    }
}
