//! Every flag, one struct per topic, with the defaults of the driver that this one replaces.

use std::path::PathBuf;
use std::time::Duration;

use azcsi_cloud::environment::IMDS;
use azcsi_rpc::Endpoint;
use azcsi_types::keys::DISK_DRIVER;
use clap::{ArgAction, Args, Parser};

use super::parse::{address, driver, header, limit, port, rate, url, verbosity, whole};
use super::{
    Cloud, Command, Config, ConfigError, Controller, Environment, Kubernetes, Mode, Node, PreStop,
    Taint,
};
use crate::node::identity::IdentityCheck;

/// Below the folder that kubelet mounts for the plugin's socket.
const STATE: &str = "/csi/state";

/// What was typed.
#[derive(Debug, Parser)]
#[command(
    name = "azuredisk-csi",
    about = "Azure Disk CSI driver",
    disable_version_flag = true
)]
pub struct LowArgs {
    /// Same as --mode.
    #[arg(value_name = "MODE")]
    role: Option<Mode>,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    kubernetes: KubernetesArgs,
    #[command(flatten)]
    cloud: CloudArgs,
    #[command(flatten)]
    controller: ControllerArgs,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Process")]
struct ServerArgs {
    /// Services to serve: controller, node or all; by default node when --nodeid is given, else
    /// controller.
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,
    /// Where to serve CSI: unix://path or tcp://host:port.
    #[arg(long, default_value_t = default_endpoint(), value_name = "URL")]
    endpoint: Endpoint,
    /// Name of the driver.
    #[arg(long = "drivername", default_value = DISK_DRIVER, value_parser = driver, value_name = "NAME")]
    driver: String,
    /// Where to serve /metrics and /healthz; empty to serve neither.
    #[arg(long, default_value = "", value_name = "HOST:PORT")]
    metrics_address: String,
    /// How loud the log is, 0 to 10.
    #[arg(long = "v", default_value = "2", value_parser = verbosity, value_name = "N")]
    verbosity: u8,
    /// Threads of the controller.
    #[arg(long, default_value = "2", value_parser = whole, value_name = "N")]
    max_procs: u32,
    /// Print the version and end.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    version: bool,
    /// Wait until a node that is being emptied has no disks attached, and end.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pre_stop_hook: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Kubernetes")]
struct KubernetesArgs {
    /// Kubeconfig file; without one, the service account of the pod.
    #[arg(long, default_value = "", value_name = "PATH")]
    kubeconfig: String,
    /// Requests per second to the API server; 0 for no limit.
    #[arg(long, default_value = "0", value_parser = rate, value_name = "N")]
    kube_api_qps: f64,
    /// Requests at once to the API server.
    #[arg(long, default_value = "0", value_parser = whole, value_name = "N")]
    kube_api_burst: u32,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Azure")]
struct CloudArgs {
    /// Secret with the cloud configuration; empty for none.
    #[arg(long, default_value = "azure-cloud-provider", value_name = "NAME")]
    cloud_config_secret_name: String,
    /// Namespace of that Secret; empty for none.
    #[arg(long, default_value = "kube-system", value_name = "NAME")]
    cloud_config_secret_namespace: String,
    /// File with the cloud configuration, instead of the Secret.
    #[arg(long, value_name = "PATH")]
    cloud_config: Option<PathBuf>,
    /// Run without a cloud configuration when there is none.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    allow_empty_cloud_config: bool,
    /// The whole user agent of requests to Azure.
    #[arg(long, default_value = "", value_parser = header, value_name = "TEXT")]
    custom_user_agent: String,
    /// What to add to the user agent.
    #[arg(long, default_value = "", value_parser = header, value_name = "TEXT")]
    user_agent_suffix: String,
    /// Overrides vmType of the cloud configuration: vmss, vmssflex or standard.
    #[arg(long, default_value = "", value_name = "TYPE")]
    vm_type: String,
    /// Send requests to Resource Manager through a local proxy.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    enable_traffic_manager: bool,
    /// Port of that proxy.
    #[arg(long, default_value = "7788", value_parser = port, value_name = "PORT")]
    traffic_manager_port: u16,
    /// Base URL of the instance metadata service.
    #[arg(long, default_value = IMDS, value_parser = url, value_name = "URL")]
    metadata_endpoint: String,
    /// PEM file with certificates to trust besides the system's.
    #[arg(long, value_name = "PATH")]
    ca_bundle: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Controller")]
struct ControllerArgs {
    /// Grow disks that are attached.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    enable_disk_online_resize: bool,
    /// Offer ListVolumes.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    enable_list_volumes: bool,
    /// Offer ListSnapshots.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    enable_list_snapshots: bool,
    /// Without effect: an existing disk of another size is always refused.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    enable_disk_capacity_check: bool,
    /// Keep slots free that VolumeAttachments claim.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    check_disk_lun_collision: bool,
    /// Answer a snapshot only when it is complete.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    wait_for_snapshot_ready: bool,
    /// Give migrated volumes read-only caching instead of read-write.
    #[arg(long = "convert-rw-caching-mode-for-intree-pv", default_value_t = false, action = ArgAction::Set)]
    convert_caching: bool,
    /// Without effect so far: follow conversions to another SKU and report them as events.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    enable_migration_monitor: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Node")]
struct NodeArgs {
    /// Name of the node.
    #[arg(long = "nodeid", default_value = "", value_name = "NAME")]
    id: String,
    /// Read the node's name from the metadata service.
    #[arg(long = "get-nodeid-from-imds", default_value_t = false, action = ArgAction::Set)]
    id_from_metadata: bool,
    /// Volumes per node; below 0 it is computed from the machine size.
    #[arg(long, default_value = "-1", value_parser = limit, allow_negative_numbers = true, value_name = "N")]
    volume_attach_limit: std::option::Option<u32>,
    /// Slots to leave to others.
    #[arg(long, default_value = "0", value_parser = whole, value_name = "N")]
    reserved_data_disk_slot_num: u32,
    /// Report the zone.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    support_zone: bool,
    /// Zone and machine size from the labels of the node.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    get_node_info_from_labels: bool,
    /// Tune device queues as perfProfile asks.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    enable_perf_optimization: bool,
    /// Filesystems that are created at once; 0 for 2.
    #[arg(long, default_value = "2", value_parser = whole, value_name = "N")]
    max_concurrent_format: u32,
    /// Seconds after which a slow mkfs gives back its place and goes on.
    #[arg(long, default_value = "300", value_parser = whole, value_name = "SECONDS")]
    concurrent_format_timeout: u32,
    /// Remove the taint `<driver>/agent-not-ready` once the driver is registered.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    remove_not_ready_taint: bool,
    /// Go on looking for that taint.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    never_stop_taint_removal: bool,
    /// Seconds before the first look.
    #[arg(long, default_value = "30", value_parser = whole, value_name = "SECONDS")]
    taint_removal_initial_delay_seconds: u32,
    /// Where the devices are.
    #[arg(long, default_value = "/dev", value_name = "PATH")]
    device_root: PathBuf,
    /// Where sysfs is.
    #[arg(long, default_value = "/sys", value_name = "PATH")]
    sys_root: PathBuf,
    /// Where to remember staged volumes.
    #[arg(long, default_value = STATE, value_name = "PATH")]
    state_dir: PathBuf,
    /// How much proof of a disk's identity is wanted: strict or compat.
    #[arg(long, default_value = "compat", value_name = "HOW")]
    identity_check: IdentityCheck,
}

fn default_endpoint() -> Endpoint {
    Endpoint::Unix(std::env::temp_dir().join("csi.sock"))
}

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
        let resize = self.controller.enable_disk_online_resize;
        let node = self.node.resolve(resize)?;
        let mode = mode(self.role, self.server.mode, &node)?;
        let metrics = match self.server.metrics_address.trim() {
            "" => None,
            text => Some(address(text).map_err(|why| wrong("metrics-address", text, &why))?),
        };
        Ok(Command::Serve(Box::new(Config {
            mode,
            driver,
            endpoint: self.server.endpoint,
            metrics,
            verbosity: self.server.verbosity,
            threads: usize::try_from(self.server.max_procs.clamp(1, 64)).unwrap_or(2),
            kubernetes,
            cloud: self.cloud.resolve(environment)?,
            controller: self.controller.resolve(perf),
            node,
            warnings,
        })))
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
    fn resolve(self, perf_optimization: bool) -> Controller {
        Controller {
            online_resize: self.enable_disk_online_resize,
            list_volumes: self.enable_list_volumes,
            list_snapshots: self.enable_list_snapshots,
            capacity_check: self.enable_disk_capacity_check,
            lun_collision: self.check_disk_lun_collision,
            wait_for_snapshot: self.wait_for_snapshot_ready,
            convert_caching: self.convert_caching,
            migration_monitor: self.enable_migration_monitor,
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
