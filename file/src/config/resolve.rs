//! From the flags as they were typed to what the program runs with: what belongs together is checked
//! together.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::args::{CloudArgs, ControllerArgs, KubernetesArgs, LowArgs, NodeArgs};
use super::parse::address;
use super::{Cloud, Command, Config, ConfigError, Controller, Environment, Kubernetes, Mode, Node};
use crate::node::options::{Defaults, Toggle};

fn filled(text: String) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn wrong(flag: &str, value: &str, allowed: &str) -> ConfigError {
    ConfigError::Wrong(format!("invalid value '{value}' for '--{flag}': {allowed}"))
}

impl LowArgs {
    /// The second stage: what belongs together is checked together.
    pub(super) fn into_command(
        self,
        environment: &Environment,
        warnings: Vec<String>,
    ) -> Result<Command, ConfigError> {
        let driver = self.server.driver;
        if self.server.version {
            return Ok(Command::Version { driver });
        }
        let kubernetes = self.kubernetes.resolve();
        let node = self.node.resolve()?;
        let mode = mode(self.role, self.server.mode, &node)?;
        let metrics = listen("metrics-address", &self.server.metrics_address)?;
        let health = listen("health-address", &self.server.health_address)?;
        let registrar = self.registrar.resolve(&driver, &self.server.endpoint);
        let registrar = registrar.map_err(ConfigError::Wrong)?;
        if registrar.is_some() && !mode.has_node() {
            let text = "--built-in-registrar needs the node service: kubelet registers no other";
            return Err(ConfigError::Wrong(text.to_owned()));
        }
        Ok(Command::Serve(Box::new(Config {
            mode,
            driver,
            endpoint: self.server.endpoint,
            metrics,
            health,
            registrar,
            verbosity: self.server.verbosity,
            threads: usize::try_from(self.server.max_procs.clamp(1, 64)).unwrap_or(2),
            kubernetes,
            cloud: self.cloud.resolve(environment)?,
            controller: self.controller.resolve(),
            node,
            warnings,
        })))
    }
}

/// Where to listen, if anywhere.
fn listen(flag: &str, text: &str) -> Result<Option<SocketAddr>, ConfigError> {
    match text.trim() {
        "" => Ok(None),
        text => address(text)
            .map(Some)
            .map_err(|why| wrong(flag, text, &why)),
    }
}

/// The services to serve, from what may be given in two ways or not at all.
fn mode(role: Option<Mode>, flag: Option<Mode>, node: &Node) -> Result<Mode, ConfigError> {
    let named = !node.id.is_empty();
    let mode = match (role, flag) {
        (Some(role), Some(flag)) if role != flag => {
            let text = "the argument and --mode name different services: give only one of them";
            return Err(ConfigError::Wrong(text.to_owned()));
        }
        (Some(mode), _) | (None, Some(mode)) => mode,
        (None, None) if named => Mode::Node,
        (None, None) => Mode::Controller,
    };
    if mode.has_node() && !named {
        let text = "the node service needs the node's name: give --nodeid";
        return Err(ConfigError::Wrong(text.to_owned()));
    }
    Ok(mode)
}

impl KubernetesArgs {
    fn resolve(self) -> Kubernetes {
        Kubernetes {
            kubeconfig: filled(self.kubeconfig).map(PathBuf::from),
            qps: self.kube_api_qps,
            burst: self.kube_api_burst,
        }
    }
}

impl CloudArgs {
    fn resolve(self, environment: &Environment) -> Result<Cloud, ConfigError> {
        let secret = match (
            filled(self.cloud_config_secret_namespace),
            filled(self.cloud_config_secret_name),
        ) {
            // A file that is named on the command line is meant to be used.
            (Some(namespace), Some(name)) if self.cloud_config.is_none() => Some((namespace, name)),
            _ => None,
        };
        let env = &environment.cloud;
        let named = self.cloud_config.is_some() || env.credential_file.is_some();
        let file = self
            .cloud_config
            .unwrap_or_else(|| PathBuf::from(env.config_file()));
        Ok(Cloud {
            env: env.clone(),
            secret,
            file_is_named: named,
            file,
            allow_empty: self.allow_empty_cloud_config,
            user_agent: filled(self.custom_user_agent),
            user_agent_suffix: filled(self.user_agent_suffix),
            ca_bundle: self.ca_bundle,
            metadata_endpoint: self.metadata_endpoint,
        })
    }
}

impl ControllerArgs {
    fn resolve(self) -> Controller {
        let minutes = u64::from(self.skip_matching_tag_cache_expire_in_minutes);
        Controller {
            list_snapshots: self.enable_list_snapshots,
            delete_snapshots: self.delete_snapshots_with_share,
            full_retry: Duration::from_secs(minutes * 60),
        }
    }
}

const fn toggle(on: bool) -> Toggle {
    if on { Toggle::On } else { Toggle::Off }
}

impl NodeArgs {
    fn resolve(self) -> Result<Node, ConfigError> {
        let id = self.id.trim().to_owned();
        if !id.is_empty() && id.parse::<azcsi_types::node::NodeName>().is_err() {
            return Err(wrong("nodeid", &id, "expected the name of a node"));
        }
        Ok(Node {
            id,
            options: Defaults {
                own_connection: toggle(self.append_nosharesock_option),
                close_at_once: toggle(self.append_closetimeo_option),
                high_port: toggle(self.append_noresvport_option),
                cache_attributes: toggle(self.append_actimeo_option),
            },
            permissions: self.mount_permissions,
            group_change: self.fsgroup_change_policy,
            mount_group: self.enable_volume_mount_group,
            stats: self.enable_get_volume_stats,
            vhd: self.enable_vhd,
            inline_keys: self.allow_inline_volume_key_access_with_identity,
            inline_secrets: self.inline_volume_secret_authz,
            state_dir: self.state_dir,
            bind_for_tests: self.bind_for_tests,
        })
    }
}
