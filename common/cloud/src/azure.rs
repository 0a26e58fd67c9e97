//! The entry point: one value that gives out a client for each resource type.

use std::sync::Arc;

use azcsi_types::clock::Clock;
use azcsi_types::secret::Secret;

use crate::arm::client::{ArmClient, Parts};
use crate::auth::credentials::CredentialSource;
use crate::auth::{TokenSource, Tokens};
use crate::compute::disks::Disks;
use crate::compute::skus::Skus;
use crate::compute::snapshots::Snapshots;
use crate::compute::vms::Vms;
use crate::compute::vmss::ScaleSets;
use crate::config::{CloudConfig, ConfigError, Credential};
use crate::environment::Environment;
use crate::network::client::Networks;
use crate::network::private_dns::PrivateDns;
use crate::network::private_endpoints::PrivateEndpoints;
use crate::pipeline::retry::RetryPolicy;
use crate::pipeline::throttle::{Gate, Governor};
use crate::pipeline::transport::Transport;
use crate::storage::accounts::Accounts;
use crate::storage::data_plane::{
    self, Auth, Files, FilesCredential, FilesEndpoint, STORAGE_SCOPE,
};
use crate::storage::file_services::FileServices;
use crate::storage::keys::StorageKeys;
use crate::storage::share_snapshots::ShareSnapshots;
use crate::storage::shares::Shares;

/// Azure, as one identity sees it in one cloud. Cheap to clone; clones share tokens and gate.
#[derive(Clone, Debug)]
pub struct Azure {
    arm: ArmClient,
    config: Arc<CloudConfig>,
    files: FilesSeams,
}

/// What a client of the file service needs beside its endpoint and credential.
#[derive(Clone, Debug)]
struct FilesSeams {
    transport: Arc<dyn Transport>,
    clock: Arc<dyn Clock>,
    tokens: Tokens,
    user_agent: String,
}

/// Why there can be no [`Azure`].
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is not complete.
    #[error("the cloud configuration cannot be used")]
    Config(#[from] ConfigError),
}

/// Name and version by default, for Azure's request logs.
const USER_AGENT: &str = concat!("azcsi/", env!("CARGO_PKG_VERSION"));

