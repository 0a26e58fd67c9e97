//! A federated issuer of the simulator's own.
//!
//! Workload identity exchanges a token that a cluster signed. Without a cluster this key signs it,
//! so that the exchange, with all its checks, can be run on a laptop.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;

use super::jwt::PublicKey;

/// `iss` of the tokens.
pub const ISSUER: &str = "https://oidc.azcsi-sim.invalid/";
/// `aud` that Entra asks for.
pub const AUDIENCE: &str = "api://AzureADTokenExchange";

/// The key could not be made or read.
#[derive(Debug, thiserror::Error)]
#[error("the federated issuer's key is not usable: {0}")]
pub struct IssuerError(String);

/// Signs tokens in place of a cluster.
#[derive(Debug)]
pub struct Issuer {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Issuer {
    /// A new key in PKCS#8 form, to be kept in the state directory.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn generate() -> Result<Vec<u8>, IssuerError> {
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .map(|document| document.as_ref().to_vec())
            .map_err(|error| IssuerError(error.to_string()))
    }

    /// The issuer of a kept key.
    ///
    /// # Errors
    /// When the bytes are no such key.
    pub fn from_pkcs8(pkcs8: &[u8]) -> Result<Self, IssuerError> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random)
            .map_err(|error| IssuerError(error.to_string()))?;
        Ok(Self { pair, random })
    }

    /// What verifies its tokens.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        PublicKey::P256(self.pair.public_key().as_ref().to_vec())
    }

    /// A token for one service account, valid from `from` to `until`, in seconds since 1970.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn token(&self, subject: &str, from: u64, until: u64) -> Result<String, IssuerError> {
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": "azcsi-sim"}).to_string();
        let claims = json!({
            "iss": ISSUER, "sub": subject, "aud": [AUDIENCE], "iat": from, "nbf": from,
            "exp": until,
        });
        let signed = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(header),
            URL_SAFE_NO_PAD.encode(claims.to_string())
        );
        let signature = self
            .pair
            .sign(&self.random, signed.as_bytes())
            .map_err(|error| IssuerError(error.to_string()))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}
