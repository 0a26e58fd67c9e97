//! The entry point: one value that gives out a client for each resource type.

use std::sync::Arc;

use azcsi_types::clock::Clock;

use crate::arm::client::{ArmClient, Parts};
use crate::auth::credentials::CredentialSource;
use crate::auth::{TokenSource, Tokens};
use crate::compute::disks::Disks;
use crate::compute::skus::Skus;
use crate::compute::snapshots::Snapshots;
use crate::compute::vms::Vms;
use crate::compute::vmss::ScaleSets;
use crate::config::{CloudConfig, ConfigError};
use crate::environment::Environment;
use crate::pipeline::retry::RetryPolicy;
use crate::pipeline::throttle::{Gate, Governor};
use crate::pipeline::transport::Transport;

/// Azure, as one identity sees it in one cloud. Cheap to clone; clones share tokens and gate.
#[derive(Clone, Debug)]
pub struct Azure {
    arm: ArmClient,
    config: Arc<CloudConfig>,
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
        let seams = Seams {
            transport,
            source: Arc::new(source),
            governor,
            clock,
        };
        Ok(Self::with(config, environment, seams))
    }

    /// With another source of tokens or another governor than the configuration would give.
    #[must_use]
    pub fn with(config: CloudConfig, environment: Environment, seams: Seams) -> Self {
        let tokens = Tokens::new(seams.source, environment.scope(), Arc::clone(&seams.clock));
        let user_agent = if config.user_agent.is_empty() {
            USER_AGENT.to_owned()
        } else {
            config.user_agent.clone()
        };
        let arm = ArmClient::new(Parts {
            environment,
            transport: seams.transport,
            tokens,
            clock: seams.clock,
            governor: seams.governor,
            retry: RetryPolicy::default(),
            user_agent,
        });
        Self {
            arm,
            config: Arc::new(config),
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
