//! Managed identity tokens. Every value is text, numbers too: clients depend on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use azcsi_types::clock::Clock;
use bytes::Bytes;
use http::Response;
use ring::digest;
use serde_json::json;

use super::document::Instance;
use super::json_reply;
use crate::entra::tokens::{Claims, TokenKey, seconds};
use crate::query::Query;

/// How long a token lasts.
const LIFETIME: Duration = Duration::from_secs(86_399);
/// The service hands out the same token until less than this is left.
const RENEW_BELOW: u64 = 12 * 3600;

/// A user-assigned identity that every node has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAssigned {
    /// Application id.
    pub client_id: String,
    /// Principal id.
    pub object_id: String,
    /// ARM id.
    pub resource_id: String,
}

/// Gives tokens to nodes.
#[derive(Debug)]
pub struct Identities {
    tenant: String,
    key: TokenKey,
    clock: Arc<dyn Clock>,
    user_assigned: Vec<UserAssigned>,
    given: Mutex<HashMap<(String, String), Claims>>,
}

impl Identities {
    /// Each node has its own system-assigned identity, and all of these.
    #[must_use]
    pub fn new(
        tenant: &str,
        key: TokenKey,
        clock: Arc<dyn Clock>,
        user_assigned: Vec<UserAssigned>,
    ) -> Self {
        let given = Mutex::new(HashMap::new());
        Self {
            tenant: tenant.to_owned(),
            key,
            clock,
            user_assigned,
            given,
        }
    }

    pub(super) fn answer(&self, instance: &Instance, query: &Query) -> Response<Bytes> {
        let refuse = |description: &str| {
            json_reply(
                400,
                &json!({"error": "invalid_request", "error_description": description}),
            )
        };
        match query.get("api-version") {
            Some(version) if is_known(version) => {}
            _ => {
                return refuse("Required query variable 'api-version' is missing or not supported");
            }
        }
        let Some(resource) = query.get("resource").filter(|text| !text.is_empty()) else {
            return refuse("Required query variable 'resource' is missing");
        };
        let Some(client_id) = self.select(instance, query) else {
            return refuse("Identity not found");
        };
        self.token(&client_id, resource)
    }

    fn select(&self, instance: &Instance, query: &Query) -> Option<String> {
        let matching = |wanted: &str, of: fn(&UserAssigned) -> &str| {
            let same = |u: &&UserAssigned| of(u).eq_ignore_ascii_case(wanted);
            self.user_assigned
                .iter()
                .find(same)
                .map(|u| u.client_id.clone())
        };
        let own = system_assigned(&instance.vm_id);
        if let Some(wanted) = query.get("client_id") {
            return matching(wanted, |u| &u.client_id).or_else(|| (own == wanted).then_some(own));
        }
        if let Some(wanted) = query.get("object_id").or_else(|| query.get("principal_id")) {
            return matching(wanted, |u| &u.object_id);
        }
        if let Some(wanted) = query.get("msi_res_id").or_else(|| query.get("mi_res_id")) {
            return matching(wanted, |u| &u.resource_id);
        }
        Some(own)
    }

    fn token(&self, client_id: &str, resource: &str) -> Response<Bytes> {
        let now = self.clock.wall();
        let claims = self.claims(client_id, resource, now);
        let left = claims.expires.saturating_sub(seconds(now)).to_string();
        json_reply(
            200,
            &json!({
                "access_token": self.key.issue(&claims), "client_id": client_id,
                "expires_in": left, "expires_on": claims.expires.to_string(),
                "ext_expires_in": left, "not_before": claims.not_before.to_string(),
                "resource": resource, "token_type": "Bearer",
            }),
        )
    }

    /// The claims given last time while they are fresh: asking early does not give a newer token.
    fn claims(&self, client_id: &str, resource: &str, now: SystemTime) -> Claims {
        let key = (client_id.to_owned(), resource.to_owned());
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = given
            .get(&key)
            .filter(|c| c.expires.saturating_sub(seconds(now)) > RENEW_BELOW);
        if let Some(kept) = kept {
            return kept.clone();
        }
        let fresh = Claims::lasting(resource, client_id, &self.tenant, now, LIFETIME);
        given.insert(key, fresh.clone());
        fresh
    }
}

/// The client id of a node's own identity, the same each time for one machine.
#[must_use]
pub fn system_assigned(vm_id: &str) -> String {
    let hash = digest::digest(&digest::SHA256, format!("identity of {vm_id}").as_bytes());
    let mut bytes = [0; 16];
    for (byte, from) in bytes.iter_mut().zip(hash.as_ref()) {
        *byte = *from;
    }
    uuid::Builder::from_random_bytes(bytes)
        .into_uuid()
        .to_string()
}

/// Dates from the first version on; the service takes any that it once published.
fn is_known(version: &str) -> bool {
    matches!(
        version,
        "2018-02-01" | "2019-08-01" | "2019-11-01" | "2020-06-01" | "2021-02-01"
    )
}
