//! Command line and environment, in two stages: what was typed ([`args::LowArgs`]), and what the
//! program runs with ([`Config`]). Both are pure; only [`Environment::of_process`] looks outside.
//!
//! | module | what it holds |
//! |---|---|
//! | [`args`] | every flag, one struct per topic |
//! | `resolve` | the second stage: what belongs together is checked together |
//! | [`parse`] | parsers of single values; each says what is allowed |
//! | [`retired`] | flags of the driver that this one replaces which have no meaning here |

pub mod args;
pub mod parse;
mod resolve;
pub mod retired;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use azcsi_cloud::config::Env;
use azcsi_rpc::Endpoint;
use azcsi_rpc::goflags::{KLOG, go_style, normalise};
use azcsi_rpc::registrar::Registrar;
use azcsi_types::node::NodeName;
use clap::{CommandFactory as _, FromArgMatches as _};

use crate::controller::sku_migration::progress::Limits;
use crate::node::identity::IdentityCheck;
use args::LowArgs;

/// Which services this process serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Identity and Controller.
    Controller,
    /// Identity and Node.
    Node,
    /// All three on one socket.
    All,
}

impl Mode {
    /// Whether the Controller service is served.
    #[must_use]
    pub const fn has_controller(self) -> bool {
        matches!(self, Self::Controller | Self::All)
    }

    /// Whether the Node service is served.
    #[must_use]
    pub const fn has_node(self) -> bool {
        matches!(self, Self::Node | Self::All)
    }
}

/// The variables of the environment that mean something.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// What overrides the cloud configuration, and its path.
    pub cloud: Env,
    /// `KUBE_NODE_NAME`: the node, for the pre-stop hook.
    pub node_name: Option<String>,
    /// `MIGRATION_TIMEOUTS`: how long conversions to Premium v2 should take, by size.
    pub migration_timeouts: Option<String>,
    /// `MAX_MIGRATION_TIMEOUT`: for how long one is watched at the most.
    pub max_migration_timeout: Option<String>,
}

impl Environment {
    /// Reads the variables with `lookup`; blank ones count as absent.
    #[must_use]
    pub fn of(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let filled = |name| {
            let text = lookup(name).map(|text| text.trim().to_owned());
            text.filter(|text| !text.is_empty())
        };
        Self {
            node_name: filled("KUBE_NODE_NAME"),
            migration_timeouts: filled("MIGRATION_TIMEOUTS"),
            max_migration_timeout: filled("MAX_MIGRATION_TIMEOUT"),
            cloud: Env::read(lookup),
        }
    }

    /// Reads the variables of this process.
    #[must_use]
    pub fn of_process() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this file owns the environment")]
        Self::of(|name| std::env::var(name).ok())
    }
}

/// The command line cannot be used, or asks for help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Something is wrong; one line that names the flag, the value and what is allowed.
    #[error("{0}")]
    Wrong(String),
    /// The help text was asked for.
    #[error("{0}")]
    Help(String),
}

/// What the process is to do.
#[derive(Clone, Debug)]
pub enum Command {
    /// Print the version and end.
    Version {
        /// The driver's name.
        driver: String,
    },
    /// Wait for a node that is being emptied, then end.
    PreStop(Box<PreStop>),
    /// Serve CSI.
    Serve(Box<Config>),
}

/// What the pre-stop hook needs.
#[derive(Clone, Debug)]
pub struct PreStop {
    /// The node.
    pub node: NodeName,
    /// The driver whose attachments count.
    pub driver: String,
    /// The connection to Kubernetes.
    pub kubernetes: Kubernetes,
    /// How loud the log is.
    pub verbosity: u8,
}

/// The connection to Kubernetes.
#[derive(Clone, Debug, PartialEq)]
pub struct Kubernetes {
    /// A kubeconfig file; without one, the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// Requests per second; 0 for no limit of our own.
    pub qps: f64,
    /// Requests at once.
    pub burst: u32,
}

/// Where the cloud configuration comes from, and what overrides it.
#[derive(Clone, Debug)]
pub struct Cloud {
    /// The environment's overrides.
    pub env: Env,
    /// Namespace and name of the Secret that is asked first.
    pub secret: Option<(String, String)>,
    /// The file that is read next.
    pub file: PathBuf,
    /// Whether the file was named by the user, so that its absence is an error.
    pub file_is_named: bool,
    /// Whether the process may run without any.
    pub allow_empty: bool,
    /// The whole user agent, if the user sets it.
    pub user_agent: Option<String>,
    /// What the user adds to the user agent.
    pub user_agent_suffix: Option<String>,
    /// `vmType`, if the user overrides it.
    pub vm_type: Option<String>,
    /// Certificates that are trusted besides the system's.
    pub ca_bundle: Option<PathBuf>,
    /// Base URL of the instance metadata service.
    pub metadata_endpoint: String,
    /// The port of a local proxy of Resource Manager.
    pub traffic_manager: Option<u16>,
}

