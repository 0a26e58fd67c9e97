//! Access tokens: opaque to clients, verifiable by the rest of the simulator.
//!
//! They have the look of the real ones (three parts with dots, `eyJ…`), because tools cut logs by
//! that pattern, but are signed with a secret of this simulator only.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde::{Deserialize, Serialize};

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The service it is for, as asked.
    #[serde(rename = "aud")]
    pub audience: String,
    /// The application or managed identity.
    #[serde(rename = "appid")]
    pub client_id: String,
    /// The tenant.
    #[serde(rename = "tid")]
    pub tenant: String,
    /// First valid second since 1970.
    #[serde(rename = "nbf")]
    pub not_before: u64,
    /// First invalid second since 1970.
    #[serde(rename = "exp")]
    pub expires: u64,
}

/// Why a token is no good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Not a token of this simulator at all.
    #[error("the access token is not one of ours")]
    Malformed,
    /// Made up, or made by another simulator.
    #[error("the access token's signature is wrong")]
    BadSignature,
    /// Its time is over.
    #[error("the access token has expired")]
    Expired,
}

/// The secret that tokens are signed with.
#[derive(Clone)]
pub struct TokenKey(hmac::Key);

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenKey(..)")
    }
}

impl TokenKey {
    /// A key from any secret bytes; the same bytes give the same key, so tokens outlive a restart.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// Makes a token.
    #[must_use]
    pub fn issue(&self, claims: &Claims) -> String {
        let header = URL_SAFE_NO_PAD.encode(br#"{"typ":"JWT","alg":"HS256"}"#);
        let payload = serde_json::to_vec(claims).unwrap_or_default();
        let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(payload));
        let tag = hmac::sign(&self.0, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))
    }

    /// Reads a token back.
    ///
    /// # Errors
    /// When it is not ours, forged or expired.
    pub fn verify(&self, token: &str, now: SystemTime) -> Result<Claims, TokenFault> {
        let (signed, tag) = token.rsplit_once('.').ok_or(TokenFault::Malformed)?;
        let (_, payload) = signed.split_once('.').ok_or(TokenFault::Malformed)?;
        let tag = URL_SAFE_NO_PAD
            .decode(tag)
            .map_err(|_| TokenFault::Malformed)?;
        hmac::verify(&self.0, signed.as_bytes(), &tag).map_err(|_| TokenFault::BadSignature)?;
        let payload = URL_SAFE_NO_PAD
            .decode(payload)
            .map_err(|_| TokenFault::Malformed)?;
        let claims: Claims = serde_json::from_slice(&payload).map_err(|_| TokenFault::Malformed)?;
        if seconds(now) >= claims.expires {
            Err(TokenFault::Expired)
        } else {
            Ok(claims)
        }
    }
}

impl Claims {
    /// Claims that hold from now on.
    #[must_use]
    pub fn lasting(
        audience: &str,
        client_id: &str,
        tenant: &str,
        now: SystemTime,
        lifetime: Duration,
    ) -> Self {
        Self {
            audience: audience.to_owned(),
            client_id: client_id.to_owned(),
            tenant: tenant.to_owned(),
            not_before: seconds(now),
            expires: seconds(now) + lifetime.as_secs(),
        }
    }
}

/// Whole seconds since 1970.
#[must_use]
pub fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Claims {
        let now = UNIX_EPOCH + Duration::from_secs(1000);
        Claims::lasting(
            "https://management.azure.com/",
            "app",
            "tenant",
            now,
            Duration::from_secs(60),
        )
    }

    #[test]
    fn a_token_is_good_until_it_expires() {
        let key = TokenKey::new(b"secret");
        let token = key.issue(&claims());
        let at = |s| UNIX_EPOCH + Duration::from_secs(s);
        assert_eq!(key.verify(&token, at(1059)), Ok(claims()));
        assert_eq!(key.verify(&token, at(1060)), Err(TokenFault::Expired));
    }

    #[test]
    fn forged_and_foreign_tokens_are_refused() {
        let key = TokenKey::new(b"secret");
        let token = key.issue(&claims());
        let other = TokenKey::new(b"another").issue(&claims());
        assert_eq!(
            key.verify(&other, UNIX_EPOCH),
            Err(TokenFault::BadSignature)
        );
        let (head, tail) = token.split_once('.').expect("dots");
        let forged = format!(
            "{head}.e{}",
            tail.get(1..).expect("tail").replacen('A', "B", 1)
        );
        assert!(key.verify(&forged, UNIX_EPOCH).is_err() || forged == token);
        for junk in ["", "x", "a.b", "a.b.c", "a.b.!"] {
            assert!(key.verify(junk, UNIX_EPOCH).is_err(), "{junk}");
        }
    }
}
