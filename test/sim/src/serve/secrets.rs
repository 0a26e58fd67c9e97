//! The secrets of a state directory: what tokens are signed with.
//!
//! They are kept, so that tokens given before a restart are good after it.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::tls::write_private;
use crate::entra::issuer::Issuer;
use crate::entra::tokens::TokenKey;

/// Secrets of one state directory.
pub struct Secrets {
    token: Vec<u8>,
    issuer: Vec<u8>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(..)")
    }
}

impl Secrets {
    /// Those kept in `dir`, or new ones.
    ///
    /// # Errors
    /// When they cannot be read, made or written.
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
        let token = kept(&dir.join("token.key"), || {
            let mut bytes = vec![0; 32];
            SystemRandom::new()
                .fill(&mut bytes)
                .map_err(|error| anyhow::anyhow!("{error}"))?;
            Ok(bytes)
        })?;
        let issuer = kept(&dir.join("issuer.key"), || Ok(Issuer::generate()?))?;
        Ok(Self { token, issuer })
    }

    /// What access tokens are signed with.
    #[must_use]
    pub fn token_key(&self) -> TokenKey {
        TokenKey::new(&self.token)
    }

    /// The federated issuer.
    ///
    /// # Errors
    /// When the kept key is damaged.
    pub fn issuer(&self) -> anyhow::Result<Issuer> {
        Issuer::from_pkcs8(&self.issuer)
            .context("issuer.key is damaged; remove it to get a new one")
    }
}

fn kept(path: &Path, make: impl FnOnce() -> anyhow::Result<Vec<u8>>) -> anyhow::Result<Vec<u8>> {
    if path.exists() {
        return fs::read(path).with_context(|| format!("{} cannot be read", path.display()));
    }
    let bytes = make()?;
    write_private(path, &bytes).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(bytes)
}
