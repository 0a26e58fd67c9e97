//! Client assertions signed with a certificate's key (RFC 7523; PS256 with `x5t#S256`).

use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::{digest, rand, rsa, signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// How long an assertion is valid, in seconds.
const VALIDITY: u64 = 600;

/// A certificate chain with the key of its first member.
pub struct Certificate {
    key: rsa::KeyPair,
    chain: Vec<CertificateDer<'static>>,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Certificate(chain of {})", self.chain.len())
    }
}

/// Why a certificate file cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// PKCS#12 or something else that is not PEM.
    #[error(
        "it is not PEM; a PKCS#12 file is converted with: openssl pkcs12 -in FILE -nodes -out FILE.pem"
    )]
    NotPem,
    /// No certificate.
    #[error("it holds no certificate")]
    NoCertificate,
    /// No private key.
    #[error("it holds no private key")]
    NoKey,
    /// A key that is not RSA, too short, or encrypted.
    #[error("its private key is not an unencrypted RSA key of 2048 to 8192 bits")]
    BadKey,
    /// The signature failed.
    #[error("signing failed")]
    Signing,
}

impl Certificate {
    /// Reads PEM text: the certificate first, then its chain, and the key anywhere.
    ///
    /// # Errors
    /// If a part is missing or of the wrong kind.
    pub fn from_pem(pem: &[u8]) -> Result<Self, CertificateError> {
        const BEGIN: &[u8] = b"-----BEGIN ";
        if !pem.windows(BEGIN.len()).any(|window| window == BEGIN) {
            return Err(CertificateError::NotPem);
        }
        let chain = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| CertificateError::NotPem)?;
        if chain.is_empty() {
            return Err(CertificateError::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| CertificateError::NoKey)?;
        let key = match &key {
            PrivateKeyDer::Pkcs8(der) => rsa::KeyPair::from_pkcs8(der.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(der) => rsa::KeyPair::from_der(der.secret_pkcs1_der()),
            _ => return Err(CertificateError::BadKey),
        };
        let key = key.map_err(|_| CertificateError::BadKey)?;
        Ok(Self { key, chain })
    }

    /// A signed assertion for one token request.
    ///
    /// # Errors
    /// If signing fails.
    pub fn assertion(
        &self,
        endpoint: &str,
        client_id: &str,
        now: SystemTime,
    ) -> Result<String, CertificateError> {
        let leaf = self.chain.first().ok_or(CertificateError::NoCertificate)?;
        let thumbprint = digest::digest(&digest::SHA256, leaf);
        let chain: Vec<String> = self.chain.iter().map(|der| STANDARD.encode(der)).collect();
        let header = serde_json::json!({
            "alg": "PS256",
            "typ": "JWT",
            "x5t#S256": URL_SAFE_NO_PAD.encode(thumbprint),
            "x5c": chain,
        });
        let seconds = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .map(|since| since.as_secs())
            .unwrap_or_default();
        let claims = serde_json::json!({
            "aud": endpoint,
            "iss": client_id,
            "sub": client_id,
            "jti": uuid::Uuid::new_v4().to_string(),
            "nbf": seconds,
            "iat": seconds,
            "exp": seconds + VALIDITY,
        });
        let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(&header), encode(&claims));
        let mut signed = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(
                &signature::RSA_PSS_SHA256,
                &rand::SystemRandom::new(),
                text.as_bytes(),
                &mut signed,
            )
            .map_err(|_| CertificateError::Signing)?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signed)))
    }
}

#[cfg(test)]
mod tests;
