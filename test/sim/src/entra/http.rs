//! The paths of the authority: token endpoints and the discovery documents.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, RETRY_AFTER};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::Entra;
use super::error::AadError;
use super::tokens::Claims;
use crate::query::Query;
use crate::serve::site::Scheme;

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Which dialect of the token endpoint was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// `resource`, numbers as text.
    V1,
    /// `scope`, numbers as numbers.
    V2,
}

impl Entra {
    /// Answers a request to the authority; `None` when the path is none of it.
    #[must_use]
    pub fn answer(&self, request: &Request<Bytes>) -> Option<Response<Bytes>> {
        let path = request.uri().path().trim_matches('/');
        let (tenant, rest) = path.split_once('/')?;
        let base = base(request);
        match rest {
            "oauth2/v2.0/token" => Some(self.token(request, tenant, Dialect::V2)),
            "oauth2/token" => Some(self.token(request, tenant, Dialect::V1)),
            "v2.0/.well-known/openid-configuration" | ".well-known/openid-configuration" => {
                let version = if rest.starts_with("v2.0") { "v2.0" } else { "" };
                Some(self.discovery(tenant, &base, version))
            }
            "discovery/instance" => Some(instance(&base)),
            "discovery/v2.0/keys" | "discovery/keys" => Some(reply(200, &json!({"keys": []}))),
            _ => None,
        }
    }

    fn token(&self, request: &Request<Bytes>, tenant: &str, dialect: Dialect) -> Response<Bytes> {
        let correlation = request
            .headers()
            .get("client-request-id")
            .and_then(|v| v.to_str().ok());
        let now = self.now();
        if request.method() != Method::POST {
            return refuse(&AadError::Missing("grant_type"), now, correlation);
        }
        let form = Query::parse(&String::from_utf8_lossy(request.body()));
        let base = base(request);
        match self.grant(&form, tenant, &base, dialect) {
            Ok(body) => reply(200, &body),
            Err(error) => refuse(&error, now, correlation),
        }
    }

    fn grant(
        &self,
        form: &Query,
        tenant: &str,
        base: &str,
        dialect: Dialect,
    ) -> Result<Value, AadError> {
        let now = self.now();
        self.check_tenant(tenant)?;
        match field(form, "grant_type") {
            None => return Err(AadError::Missing("grant_type")),
            Some("client_credentials") => {}
            Some(other) => return Err(AadError::UnsupportedGrant(other.to_owned())),
        }
        let client_id = field(form, "client_id").ok_or(AadError::Missing("client_id"))?;
        let app = self.directory().app(client_id)?;
        match (
            field(form, "client_secret"),
            field(form, "client_assertion"),
        ) {
            (Some(secret), _) => app.check_secret(secret, now)?,
            (None, Some(assertion)) => {
                if field(form, "client_assertion_type") != Some(ASSERTION) {
                    return Err(AadError::Missing("client_assertion_type"));
                }
                app.check_assertion(assertion, &self.audiences(tenant, base), now)?;
            }
            (None, None) => return Err(AadError::NoCredential),
        }
        let audience = audience(form, dialect)?;
        let lifetime = self.lifetime();
        let token = self.issue(&audience, client_id, lifetime);
        Ok(success(&audience, &token, lifetime, now, dialect))
    }

    /// What an assertion may name as its audience: the token endpoint as this client reaches it,
    /// or the issuer.
    fn audiences(&self, tenant: &str, base: &str) -> Vec<String> {
        ["oauth2/v2.0/token", "oauth2/token", "v2.0", ""]
            .iter()
            .map(|tail| {
                format!("{base}/{tenant}/{tail}")
                    .trim_end_matches('/')
                    .to_owned()
            })
            .collect()
    }

    fn check_tenant(&self, tenant: &str) -> Result<(), AadError> {
        let wanted = &self.directory().tenant;
        if tenant.eq_ignore_ascii_case(wanted) {
            Ok(())
        } else {
            Err(AadError::UnknownTenant(tenant.to_owned()))
        }
    }

