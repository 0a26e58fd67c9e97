//! Refusals of the token endpoint, in Entra's shape.
//!
//! `error_description` holds `\r\n` between its parts. Clients that parse naively break on that
//! escape, so it has to be there.

use std::time::SystemTime;

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Why no token is given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AadError {
    /// The tenant is not one of this world.
    #[error("Tenant '{0}' not found. Check that the tenant ID and the cloud are the right ones.")]
    UnknownTenant(String),
    /// No such application.
    #[error(
        "Application with identifier '{client_id}' was not found in the directory '{tenant}'. The application may not be installed in the tenant, or the request went to the wrong tenant."
    )]
    UnknownApplication {
        /// The application asked for.
        client_id: String,
        /// The tenant asked.
        tenant: String,
    },
    /// The secret is another one.
    #[error(
        "Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '{0}'."
    )]
    WrongSecret(String),
    /// The secret was right once.
    #[error("The provided client secret keys for app '{0}' are expired.")]
    ExpiredSecret(String),
    /// The assertion's signature or certificate is not known.
    #[error(
        "The certificate with identifier used to sign the client assertion is not registered on application '{client_id}'. [Reason - {reason}]"
    )]
    AssertionNotTrusted {
        /// The application.
        client_id: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The assertion's times do not include now.
    #[error("Client assertion is not within its valid time range. {0}")]
    AssertionTime(String),
    /// The assertion is no JWT or lacks a claim.
    #[error("Client assertion is malformed or has a wrong claim: {0}")]
    AssertionMalformed(String),
    /// The federated token's issuer is not trusted.
    #[error("No matching federated identity record found for presented assertion issuer '{0}'.")]
    FederatedIssuer(String),
    /// The federated token's audience is another one.
    #[error("No matching federated identity record found for presented assertion audience '{0}'.")]
    FederatedAudience(String),
    /// The federated token's subject is another one.
    #[error("No matching federated identity record found for presented assertion subject '{0}'.")]
    FederatedSubject(String),
    /// A form field is missing.
    #[error("The request body must contain the following parameter: '{0}'.")]
    Missing(&'static str),
    /// Neither a secret nor an assertion.
    #[error(
        "'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' grant type."
    )]
    NoCredential,
    /// Another grant than client credentials.
    #[error("The app requested an unsupported grant type '{0}'.")]
    UnsupportedGrant(String),
    /// A scope without `/.default`.
    #[error(
        "The provided value for scope {0} is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier."
    )]
    BadScope(String),
    /// A resource that is not a URI or an id.
    #[error("The resource principal named {0} was not found in the tenant.")]
    UnknownResource(String),
    /// Too many requests.
    #[error("Request is throttled.")]
    Throttled,
}

impl AadError {
    /// HTTP status, OAuth error and AADSTS number.
    #[must_use]
    pub const fn class(&self) -> (u16, &'static str, u32) {
        match self {
            Self::UnknownTenant(_) => (400, "invalid_request", 90_002),
            Self::UnknownApplication { .. } => (400, "unauthorized_client", 700_016),
            Self::WrongSecret(_) => (401, "invalid_client", 7_000_215),
            Self::ExpiredSecret(_) => (401, "invalid_client", 7_000_222),
            Self::AssertionNotTrusted { .. } => (401, "invalid_client", 700_027),
            Self::AssertionTime(_) => (401, "invalid_client", 700_024),
            Self::AssertionMalformed(_) => (401, "invalid_client", 50_027),
            Self::FederatedIssuer(_) => (401, "invalid_client", 700_211),
            Self::FederatedAudience(_) => (401, "invalid_client", 700_212),
            Self::FederatedSubject(_) => (401, "invalid_client", 700_213),
            Self::Missing(_) => (400, "invalid_request", 900_144),
            Self::NoCredential => (401, "invalid_client", 7_000_216),
            Self::UnsupportedGrant(_) => (400, "unsupported_grant_type", 70_003),
            Self::BadScope(_) => (400, "invalid_scope", 1_002_012),
            Self::UnknownResource(_) => (400, "invalid_resource", 500_011),
            Self::Throttled => (429, "temporarily_unavailable", 90_055),
        }
    }

    /// The body of the answer.
    #[must_use]
    pub fn body(&self, now: SystemTime, correlation: Option<&str>) -> Value {
        let (_, error, number) = self.class();
        let trace = uuid::Uuid::new_v4().to_string();
        let correlation =
            correlation.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        let timestamp = timestamp(now);
        json!({
            "error": error,
            "error_description": format!(
                "AADSTS{number}: {self}\r\nTrace ID: {trace}\r\nCorrelation ID: {correlation}\r\nTimestamp: {timestamp}"
            ),
            "error_codes": [number],
            "timestamp": timestamp,
            "trace_id": trace,
            "correlation_id": correlation,
            "error_uri": format!("https://login.microsoftonline.com/error?code={number}"),
        })
    }
}

/// Entra writes a blank where RFC 3339 has a `T`.
fn timestamp(now: SystemTime) -> String {
    let now = OffsetDateTime::from(now);
    let whole = now.replace_nanosecond(0).unwrap_or(now);
    whole
        .format(&Rfc3339)
        .unwrap_or_default()
        .replacen('T', " ", 1)
}
