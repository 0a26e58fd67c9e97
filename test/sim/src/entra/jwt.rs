//! JSON web tokens that others sign: client assertions and federated tokens.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;
use webpki::EndEntityCert;
use webpki::ring as algorithms;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);

/// A token that was taken apart and not yet believed.
#[derive(Clone, Debug)]
pub struct Jwt {
    header: Value,
    claims: Value,
    signed: String,
    signature: Vec<u8>,
}

impl Jwt {
    /// Takes a token apart.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (signed, signature) = text.trim().rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        Some(Self {
            header: serde_json::from_slice(&URL.decode(header).ok()?).ok()?,
            claims: serde_json::from_slice(&URL.decode(claims).ok()?).ok()?,
            signed: signed.to_owned(),
            signature: URL.decode(signature).ok()?,
        })
    }

    /// A header field.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.header.get(name)?.as_str()
    }

    /// The leaf of the certificate chain in the header.
    #[must_use]
    pub fn leaf(&self) -> Option<Vec<u8>> {
        decode_any(self.header.get("x5c")?.get(0)?.as_str()?)
    }

    /// A claim that is text.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.claims
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// A claim that is a time, in whole seconds since 1970. Some clients send fractions.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        let seconds = self.claims.get(name)?.as_f64()?;
        std::time::Duration::try_from_secs_f64(seconds)
            .ok()
            .map(|time| time.as_secs())
    }

    /// Whether the audience, one or several, includes `wanted`.
    #[must_use]
    pub fn is_for(&self, wanted: &str) -> bool {
        match self.claims.get("aud") {
            Some(Value::String(one)) => one == wanted,
            Some(Value::Array(many)) => many.iter().any(|one| one == wanted),
            _ => false,
        }
    }

    /// The audience as text, for messages.
    #[must_use]
    pub fn audience(&self) -> String {
        match self.claims.get("aud") {
            Some(Value::String(one)) => one.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        }
    }

    /// Whether the holder of this certificate's key signed it.
    #[must_use]
    pub fn is_signed_by_certificate(&self, der: &[u8]) -> bool {
        let der = rustls::pki_types::CertificateDer::from(der);
        let Ok(certificate) = EndEntityCert::try_from(&der) else {
            return false;
        };
        let algorithm = match self.header("alg") {
            Some("RS256") => algorithms::RSA_PKCS1_2048_8192_SHA256,
            Some("PS256") => algorithms::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
            _ => return false,
        };
        certificate
            .verify_signature(algorithm, self.signed.as_bytes(), &self.signature)
            .is_ok()
    }

    /// Whether one of these public keys signed it.
    #[must_use]
    pub fn is_signed_by_any(&self, keys: &[PublicKey]) -> bool {
        keys.iter().any(|key| key.verifies(self))
    }
}

/// A public key of an issuer, from its JWKS document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// RSA, big-endian numbers.
    Rsa {
        /// Modulus.
        n: Vec<u8>,
        /// Exponent.
        e: Vec<u8>,
    },
    /// P-256, an uncompressed point.
    P256(Vec<u8>),
}

impl PublicKey {
    /// The keys of a JWKS document; those of other types are left out.
    #[must_use]
    pub fn from_jwks(document: &Value) -> Vec<Self> {
        let keys = document.get("keys").and_then(Value::as_array);
        keys.into_iter()
            .flatten()
            .filter_map(Self::from_jwk)
            .collect()
    }

    fn from_jwk(key: &Value) -> Option<Self> {
        let part = |name| URL.decode(key.get(name)?.as_str()?).ok();
        match key.get("kty")?.as_str()? {
            "RSA" => Some(Self::Rsa {
                n: part("n")?,
                e: part("e")?,
            }),
            "EC" if key.get("crv")? == "P-256" => {
                Some(Self::P256([vec![4], part("x")?, part("y")?].concat()))
            }
            _ => None,
        }
    }

    fn verifies(&self, jwt: &Jwt) -> bool {
        let message = jwt.signed.as_bytes();
        match (self, jwt.header("alg")) {
            (Self::Rsa { n, e }, Some("RS256")) => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, &jwt.signature)
                .is_ok(),
            (Self::Rsa { n, e }, Some("PS256")) => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PSS_2048_8192_SHA256, message, &jwt.signature)
                .is_ok(),
            (Self::P256(point), Some("ES256")) => {
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, &jwt.signature).is_ok()
            }
            _ => false,
        }
    }
}

/// Thumbprints come as base64url, and from some clients as plain base64; whether Entra takes the
/// latter is not documented, so both are taken here.
#[must_use]
pub fn decode_any(text: &str) -> Option<Vec<u8>> {
    URL.decode(text).or_else(|_| PLAIN.decode(text)).ok()
}