    fn discovery(&self, tenant: &str, base: &str, version: &str) -> Response<Bytes> {
        let common = matches!(tenant, "common" | "organizations");
        if !common && let Err(error) = self.check_tenant(tenant) {
            return refuse(&error, self.now(), None);
        }
        let path = if version.is_empty() {
            "oauth2"
        } else {
            "oauth2/v2.0"
        };
        let issuer = format!("{base}/{tenant}/{version}");
        reply(
            200,
            &json!({
                "issuer": issuer.trim_end_matches('/'),
                "token_endpoint": format!("{base}/{tenant}/{path}/token"),
                "authorization_endpoint": format!("{base}/{tenant}/{path}/authorize"),
                "device_authorization_endpoint": format!("{base}/{tenant}/{path}/devicecode"),
                "jwks_uri": format!("{base}/{tenant}/discovery/v2.0/keys"),
                "token_endpoint_auth_methods_supported":
                    ["client_secret_post", "private_key_jwt"],
                "response_types_supported": ["code"],
                "subject_types_supported": ["pairwise"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "tenant_region_scope": null,
                "cloud_instance_name": base.split("://").nth(1),
            }),
        )
    }
}

fn audience(form: &Query, dialect: Dialect) -> Result<String, AadError> {
    let resource = match dialect {
        Dialect::V1 => field(form, "resource")
            .ok_or(AadError::Missing("resource"))?
            .to_owned(),
        Dialect::V2 => {
            let scope = field(form, "scope").ok_or(AadError::Missing("scope"))?;
            // MSAL adds the OpenID scopes to every request of some flows.
            let named = scope.split(' ').find(|s| s.ends_with("/.default"));
            let named = named.ok_or_else(|| AadError::BadScope(scope.to_owned()))?;
            named.strip_suffix("/.default").unwrap_or(named).to_owned()
        }
    };
    if resource.contains("://") || uuid::Uuid::try_parse(&resource).is_ok() {
        Ok(resource)
    } else {
        Err(AadError::UnknownResource(resource))
    }
}

fn success(
    audience: &str,
    token: &str,
    lifetime: Duration,
    now: SystemTime,
    dialect: Dialect,
) -> Value {
    let seconds = lifetime.as_secs();
    match dialect {
        Dialect::V2 => json!({
            "token_type": "Bearer", "expires_in": seconds, "ext_expires_in": seconds,
            "access_token": token,
        }),
        Dialect::V1 => {
            let claims = Claims::lasting(audience, "", "", now, lifetime);
            json!({
                "token_type": "Bearer", "expires_in": seconds.to_string(),
                "ext_expires_in": seconds.to_string(), "resource": audience,
                "expires_on": claims.expires.to_string(),
                "not_before": claims.not_before.to_string(), "access_token": token,
            })
        }
    }
}

fn instance(base: &str) -> Response<Bytes> {
    let host = base.split("://").nth(1).unwrap_or(base);
    reply(
        200,
        &json!({
            "tenant_discovery_endpoint": format!("{base}/common/v2.0/.well-known/openid-configuration"),
            "api-version": "1.1",
            "metadata": [{
                "preferred_network": host, "preferred_cache": host, "aliases": [host],
            }],
        }),
    )
}

fn refuse(error: &AadError, now: SystemTime, correlation: Option<&str>) -> Response<Bytes> {
    let mut response = reply(error.class().0, &error.body(now, correlation));
    if *error == AadError::Throttled {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}

fn reply(status: u16, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/json; charset=utf-8"),
    );
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("no-store, no-cache"),
    );
    response
}

/// The address by which this client reaches the authority; documents must point back to it.
fn base(request: &Request<Bytes>) -> String {
    let scheme = request
        .extensions()
        .get::<Scheme>()
        .map_or("https", |scheme| scheme.text());
    let host = request
        .headers()
        .get(HOST)
        .and_then(|value| value.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(http::uri::Authority::as_str));
    format!("{scheme}://{}", host.unwrap_or("login.microsoftonline.com"))
}

/// A form field; an empty one counts as missing.
fn field<'a>(form: &'a Query, key: &str) -> Option<&'a str> {
    form.get(key).filter(|value| !value.is_empty())
}
