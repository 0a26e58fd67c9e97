//! Azure as one identity sees it.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use azcsi_cloud::auth::credentials::CredentialSource;
use azcsi_cloud::auth::{Token, TokenError, TokenSource};
use azcsi_cloud::config::Credential;
use azcsi_cloud::{Azure, CloudConfig, Environment, Gate, Seams, Transport};
use azcsi_types::clock::Clock;
use azcsi_types::fault::Fault;
use azcsi_types::secret::Secret;
use futures_util::future::{BoxFuture, ready};
use uuid::Uuid;

use super::Access;
use crate::node::ports::{Identity, Unanswered};

/// What access to Azure is made of.
#[derive(Clone, Debug)]
pub struct CloudParts {
    /// The configuration; `None` where there is none.
    pub config: Option<CloudConfig>,
    /// The cloud.
    pub environment: Environment,
    /// The way to it.
    pub transport: Arc<dyn Transport>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// A folder for tokens of pods, while they are exchanged. Only this process may read it.
    pub tokens: PathBuf,
}

/// A token that somebody else got.
#[derive(Debug)]
struct Given(Secret);

impl TokenSource for Given {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Token, TokenError>> {
        Box::pin(ready(Ok(Token {
            secret: self.0.clone(),
            // It is used for one request; when it ends is not told.
            lifetime: Duration::from_secs(600),
        })))
    }
}

/// Nobody.
#[derive(Debug)]
struct Nobody;

impl TokenSource for Nobody {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Token, TokenError>> {
        Box::pin(ready(Err(TokenError::lasting("no identity is configured"))))
    }
}

/// The token of a pod, in a file that only this process can read; gone when this value is.
#[derive(Debug)]
pub(in crate::node) struct TokenFile(PathBuf);

impl Drop for TokenFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl TokenFile {
    fn write(folder: &std::path::Path, token: &Secret) -> std::io::Result<Self> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let path = folder.join(Uuid::new_v4().simple().to_string());
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let file_of = Self(path);
        file.write_all(token.as_bytes())?;
        Ok(file_of)
    }
}

impl CloudParts {
    /// Azure, for requests that carry a key.
    pub(super) fn with_key(&self) -> Result<Azure, Unanswered> {
        Ok(self.with(self.config.clone().unwrap_or_default(), Arc::new(Nobody)))
    }

    /// Azure as an identity sees it.
    pub(super) async fn azure(&self, by: &Identity) -> Result<Access, Unanswered> {
        let mut config = self.config.clone().unwrap_or_default();
        let mut token_file = None;
        let source: Arc<dyn TokenSource> = match by {
            Identity::Token(token) => Arc::new(Given(token.clone())),
            Identity::Node => {
                let missing = || {
                    let why = "the node's identity is not known: there is no cloud configuration";
                    Unanswered::because(why, Fault::Precondition)
                };
                let own = self.config.as_ref().ok_or_else(missing)?;
                let credential = own.credential("cloud configuration");
                let credential = credential.map_err(|error| Unanswered {
                    what: "the cloud configuration names no identity".to_owned(),
                    fault: Fault::Precondition,
                    source: Some(Box::new(error)),
                })?;
                self.source(&config, credential)
            }
            Identity::Managed(client) => {
                let identity = Some(client.clone());
                self.source(&config, Credential::ManagedIdentity { identity })
            }
            Identity::Workload {
                client_id,
                tenant_id,
                token,
            } => {
                config.aad_client_id.clone_from(client_id);
                if let Some(tenant) = tenant_id {
                    config.tenant_id.clone_from(tenant);
                }
                let file = self.keep(token)?;
                let path = file.0.display().to_string();
                token_file = Some(file);
                self.source(&config, Credential::Federated { token_file: path })
            }
        };
        Ok(Access {
            azure: self.with(config, source),
            _token: token_file,
        })
    }

    fn keep(&self, token: &Secret) -> Result<TokenFile, Unanswered> {
        TokenFile::write(&self.tokens, token).map_err(|error| Unanswered {
            what: "keeping the token of the service account".to_owned(),
            fault: Fault::Internal,
            source: Some(Box::new(error)),
        })
    }

    fn source(&self, config: &CloudConfig, credential: Credential) -> Arc<dyn TokenSource> {
        Arc::new(CredentialSource::new(
            config,
            credential,
            &self.environment,
            Arc::clone(&self.transport),
            Arc::clone(&self.clock),
        ))
    }

    fn with(&self, config: CloudConfig, source: Arc<dyn TokenSource>) -> Azure {
        let seams = Seams {
            transport: Arc::clone(&self.transport),
            source,
            governor: Arc::new(Gate::new(Arc::clone(&self.clock))),
            clock: Arc::clone(&self.clock),
        };
        Azure::with(config, self.environment.clone(), seams)
    }
}
