//! From the world file to what the authority checks; and which world file counts.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use super::tls::write_private;
use crate::entra::directory::{App, AppSecret, Directory, Federated};
use crate::entra::issuer::{self, Issuer};
use crate::entra::jwt::PublicKey;
use crate::entra::tokens::seconds;
use crate::persist::{Change, Journal};
use crate::worldfile::{self, AppEntry, FederatedEntry, WorldFile};

/// The world file that a state directory was made with.
const WORLD_KEY: &str = "meta/worldfile";
/// How long the projected token lasts; it is written anew at each start.
const TOKEN_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// The world file that counts: the saved one, or the given one when the directory is new.
///
/// # Errors
/// When there is none, when it is no good, or when the directory holds another world.
pub fn world_file(given: Option<&Path>, journal: &mut Journal) -> anyhow::Result<WorldFile> {
    let saved = journal.current().get(WORLD_KEY).cloned();
    let given = given.map(|path| Ok::<_, anyhow::Error>((path, worldfile::read(path)?)));
    match (saved, given.transpose()?) {
        (None, None) => bail!(
            "--world FILE is needed for a new state directory; make one with `azcsi-sim world > world.toml`"
        ),
        (None, Some((path, text))) => {
            let path = path
                .canonicalize()
                .with_context(|| path.display().to_string())?;
            let file = WorldFile::parse(&path, &text)?;
            let value = json!({"path": path, "text": text});
            journal.commit(vec![Change(WORLD_KEY.to_owned(), Some(value))])?;
            Ok(file.at(&path))
        }
        (Some(saved), given) => {
            let text = saved
                .get("text")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if let Some((path, other)) = given
                && other != text
            {
                bail!(
                    "{}: the state directory was made with another world file; leave --world out to go on with it, or choose an empty --dir",
                    path.display()
                );
            }
            let path = PathBuf::from(saved.get("path").and_then(Value::as_str).unwrap_or("."));
            Ok(WorldFile::parse(&path, text)?.at(&path))
        }
    }
}

/// The applications of a world file.
///
/// # Errors
/// When a file that it names cannot be read or is not what it should be.
pub fn entra(file: &WorldFile, own: &Issuer) -> anyhow::Result<Directory> {
    let apps: anyhow::Result<Vec<App>> = file
        .apps
        .iter()
        .map(|entry| app(file, entry, own))
        .collect();
    Ok(Directory {
        tenant: file.tenant.get_ref().clone(),
        apps: apps?,
    })
}

fn app(file: &WorldFile, entry: &AppEntry, own: &Issuer) -> anyhow::Result<App> {
    let mut certificates = Vec::new();
    for name in &entry.certificates {
        let path = file.beside(name.get_ref());
        let text = worldfile::read(&path)?;
        for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
            let der = certificate.map_err(|error| {
                anyhow::anyhow!("{}: no PEM certificate: {error}", path.display())
            })?;
            certificates.push(der.to_vec());
        }
    }
    let federated: anyhow::Result<Vec<Federated>> = entry
        .federated
        .iter()
        .map(|entry| federated(file, entry, own))
        .collect();
    let secret = |value: &String| AppSecret {
        value: value.clone(),
        expires: None,
    };
    Ok(App {
        client_id: entry.client_id.get_ref().clone(),
        secrets: entry.secret.iter().map(secret).collect(),
        certificates,
        federated: federated?,
    })
}

fn federated(file: &WorldFile, entry: &FederatedEntry, own: &Issuer) -> anyhow::Result<Federated> {
    let keys = match &entry.jwks {
        None => vec![own.public_key()],
        Some(name) => {
            let path = file.beside(name.get_ref());
            let document: Value = serde_json::from_str(&worldfile::read(&path)?)
                .with_context(|| format!("{}: no JWKS document", path.display()))?;
            PublicKey::from_jwks(&document)
        }
    };
    Ok(Federated {
        issuer: entry
            .issuer
            .clone()
            .unwrap_or_else(|| issuer::ISSUER.to_owned()),
        subject: entry.subject.clone(),
        audience: entry
            .audience
            .clone()
            .unwrap_or_else(|| issuer::AUDIENCE.to_owned()),
        keys,
    })
}

/// Writes the token that a pod with workload identity would find.
///
/// # Errors
/// When it cannot be made or written.
pub fn write_token(
    dir: &Path,
    issuer: &Issuer,
    subject: &str,
    now: SystemTime,
) -> anyhow::Result<()> {
    let token = issuer.token(subject, seconds(now), seconds(now + TOKEN_LIFETIME))?;
    let path = dir.join("federated-token");
    write_private(&path, token.as_bytes())
        .with_context(|| format!("{} cannot be written", path.display()))
}
