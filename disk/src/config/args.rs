//! Every flag, one struct per topic, with the defaults of the driver that this one replaces.

use std::path::PathBuf;

use azcsi_cloud::environment::IMDS;
use azcsi_rpc::Endpoint;
use azcsi_rpc::registrar::RegistrarArgs;
use azcsi_types::keys::DISK_DRIVER;
use clap::{ArgAction, Args, Parser};

use super::Mode;
use super::parse::{driver, header, limit, port, rate, url, verbosity, whole};
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
    pub(super) role: Option<Mode>,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    pub(super) kubernetes: KubernetesArgs,
    #[command(flatten)]
    pub(super) cloud: CloudArgs,
    #[command(flatten)]
    pub(super) controller: ControllerArgs,
    #[command(flatten)]
    pub(super) node: NodeArgs,
    #[command(flatten)]
    pub(super) registrar: RegistrarArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Process")]
pub(super) struct ServerArgs {
    /// Services to serve: controller, node or all; by default node when --nodeid is given, else
    /// controller.
    #[arg(long, value_name = "MODE")]
    pub(super) mode: Option<Mode>,
    /// Where to serve CSI: unix://path or tcp://host:port.
    #[arg(long, default_value_t = default_endpoint(), value_name = "URL")]
    pub(super) endpoint: Endpoint,
    /// Name of the driver.
    #[arg(long = "drivername", default_value = DISK_DRIVER, value_parser = driver, value_name = "NAME")]
    pub(super) driver: String,
    /// Where to serve /metrics and /healthz; empty to serve neither.
    #[arg(long, default_value = "", value_name = "HOST:PORT")]
    pub(super) metrics_address: String,
    /// Where to serve them too, for probes of the machine only; empty not to.
    #[arg(long, default_value = "", value_name = "HOST:PORT")]
    pub(super) health_address: String,
    /// How loud the log is, 0 to 10.
    #[arg(long = "v", default_value = "2", value_parser = verbosity, value_name = "N")]
    pub(super) verbosity: u8,
    /// Threads of the controller.
    #[arg(long, default_value = "2", value_parser = whole, value_name = "N")]
    pub(super) max_procs: u32,
    /// Print the version and end.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) version: bool,
    /// Wait until a node that is being emptied has no disks attached, and end.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) pre_stop_hook: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Kubernetes")]
pub(super) struct KubernetesArgs {
    /// Kubeconfig file; without one, the service account of the pod.
    #[arg(long, default_value = "", value_name = "PATH")]
    pub(super) kubeconfig: String,
    /// Requests per second to the API server; 0 for no limit.
    #[arg(long, default_value = "0", value_parser = rate, value_name = "N")]
    pub(super) kube_api_qps: f64,
    /// Requests at once to the API server.
    #[arg(long, default_value = "0", value_parser = whole, value_name = "N")]
    pub(super) kube_api_burst: u32,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Azure")]
pub(super) struct CloudArgs {
    /// Secret with the cloud configuration; empty for none.
    #[arg(long, default_value = "azure-cloud-provider", value_name = "NAME")]
    pub(super) cloud_config_secret_name: String,
    /// Namespace of that Secret; empty for none.
    #[arg(long, default_value = "kube-system", value_name = "NAME")]
    pub(super) cloud_config_secret_namespace: String,
    /// File with the cloud configuration, instead of the Secret.
    #[arg(long, value_name = "PATH")]
    pub(super) cloud_config: Option<PathBuf>,
    /// Run without a cloud configuration when there is none.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) allow_empty_cloud_config: bool,
    /// The whole user agent of requests to Azure.
    #[arg(long, default_value = "", value_parser = header, value_name = "TEXT")]
    pub(super) custom_user_agent: String,
    /// What to add to the user agent.
    #[arg(long, default_value = "", value_parser = header, value_name = "TEXT")]
    pub(super) user_agent_suffix: String,
    /// Overrides vmType of the cloud configuration: vmss, vmssflex or standard.
    #[arg(long, default_value = "", value_name = "TYPE")]
    pub(super) vm_type: String,
    /// Send requests to Resource Manager through a local proxy.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) enable_traffic_manager: bool,
    /// Port of that proxy.
    #[arg(long, default_value = "7788", value_parser = port, value_name = "PORT")]
    pub(super) traffic_manager_port: u16,
    /// Base URL of the instance metadata service.
    #[arg(long, default_value = IMDS, value_parser = url, value_name = "URL")]
    pub(super) metadata_endpoint: String,
    /// PEM file with certificates to trust besides the system's.
    #[arg(long, value_name = "PATH")]
    pub(super) ca_bundle: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Controller")]
pub(super) struct ControllerArgs {
    /// Grow disks that are attached.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) enable_disk_online_resize: bool,
    /// Offer ListVolumes.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) enable_list_volumes: bool,
    /// Offer ListSnapshots.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) enable_list_snapshots: bool,
    /// Without effect: an existing disk of another size is always refused.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) enable_disk_capacity_check: bool,
    /// Keep slots free that VolumeAttachments claim.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) check_disk_lun_collision: bool,
    /// Answer a snapshot only when it is complete.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) wait_for_snapshot_ready: bool,
    /// Give migrated volumes read-only caching instead of read-write.
    #[arg(long = "convert-rw-caching-mode-for-intree-pv", default_value_t = false, action = ArgAction::Set)]
    pub(super) convert_caching: bool,
    /// Follow conversions to Premium v2 and report them as events.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) enable_migration_monitor: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Node")]
pub(super) struct NodeArgs {
    /// Name of the node.
    #[arg(long = "nodeid", default_value = "", value_name = "NAME")]
    pub(super) id: String,
    /// Read the node's name from the metadata service.
    #[arg(long = "get-nodeid-from-imds", default_value_t = false, action = ArgAction::Set)]
    pub(super) id_from_metadata: bool,
    /// Volumes per node; below 0 it is computed from the machine size.
    #[arg(long, default_value = "-1", value_parser = limit, allow_negative_numbers = true, value_name = "N")]
    pub(super) volume_attach_limit: std::option::Option<u32>,
    /// Data disks of a machine whose size the driver does not know.
    #[arg(long, default_value = "16", value_parser = whole, value_name = "N")]
    pub(super) unknown_size_attach_limit: u32,
    /// Slots to leave to others.
    #[arg(long, default_value = "0", value_parser = whole, value_name = "N")]
    pub(super) reserved_data_disk_slot_num: u32,
    /// Report the zone.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) support_zone: bool,
    /// Zone and machine size from the labels of the node.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) get_node_info_from_labels: bool,
    /// Tune device queues as perfProfile asks.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) enable_perf_optimization: bool,
    /// Filesystems that are created at once; 0 for 2.
    #[arg(long, default_value = "2", value_parser = whole, value_name = "N")]
    pub(super) max_concurrent_format: u32,
    /// Seconds after which a slow mkfs gives back its place and goes on.
    #[arg(long, default_value = "300", value_parser = whole, value_name = "SECONDS")]
    pub(super) concurrent_format_timeout: u32,
    /// Remove the taint `<driver>/agent-not-ready` once the driver is registered.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) remove_not_ready_taint: bool,
    /// Go on looking for that taint.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) never_stop_taint_removal: bool,
    /// Seconds before the first look.
    #[arg(long, default_value = "30", value_parser = whole, value_name = "SECONDS")]
    pub(super) taint_removal_initial_delay_seconds: u32,
    /// Where the devices are.
    #[arg(long, default_value = "/dev", value_name = "PATH")]
    pub(super) device_root: PathBuf,
    /// Where sysfs is.
    #[arg(long, default_value = "/sys", value_name = "PATH")]
    pub(super) sys_root: PathBuf,
    /// Where to remember staged volumes.
    #[arg(long, default_value = STATE, value_name = "PATH")]
    pub(super) state_dir: PathBuf,
    /// How much proof of a disk's identity is wanted: strict or compat.
    #[arg(long, default_value = "compat", value_name = "HOW")]
    pub(super) identity_check: IdentityCheck,
}

fn default_endpoint() -> Endpoint {
    Endpoint::Unix(std::env::temp_dir().join("csi.sock"))
}
