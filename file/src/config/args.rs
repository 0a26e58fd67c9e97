//! Every flag, one struct per topic, with the defaults of the driver that this one replaces.

use std::path::PathBuf;

use azcsi_cloud::environment::IMDS;
use azcsi_rpc::Endpoint;
use azcsi_rpc::registrar::RegistrarArgs;
use azcsi_types::keys::FILE_DRIVER;
use clap::{ArgAction, Args, Parser};

use super::Mode;
use super::parse::{change, driver, header, inline, mode_bits, rate, url, verbosity, whole};
use crate::model::volume_context::GroupChange;
use crate::node::InlineSecrets;

/// Below the folder that kubelet mounts for the plugin's socket.
const STATE: &str = "/csi/state";

/// What was typed.
#[derive(Debug, Parser)]
#[command(
    name = "azurefile-csi",
    about = "Azure File CSI driver",
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
    #[arg(long = "drivername", default_value = FILE_DRIVER, value_parser = driver, value_name = "NAME")]
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
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Kubernetes")]
pub(super) struct KubernetesArgs {
    /// Kubeconfig file; without one, the service account of the pod.
    #[arg(long, default_value = "", value_name = "PATH")]
    pub(super) kubeconfig: String,
    /// Requests per second to the API server; 0 for no limit.
    #[arg(long, default_value = "25", value_parser = rate, value_name = "N")]
    pub(super) kube_api_qps: f64,
    /// Requests at once to the API server.
    #[arg(long, default_value = "50", value_parser = whole, value_name = "N")]
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
    /// Offer ListSnapshots.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) enable_list_snapshots: bool,
    /// Delete a share's snapshots with it. Without it a share that has snapshots is not deleted.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) delete_snapshots_with_share: bool,
    /// Minutes after which a full account is tried again.
    #[arg(long, default_value = "30", value_parser = whole, value_name = "MINUTES")]
    pub(super) skip_matching_tag_cache_expire_in_minutes: u32,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Node")]
pub(super) struct NodeArgs {
    /// Name of the node.
    #[arg(long = "nodeid", default_value = "", value_name = "NAME")]
    pub(super) id: String,
    /// Mount filesystems in files on shares.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) enable_vhd: bool,
    /// Give a volume's files the group that kubelet asks for.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) enable_volume_mount_group: bool,
    /// Answer NodeGetVolumeStats.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) enable_get_volume_stats: bool,
    /// Mode of a fresh NFS mount's root, in octal; 0 leaves it.
    #[arg(long, default_value = "0777", value_parser = mode_bits, value_name = "MODE")]
    pub(super) mount_permissions: u32,
    /// When the group of everything in a volume is changed: None, Always or OnRootMismatch.
    #[arg(long, default_value = "", value_parser = change, value_name = "WHEN")]
    pub(super) fsgroup_change_policy: GroupChange,
    /// SMB: a connection of its own for each mount.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) append_nosharesock_option: bool,
    /// SMB: close files at once.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) append_closetimeo_option: bool,
    /// NFS: a port above 1023.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) append_noresvport_option: bool,
    /// NFS: attributes may be 30 seconds old.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(super) append_actimeo_option: bool,
    /// Let inline volumes use a key that the node's identity gets.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub(super) allow_inline_volume_key_access_with_identity: bool,
    /// Whether a pod must be allowed to read the Secret of its inline volume: off, warn or enforce.
    #[arg(long, default_value = "off", value_parser = inline, value_name = "HOW")]
    pub(super) inline_volume_secret_authz: InlineSecrets,
    /// Where to remember mounted volumes.
    #[arg(long, default_value = STATE, value_name = "PATH")]
    pub(super) state_dir: PathBuf,
    /// For tests only: a folder whose folders stand for shares, which are bind-mounted.
    #[arg(long, value_name = "PATH")]
    pub(super) bind_for_tests: Option<PathBuf>,
}

fn default_endpoint() -> Endpoint {
    Endpoint::Unix(std::env::temp_dir().join("csi.sock"))
}
