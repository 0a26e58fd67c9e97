//! The credentials of the Azure SDK behind [`TokenSource`].
//!
//! A credential is built anew for each token: the SDK's own cache, which cannot be told that a token
//! was refused and which reads the system clock, is thereby never in the way.
//!
//! Credentials: client secret, client assertion (from a projected token or a certificate) and
//! managed identity. The SDK picks App Service's protocol when `IDENTITY_ENDPOINT` is set.

use std::sync::Arc;
use std::time::Duration;

use azcsi_types::clock::Clock;
use azcsi_types::secret::Secret;
use azure_core::cloud::CustomConfiguration;
use azure_core::credentials::TokenCredential;
use azure_core::http::{
    ClientMethodOptions, ClientOptions, RetryOptions, Transport as SdkTransport,
};
use azure_identity::{
    ClientAssertion, ClientAssertionCredential, ClientAssertionCredentialOptions,
    ClientSecretCredential, ClientSecretCredentialOptions, ManagedIdentityCredential,
    ManagedIdentityCredentialOptions, UserAssignedId,
};
use futures_util::future::BoxFuture;

use super::adapter::{Adapter, Ended, STAND_IN};
use super::certificate::Certificate;
use super::{Token, TokenError, TokenSource};
use crate::config::{CloudConfig, Credential};
use crate::environment::Environment;
use crate::pipeline::transport::Transport;

/// Fetches tokens for the identity that the configuration names.
#[derive(Debug)]
pub struct CredentialSource {
    credential: Credential,
    tenant: String,
    client: String,
    authority: String,
    imds: String,
    transport: Arc<dyn Transport>,
    clock: Arc<dyn Clock>,
}

impl CredentialSource {
    /// Nothing is read or fetched yet.
    #[must_use]
    pub fn new(
        config: &CloudConfig,
        credential: Credential,
        environment: &Environment,
        transport: Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            credential,
            tenant: config.tenant_id.clone(),
            client: config.aad_client_id.clone(),
            authority: environment.authority.clone(),
            imds: environment.imds.clone(),
            transport,
            clock,
        }
    }

    async fn token(&self, scope: &str) -> Result<Token, TokenError> {
        let adapter = Adapter::new(Arc::clone(&self.transport), &self.authority, &self.imds);
        let adapter = Arc::new(adapter);
        let client: Arc<dyn azure_core::http::HttpClient> = adapter.clone();
        let mut cloud = CustomConfiguration::default();
        STAND_IN.clone_into(&mut cloud.authority_host);
        let options = ClientOptions {
            transport: Some(SdkTransport::new(client)),
            retry: RetryOptions::none(),
            cloud: Some(Arc::new(cloud.into())),
            ..ClientOptions::default()
        };
        let credential = self.credential(options).await?;
        let result = credential.get_token(&[scope], None).await;
        match (result, adapter.ended()) {
            (Ok(token), Some(Ended::Granted { until, lifetime })) => {
                let wall = self.clock.wall();
                let left = until.and_then(|until| until.duration_since(wall).ok());
                Ok(Token {
                    secret: Secret::new(token.token.secret()),
                    lifetime: left.or(lifetime).unwrap_or(Duration::ZERO),
                })
            }
            (_, Some(Ended::Refused(error))) => Err(error),
            (Err(error), _) => Err(TokenError::lasting(one_line(&error))),
            (Ok(_), None) => Err(TokenError::lasting("a token came from nowhere")),
        }
    }

    async fn credential(
        &self,
        options: ClientOptions,
    ) -> Result<Arc<dyn TokenCredential>, TokenError> {
        let wrong = |error: azure_core::Error| TokenError::lasting(one_line(&error));
        match &self.credential {
            Credential::ClientSecret { secret } => {
                let options = ClientSecretCredentialOptions {
                    client_options: options,
                };
                let secret = azure_core::credentials::Secret::new(secret.expose().to_owned());
                let credential = ClientSecretCredential::new(
                    &self.tenant,
                    self.client.clone(),
                    secret,
                    Some(options),
                );
                Ok(credential.map_err(wrong)?)
            }
            Credential::ManagedIdentity { identity } => {
                let options = ManagedIdentityCredentialOptions {
                    user_assigned_id: identity.as_deref().map(user_assigned),
                    client_options: options,
                };
                Ok(ManagedIdentityCredential::new(Some(options)).map_err(wrong)?)
            }
            Credential::Federated { token_file } => {
                let token = read(token_file).await?;
                let token = String::from_utf8_lossy(&token).trim().to_owned();
                if token.is_empty() {
                    return Err(TokenError::passing(format!("{token_file} is empty"), None));
                }
                self.with_assertion(Secret::new(token), options)
            }
            Credential::Certificate { path } => {
                let pem = read(path).await?;
                let unusable = |e| TokenError::lasting(format!("aadClientCertPath {path}: {e}"));
                let certificate = Certificate::from_pem(&pem).map_err(unusable)?;
                let endpoint = format!("{}/{}/oauth2/v2.0/token", self.authority, self.tenant);
                let assertion = certificate
                    .assertion(&endpoint, &self.client, self.clock.wall())
                    .map_err(unusable)?;
                self.with_assertion(Secret::new(assertion), options)
            }
        }
    }

    fn with_assertion(
        &self,
        assertion: Secret,
        client_options: ClientOptions,
    ) -> Result<Arc<dyn TokenCredential>, TokenError> {
        let options = ClientAssertionCredentialOptions { client_options };
        let credential = ClientAssertionCredential::new(
            self.tenant.clone(),
            self.client.clone(),
            Assertion(assertion),
            Some(options),
        );
        Ok(credential.map_err(|error| TokenError::lasting(one_line(&error)))?)
    }
}

impl TokenSource for CredentialSource {
    fn fetch<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<Token, TokenError>> {
        Box::pin(self.token(scope))
    }
}

/// A resource id names an identity by its resource, anything else by its client id.
fn user_assigned(identity: &str) -> UserAssignedId {
    if identity.to_ascii_lowercase().contains("/subscriptions/") {
        UserAssignedId::ResourceId(identity.to_owned())
    } else {
        UserAssignedId::ClientId(identity.to_owned())
    }
}

/// Read for each token, because such files are replaced while the program runs.
async fn read(path: &str) -> Result<Vec<u8>, TokenError> {
    tokio::fs::read(path)
        .await
        .map_err(|error| TokenError::passing(format!("cannot read {path}: {error}"), None))
}

fn one_line(error: &azure_core::Error) -> String {
    let text = azcsi_types::fault::report(error);
    crate::pipeline::trace::redact(&text)
}

/// An assertion that was made before.
#[derive(Debug)]
struct Assertion(Secret);

#[async_trait::async_trait]
impl ClientAssertion for Assertion {
    async fn secret(&self, _: Option<ClientMethodOptions<'_>>) -> azure_core::Result<String> {
        Ok(self.0.expose().to_owned())
    }
}

#[cfg(test)]
mod tests;