impl Azure {
    /// Checks the configuration; contacts nobody yet.
    ///
    /// # Errors
    /// If a key is missing or contradicts another.
    pub fn new(
        config: CloudConfig,
        environment: Environment,
        transport: Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StartError> {
        let credential = config.credential("cloud configuration")?;
        let source = CredentialSource::new(
            &config,
            credential,
            &environment,
            Arc::clone(&transport),
            Arc::clone(&clock),
        );
        let governor = Arc::new(Gate::new(Arc::clone(&clock)));
        let second = second_tenant(&config, &environment, (&transport, &clock))?;
        let seams = Seams {
            transport,
            source: Arc::new(source),
            governor,
            clock,
        };
        let azure = Self::with(config, environment, seams);
        Ok(match second {
            Some(tokens) => Self {
                arm: azure.arm.with_auxiliary(tokens),
                ..azure
            },
            None => azure,
        })
    }

    /// With another source of tokens or another governor than the configuration would give.
    #[must_use]
    pub fn with(config: CloudConfig, environment: Environment, seams: Seams) -> Self {
        let tokens = Tokens::new(
            Arc::clone(&seams.source),
            environment.scope(),
            Arc::clone(&seams.clock),
        );
        let user_agent = if config.user_agent.is_empty() {
            USER_AGENT.to_owned()
        } else {
            config.user_agent.clone()
        };
        let storage = Tokens::new(
            seams.source,
            STORAGE_SCOPE.to_owned(),
            Arc::clone(&seams.clock),
        );
        let files = FilesSeams {
            transport: Arc::clone(&seams.transport),
            clock: Arc::clone(&seams.clock),
            tokens: storage,
            user_agent: user_agent.clone(),
        };
        let arm = ArmClient::new(Parts {
            environment,
            transport: seams.transport,
            tokens,
            clock: seams.clock,
            governor: seams.governor,
            retry: RetryPolicy::default(),
            user_agent,
            auxiliary: None,
        });
        Self {
            arm,
            config: Arc::new(config),
            files,
        }
    }

    /// The same Azure, with another `User-Agent` for requests to Resource Manager. Tokens, connections
    /// and throttling are shared.
    #[must_use]
    pub fn named(&self, user_agent: &str) -> Self {
        Self {
            arm: self.arm.named(user_agent),
            ..self.clone()
        }
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &CloudConfig {
        &self.config
    }

    /// The cloud.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        self.arm.environment()
    }

    /// Managed disks.
    #[must_use]
    pub fn disks(&self) -> Disks {
        Disks::new(self.arm.clone())
    }

    /// Disk snapshots.
    #[must_use]
    pub fn snapshots(&self) -> Snapshots {
        Snapshots::new(self.arm.clone())
    }

    /// Machines, of scale sets or not.
    #[must_use]
    pub fn vms(&self) -> Vms {
        Vms::new(self.arm.clone())
    }

    /// Scale sets.
    #[must_use]
    pub fn scale_sets(&self) -> ScaleSets {
        ScaleSets::new(self.arm.clone())
    }

    /// What the region offers to the configured subscription.
    #[must_use]
    pub fn skus(&self) -> Skus {
        Skus::new(self.arm.clone(), self.config.subscription_id.clone())
    }

    /// Storage accounts.
    #[must_use]
    pub fn accounts(&self) -> Accounts {
        Accounts::new(self.arm.clone())
    }

    /// Keys of storage accounts.
    #[must_use]
    pub fn storage_keys(&self) -> StorageKeys {
        StorageKeys::new(self.arm.clone())
    }

    /// File services of storage accounts.
    #[must_use]
    pub fn file_services(&self) -> FileServices {
        FileServices::new(self.arm.clone())
    }

    /// File shares, through Azure Resource Manager.
    #[must_use]
    pub fn shares(&self) -> Shares {
        Shares::new(self.arm.clone())
    }

    /// Snapshots of file shares, through Azure Resource Manager.
    #[must_use]
    pub fn share_snapshots(&self) -> ShareSnapshots {
        ShareSnapshots::new(self.arm.clone())
    }

    /// Virtual networks and subnets.
    #[must_use]
    pub fn networks(&self) -> Networks {
        Networks::new(self.arm.clone())
    }

    /// Private endpoints.
    #[must_use]
    pub fn private_endpoints(&self) -> PrivateEndpoints {
        PrivateEndpoints::new(self.arm.clone())
    }

    /// Private DNS zones.
    #[must_use]
    pub fn private_dns(&self) -> PrivateDns {
        PrivateDns::new(self.arm.clone())
    }

    /// The file service of an account: shares, directories and files in its own protocol.
    #[must_use]
    pub fn files(&self, endpoint: FilesEndpoint, credential: FilesCredential) -> Files {
        let auth = match credential {
            FilesCredential::SharedKey(key) => Auth::Key(key),
            FilesCredential::Sas(sas) => {
                Auth::Sas(Secret::new(sas.expose().trim().trim_start_matches('?')))
            }
            FilesCredential::Identity => Auth::Tokens(self.files.tokens.clone()),
            FilesCredential::Tokens(tokens) => Auth::Tokens(tokens),
        };
        Files::new(data_plane::Parts {
            endpoint,
            auth,
            transport: Arc::clone(&self.files.transport),
            clock: Arc::clone(&self.files.clock),
            retry: RetryPolicy::default(),
            user_agent: self.files.user_agent.clone(),
        })
    }
}

/// Tokens of the tenant that the network resources are in, if that is another one. The identity of a
/// machine has no other tenant than its own.
fn second_tenant(
    config: &CloudConfig,
    environment: &Environment,
    (transport, clock): (&Arc<dyn Transport>, &Arc<dyn Clock>),
) -> Result<Option<Tokens>, StartError> {
    let tenant = &config.network_resource_tenant_id;
    if tenant.is_empty() || tenant.eq_ignore_ascii_case(&config.tenant_id) {
        return Ok(None);
    }
    let credential = config.credential("cloud configuration")?;
    if matches!(credential, Credential::ManagedIdentity { .. }) {
        tracing::warn!("networkResourceTenantID is not used: a managed identity has one tenant");
        return Ok(None);
    }
    let there = CloudConfig {
        tenant_id: tenant.clone(),
        ..config.clone()
    };
    let (transport, clock) = (Arc::clone(transport), Arc::clone(clock));
    let source = CredentialSource::new(
        &there,
        credential,
        environment,
        transport,
        Arc::clone(&clock),
    );
    Ok(Some(Tokens::new(
        Arc::new(source),
        environment.scope(),
        clock,
    )))
}

/// The parts of [`Azure`] that can be exchanged.
#[derive(Clone, Debug)]
pub struct Seams {
    /// Way to the network.
    pub transport: Arc<dyn Transport>,
    /// Where tokens come from.
    pub source: Arc<dyn TokenSource>,
    /// What holds requests back.
    pub governor: Arc<dyn Governor>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

#[cfg(test)]
mod tests;
