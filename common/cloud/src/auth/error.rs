//! Why there is no token, in the words of the service that refused it.

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;

use crate::pipeline::trace::redact;

/// Why there is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct TokenError {
    text: String,
    passing: bool,
    retry_after: Option<Duration>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    error: String,
    error_description: String,
    error_codes: Vec<u64>,
}

/// Codes of the authority, what they mean to an operator, and whether they pass.
const KNOWN: [(u64, &str, bool); 12] = [
    (
        7_000_215,
        "the client secret is wrong: correct aadClientSecret",
        false,
    ),
    (
        7_000_222,
        "the client secret has expired: make a new one",
        false,
    ),
    (
        700_016,
        "the application is not in this tenant: check aadClientId and tenantId",
        false,
    ),
    (90_002, "no such tenant: check tenantId", false),
    (
        700_027,
        "the certificate is not registered with the application",
        false,
    ),
    (
        700_024,
        "the assertion is not valid now: check the clock of this machine",
        true,
    ),
    (
        700_211,
        "no federated credential has this issuer: check the cluster's OIDC issuer",
        false,
    ),
    (700_212, "no federated credential has this audience", false),
    (
        700_213,
        "no federated credential has this subject: check namespace and service account",
        false,
    ),
    (
        70_021,
        "no federated credential matches the service account token",
        false,
    ),
    (50_196, "too many token requests", true),
    (90_055, "too many token requests", true),
];

impl TokenError {
    /// Something on this side is wrong, and stays wrong until it is corrected.
    pub fn lasting(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            passing: false,
            retry_after: None,
        }
    }

    /// The service cannot be reached or is busy.
    pub fn passing(text: impl Into<String>, retry_after: Option<Duration>) -> Self {
        Self {
            text: text.into(),
            passing: true,
            retry_after,
        }
    }

    /// The answer of the authority or of the metadata service.
    #[must_use]
    pub fn from_answer(
        service: &str,
        status: StatusCode,
        body: &[u8],
        retry_after: Option<Duration>,
    ) -> Self {
        let parsed: Body = serde_json::from_slice(body).unwrap_or_default();
        let known = KNOWN.iter().find(|(code, ..)| {
            parsed.error_codes.contains(code)
                || parsed
                    .error_description
                    .starts_with(&format!("AADSTS{code}:"))
        });
        let first = parsed.error_description.lines().next().unwrap_or_default();
        let reason = match (first, parsed.error.as_str()) {
            ("", "") => "no reason given".to_owned(),
            ("", word) => word.to_owned(),
            (text, _) => text.to_owned(),
        };
        let trace = ["Trace ID:", "Correlation ID:"]
            .iter()
            .filter_map(|word| {
                parsed
                    .error_description
                    .lines()
                    .find(|l| l.starts_with(word))
            })
            .collect::<Vec<_>>()
            .join(", ");
        let hint = match known {
            Some((_, meaning, _)) => format!("; {meaning}"),
            None if reason.eq_ignore_ascii_case("Identity not found") => {
                "; assign the identity to this machine, or name one of several with userAssignedIdentityID".to_owned()
            }
            None if status == StatusCode::FORBIDDEN => {
                "; a network policy, a proxy or an IMDS restriction is in the way".to_owned()
            }
            None => String::new(),
        };
        let trace = if trace.is_empty() {
            trace
        } else {
            format!(" ({trace})")
        };
        let busy = matches!(status.as_u16(), 404 | 408 | 410 | 429) || status.is_server_error();
        Self {
            text: redact(&format!(
                "{service} answered {}: {reason}{hint}{trace}",
                status.as_u16()
            )),
            passing: known.map_or(busy, |(_, _, passing)| *passing || busy),
            retry_after,
        }
    }

    /// Whether it may go away by itself.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        self.passing
    }

    /// How long the service asks to wait.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}
