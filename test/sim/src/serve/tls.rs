//! The simulator's own certificate authority.
//!
//! The authority's key stays in the state directory, so a client that trusts `ca.pem` goes on
//! trusting it after a restart; the server certificate is made anew at each start.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use time::{Duration, OffsetDateTime};
use tokio_rustls::TlsAcceptor;

/// Every name that the simulator may be reached by: itself, and the real hosts of the clouds, for
/// clients whose name resolution points those here.
const NAMES: [&str; 18] = [
    "localhost",
    "127.0.0.1",
    "::1",
    "management.azure.com",
    "management.core.windows.net",
    "management.usgovcloudapi.net",
    "management.chinacloudapi.cn",
    "management.local.azcsi-sim.invalid",
    "login.microsoftonline.com",
    "login.windows.net",
    "login.microsoft.com",
    "sts.windows.net",
    "login.microsoftonline.us",
    "login.chinacloudapi.cn",
    "login.partner.microsoftonline.cn",
    "*.file.core.windows.net",
    "*.blob.core.windows.net",
    "*.file.localhost",
];

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file of the state directory.
    #[error("{path}: cannot be used")]
    File {
        /// The file.
        path: String,
        /// The reason.
        source: std::io::Error,
    },
    /// The kept key or certificate is not one.
    #[error("{path} is damaged: {reason}; remove both ca.pem and ca.key to get a new authority")]
    Damaged {
        /// The file.
        path: String,
        /// The reason.
        reason: String,
    },
    /// Certificates could not be made.
    #[error("the server certificate cannot be made: {0}")]
    Make(String),
}

/// The authority of one state directory.
#[derive(Debug)]
pub struct Authority {
    pem: PathBuf,
    key: KeyPair,
    params: CertificateParams,
}

impl Authority {
    /// The authority kept in `dir`, or a new one.
    ///
    /// # Errors
    /// When the kept one is damaged or a new one cannot be written.
    pub fn open(dir: &Path, now: OffsetDateTime) -> Result<Self, TlsError> {
        let pem = dir.join("ca.pem");
        let key_path = dir.join("ca.key");
        let params = authority_params();
        if key_path.exists() {
            let text = fs::read_to_string(&key_path).map_err(|e| file(&key_path, e))?;
            let key = KeyPair::from_pem(&text).map_err(|e| damaged(&key_path, &e))?;
            let kept = CertificateDer::from_pem_file(&pem);
            if let Err(error) = kept {
                return Err(damaged(&pem, &error));
            }
            return Ok(Self { pem, key, params });
        }
        let key = KeyPair::generate().map_err(|e| make(&e))?;
        let mut dated = params.clone();
        dated.not_before = now - Duration::days(1);
        dated.not_after = now + Duration::days(3650);
        let certificate = dated.self_signed(&key).map_err(|e| make(&e))?;
        fs::write(&pem, certificate.pem()).map_err(|e| file(&pem, e))?;
        write_private(&key_path, key.serialize_pem().as_bytes()).map_err(|e| file(&key_path, e))?;
        Ok(Self { pem, key, params })
    }

    /// The certificate that clients have to trust.
    #[must_use]
    pub fn pem(&self) -> &Path {
        &self.pem
    }

    /// A server side with a fresh certificate for every served name.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn acceptor(self, now: OffsetDateTime) -> Result<TlsAcceptor, TlsError> {
        let key = KeyPair::generate().map_err(|e| make(&e))?;
        let names: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).map_err(|e| make(&e))?;
        params
            .distinguished_name
            .push(DnType::CommonName, "azcsi-sim");
        params.not_before = now - Duration::days(1);
        params.not_after = now + Duration::days(365);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let issuer = Issuer::new(self.params, self.key);
        let certificate = params.signed_by(&key, &issuer).map_err(|e| make(&e))?;
        let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(|e| make(&e))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| make(&e))?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .map_err(|e| make(&e))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "azcsi-sim local authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// Writes a file that only its owner can read.
///
/// # Errors
/// When it cannot be written.
pub fn write_private(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let mut open = fs::OpenOptions::new();
    let mut file = open
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(contents)?;
    file.sync_all()
}

fn file(path: &Path, source: std::io::Error) -> TlsError {
    TlsError::File {
        path: path.display().to_string(),
        source,
    }
}

fn damaged(path: &Path, reason: &dyn std::fmt::Display) -> TlsError {
    TlsError::Damaged {
        path: path.display().to_string(),
        reason: reason.to_string(),
    }
}

fn make(reason: &dyn std::fmt::Display) -> TlsError {
    TlsError::Make(reason.to_string())
}