/// Behaviour of the controller that can be switched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// Offer expansion of attached disks.
    pub online_resize: bool,
    /// Offer ListVolumes.
    pub list_volumes: bool,
    /// Offer ListSnapshots.
    pub list_snapshots: bool,
    /// Refuse an existing disk of another size.
    pub capacity_check: bool,
    /// Keep slots free that VolumeAttachments claim.
    pub lun_collision: bool,
    /// Answer a snapshot only when it is complete.
    pub wait_for_snapshot: bool,
    /// Give migrated volumes read-only caching instead of read-write.
    pub convert_caching: bool,
    /// Follow conversions to another SKU, within these limits; `None` not to.
    pub migration: Option<Limits>,
    /// Allow `perfProfile`.
    pub perf_optimization: bool,
}

/// Behaviour of the node that can be switched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The node's id; empty only when it is read from the metadata service.
    pub id: String,
    /// Read the id from the metadata service.
    pub id_from_metadata: bool,
    /// The limit of volumes; `None` to compute it.
    pub attach_limit: Option<u32>,
    /// The limit of a machine size that is not known.
    pub unknown_size_limit: u32,
    /// Slots that are not counted.
    pub reserved_slots: u32,
    /// Report zones.
    pub zones: bool,
    /// Zone and size from labels first.
    pub info_from_labels: bool,
    /// Grow mounted volumes.
    pub online_resize: bool,
    /// Tune queues.
    pub perf_optimization: bool,
    /// Filesystems that are created at once.
    pub formats: u32,
    /// When a slow mkfs gives back its slot.
    pub format_patience: Duration,
    /// Removal of the not-ready taint; `None` to leave it.
    pub taint: Option<Taint>,
    /// Where `/dev` is.
    pub device_root: PathBuf,
    /// Where `/sys` is.
    pub sys_root: PathBuf,
    /// Where staged volumes are remembered.
    pub state_dir: PathBuf,
    /// How much proof of identity is wanted.
    pub identity: IdentityCheck,
}

/// Removal of the not-ready taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Time before the first look.
    pub delay: Duration,
    /// Go on for ever.
    pub forever: bool,
}

/// What the program runs with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which services are served.
    pub mode: Mode,
    /// The driver's name.
    pub driver: String,
    /// Where CSI is served.
    pub endpoint: Endpoint,
    /// Where `/metrics` and `/healthz` are served.
    pub metrics: Option<SocketAddr>,
    /// Where they are served too, for probes of the machine.
    pub health: Option<SocketAddr>,
    /// How the driver registers itself with kubelet; `None` to leave that to a sidecar.
    pub registrar: Option<Registrar>,
    /// How loud the log is.
    pub verbosity: u8,
    /// Threads of the controller.
    pub threads: usize,
    /// The connection to Kubernetes.
    pub kubernetes: Kubernetes,
    /// The connection to Azure.
    pub cloud: Cloud,
    /// The controller.
    pub controller: Controller,
    /// The node.
    pub node: Node,
    /// To be logged once logging works.
    pub warnings: Vec<String>,
}

/// Reads a command line, the program's name included.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Command, ConfigError> {
    let command = go_style(LowArgs::command());
    let retired: Vec<_> = KLOG.into_iter().chain(retired::RETIRED).collect();
    let normal = normalise(&command, &retired, args);
    let matches = command
        .try_get_matches_from(normal.args)
        .map_err(|e| plain(&e))?;
    let low = LowArgs::from_arg_matches(&matches).map_err(|e| plain(&e))?;
    low.into_command(environment, normal.warnings)
}

/// Clap's error as one line.
fn plain(error: &clap::Error) -> ConfigError {
    let text = error.to_string();
    if matches!(
        error.kind(),
        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
    ) {
        return ConfigError::Help(text);
    }
    if error.kind() == clap::error::ErrorKind::UnknownArgument {
        return ConfigError::Wrong(unknown(error));
    }
    let lines = text.lines().map(str::trim).take_while(|line| {
        !line.starts_with("Usage:") && !line.starts_with("For more information")
    });
    let line = lines.collect::<Vec<_>>().join(" ");
    let line = line.trim().trim_start_matches("error: ");
    ConfigError::Wrong(line.to_owned())
}

/// What to do about a flag, or a word, that there is not.
fn unknown(error: &clap::Error) -> String {
    use clap::error::{ContextKind, ContextValue};
    let what = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let Some(flag) = what.strip_prefix("--") else {
        return format!("there is no argument '{what}': leave it out, or see --help");
    };
    let command = LowArgs::command();
    let flags: Vec<&str> = command
        .get_arguments()
        .filter_map(clap::Arg::get_long)
        .collect();
    let remedy = azcsi_types::params::nearest(flag, &flags).map_or_else(
        || "leave it out".to_owned(),
        |near| format!("use '--{near}'"),
    );
    format!("there is no flag '{what}': {remedy}, or see --help for all that there are")
}

#[cfg(test)]
mod tests;
