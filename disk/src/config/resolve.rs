//! From the flags as they were typed to what the program runs with: what belongs together is checked
//! together.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use azcsi_rpc::registrar::{Registrar, RegistrarArgs};

use super::args::{CloudArgs, ControllerArgs, KubernetesArgs, LowArgs, NodeArgs, ServerArgs};
use super::parse::{address, duration, sizes};
use super::{
    Cloud, Command, Config, ConfigError, Controller, Environment, Kubernetes, Mode, Node, PreStop,
    Taint,
};
use crate::controller::sku_migration::progress::Limits;

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
        mut warnings: Vec<String>,
    ) -> Result<Command, ConfigError> {
        let driver = self.server.driver.clone();
        if self.server.version {
            return Ok(Command::Version { driver });
        }
        let kubernetes = self.kubernetes.resolve();
        if self.server.pre_stop_hook {
            let name = environment
                .node_name
                .clone()
                .or_else(|| filled(self.node.id));
            let name = name.ok_or_else(|| {
                let text = "--pre-stop-hook needs the node's name in the variable KUBE_NODE_NAME";
                ConfigError::Wrong(text.to_owned())
            })?;
            return Ok(Command::PreStop(Box::new(PreStop {
                node: name
                    .parse()
                    .map_err(|_| wrong("nodeid", &name, "expected the name of a node"))?,
                driver,
                kubernetes,
                verbosity: self.server.verbosity,
            })));
        }
        let perf = self.node.enable_perf_optimization;
        let limits = limits(environment, &mut warnings);
        let resize = self.controller.enable_disk_online_resize;
        let node = self.node.resolve(resize)?;
        let mode = mode(self.role, self.server.mode, &node)?;
        let (metrics, health) = self.server.pages()?;
        let registrar = registrar(self.registrar, &self.server, mode)?;
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
            controller: self.controller.resolve(perf, limits),
            node,
            warnings,
        })))
    }
}

impl ServerArgs {
    /// Where to serve metrics and health, and where for the machine only.
    fn pages(&self) -> Result<(Option<SocketAddr>, Option<SocketAddr>), ConfigError> {
        Ok((
            listen("metrics-address", &self.metrics_address)?,
            listen("health-address", &self.health_address)?,
        ))
    }
}

/// The registration with kubelet, which knows nodes only.
fn registrar(
    args: RegistrarArgs,
    server: &ServerArgs,
    mode: Mode,
) -> Result<Option<Registrar>, ConfigError> {
    let registrar = args.resolve(&server.driver, &server.endpoint);
    let registrar = registrar.map_err(ConfigError::Wrong)?;
    if registrar.is_some() && !mode.has_node() {
        let text = "--built-in-registrar needs the node service: kubelet registers no other";
        return Err(ConfigError::Wrong(text.to_owned()));
    }
    Ok(registrar)
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
    let named = !node.id.is_empty() || node.id_from_metadata;
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
        let text =
            "the node service needs the node's name: give --nodeid or --get-nodeid-from-imds";
        return Err(ConfigError::Wrong(text.to_owned()));
    }
    Ok(mode)
}

/// Limits of conversions. The driver that this one replaces takes its own where the variables cannot
/// be read, so that is no reason not to start.
fn limits(environment: &Environment, warnings: &mut Vec<String>) -> Limits {
    let mut limits = Limits::default();
    if let Some(text) = &environment.migration_timeouts {
        match sizes(text) {
            Ok(wanted) => {
                for (bound, time) in wanted {
                    limits.by_size.retain(|(other, _)| *other != bound);
                    limits.by_size.push((bound, time));
                }
                limits.by_size.sort();
            }
            Err(why) => warnings.push(format!("MIGRATION_TIMEOUTS '{text}' is not used: {why}")),
        }
    }
    if let Some(text) = &environment.max_migration_timeout {
        match duration(text) {
            Ok(most) => limits.most = most,
            Err(why) => warnings.push(format!("MAX_MIGRATION_TIMEOUT '{text}' is not used: {why}")),
        }
    }
    limits
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
        let vm_type = filled(self.vm_type).map(|text| text.to_ascii_lowercase());
        if let Some(text) = &vm_type
            && !["vmss", "vmssflex", "standard"].contains(&text.as_str())
        {
            return Err(wrong(
                "vm-type",
                text,
                "expected vmss, vmssflex or standard",
            ));
        }
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
            vm_type,
            ca_bundle: self.ca_bundle,
            metadata_endpoint: self.metadata_endpoint,
            traffic_manager: self
                .enable_traffic_manager
                .then_some(self.traffic_manager_port),
        })
    }
}

impl ControllerArgs {
    fn resolve(self, perf_optimization: bool, limits: Limits) -> Controller {
        Controller {
            online_resize: self.enable_disk_online_resize,
            list_volumes: self.enable_list_volumes,
            list_snapshots: self.enable_list_snapshots,
            capacity_check: self.enable_disk_capacity_check,
            lun_collision: self.check_disk_lun_collision,
            wait_for_snapshot: self.wait_for_snapshot_ready,
            convert_caching: self.convert_caching,
            migration: self.enable_migration_monitor.then_some(limits),
            perf_optimization,
        }
    }
}

impl NodeArgs {
    fn resolve(self, online_resize: bool) -> Result<Node, ConfigError> {
        let id = self.id.trim().to_owned();
        if !id.is_empty() && id.parse::<azcsi_types::node::NodeName>().is_err() {
            return Err(wrong("nodeid", &id, "expected the name of a node"));
        }
        let seconds = |number: u32| Duration::from_secs(number.into());
        let taint = Taint {
            delay: seconds(self.taint_removal_initial_delay_seconds),
            forever: self.never_stop_taint_removal,
        };
        Ok(Node {
            id,
            id_from_metadata: self.id_from_metadata,
            attach_limit: self.volume_attach_limit,
            unknown_size_limit: self.unknown_size_attach_limit,
            reserved_slots: self.reserved_data_disk_slot_num,
            zones: self.support_zone,
            info_from_labels: self.get_node_info_from_labels,
            online_resize,
            perf_optimization: self.enable_perf_optimization,
            formats: match self.max_concurrent_format {
                0 => 2,
                number => number,
            },
            format_patience: seconds(self.concurrent_format_timeout),
            taint: self.remove_not_ready_taint.then_some(taint),
            device_root: self.device_root,
            sys_root: self.sys_root,
            state_dir: self.state_dir,
            identity: self.identity_check,
        })
    }
}
