//! The Node service: mounts, and only the credentials that a volume's mount needs.
//!
//! | file | holds |
//! |---|---|
//! | [`service`] | the tonic trait, one line for each RPC |
//! | `get_info`, `stage`, `publish`, ... | one RPC each |
//! | [`share`], [`credentials`], [`options`], [`inline`], [`stage_plan`], [`cause`] | decisions: facts in, a verdict out |
//! | `connect`, `login`, `diagnose` | carrying a mount out, and finding why it failed |
//! | `tickets` | Kerberos tickets, one cache for each volume |
//! | [`ports`], [`azure`] | what is asked of Kubernetes and Azure, and who answers |
//! | [`tunnel`] | NFS through TLS |
//! | [`keys`] | fetched keys, kept for a short time |
//! | [`record`] | what survives a restart |
//! | [`health`] | what is wrong with a volume |
//! | `ownership` | the group and mode of what NFS and disks in files hold |

pub mod azure;
pub mod cause;
mod connect;
pub mod credentials;
mod diagnose;
pub mod error;
pub mod expand;
pub mod get_capabilities;
pub mod get_info;
pub mod health;
pub mod inline;
pub mod keys;
mod login;
mod mounted;
pub mod options;
mod ownership;
pub mod ports;
pub mod publish;
mod publish_direct;
pub mod record;
pub mod service;
pub mod share;
pub mod stage;
pub mod stage_plan;
pub mod stats;
pub mod storage_health;
mod tickets;
pub mod tunnel;
pub mod unpublish;
pub mod unstage;
mod vhd;
pub mod volume_health;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azcsi_host::Roots;
use azcsi_host::exec::Exec;
use azcsi_host::mount::Mounter;
use azcsi_host::mountinfo::MountTable;
use azcsi_host::shares::{BindForTests, KernelShares, ShareMounter};
use azcsi_host::state::StateStore;
use azcsi_host::usage::UsageProbe;
use azcsi_host::worker::Workers;
use azcsi_types::clock::Clock;

use health::Book;
use inline::NodeKeys;
use keys::Keys;
use options::Defaults;
use ports::Ports;
use record::Records;
use tunnel::Tunnels;

use crate::model::volume_context::GroupChange;

/// How the node behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// The name that the cluster knows this node by (`nodeid`).
    pub node_id: String,
    /// How many volumes the node takes; 0 for no limit.
    pub volumes: u32,
    /// The suffix of storage hosts in this cloud, without `file`.
    pub suffix: String,
    /// Default mount options.
    pub options: Defaults,
    /// The mode of a fresh NFS mount's root; 0 leaves it (`mount-permissions`).
    pub permissions: u32,
    /// When the group of everything is changed (`fsgroup-change-policy`).
    pub group_change: GroupChange,
    /// Heed `volume_mount_group` (`enable-volume-mount-group`).
    pub mount_group: bool,
    /// Answer NodeGetVolumeStats (`enable-get-volume-stats`).
    pub stats: bool,
    /// Mount filesystems in files on shares (`enable-vhd`).
    pub vhd: bool,
    /// What inline volumes may use.
    pub inline_keys: NodeKeys,
    /// Whether a pod must be allowed to read the Secret of its inline volume.
    pub inline_secrets: InlineSecrets,
    /// The user-assigned identity of the node, from the cloud configuration.
    pub own_identity: Option<String>,
    /// Longest time of one mount.
    pub mount_wait: Duration,
    /// Where ticket caches are: the place that the node's Kerberos configuration names.
    pub tickets: PathBuf,
}

/// What is asked before a Secret is read for an inline volume (`inline-volume-secret-authz`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlineSecrets {
    /// Nothing.
    Off,
    /// Whether the pod's service account may read it; a no is only logged.
    Warn,
    /// The same; a no is an error.
    Enforce,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            node_id: String::new(),
            volumes: 0,
            suffix: "core.windows.net".to_owned(),
            options: Defaults::default(),
            permissions: 0o777,
            group_change: GroupChange::OnRootMismatch,
            mount_group: true,
            stats: true,
            vhd: true,
            inline_keys: NodeKeys::Denied,
            inline_secrets: InlineSecrets::Off,
            own_identity: None,
            mount_wait: Duration::from_secs(90),
            tickets: PathBuf::from("/var/lib/kubelet/kerberos"),
        }
    }
}

/// What the node may do to its machine.
#[derive(Clone, Debug)]
pub struct Powers {
    /// Reading the mount table.
    pub table: MountTable,
    /// Binds and unmounts.
    pub mounter: Mounter,
    /// Mounting shares.
    pub shares: Arc<dyn ShareMounter>,
    /// How full a share is.
    pub usage: UsageProbe,
    /// Starting programs; only for filesystems in files.
    pub exec: Exec,
    /// Whether the kernel allows only algorithms of FIPS 140.
    pub is_fips: bool,
}

impl Powers {
    /// Everything, over one set of roots, with the kernel's own network filesystems.
    #[must_use]
    pub fn new(roots: &Roots, clock: Arc<dyn Clock>) -> Self {
        let table = MountTable::new(roots);
        let fips = std::fs::read_to_string(roots.proc.join("sys/crypto/fips_enabled"));
        Self {
            mounter: Mounter::new(Arc::clone(&clock), table.clone()),
            table,
            shares: Arc::new(KernelShares::new(Arc::clone(&clock))),
            usage: UsageProbe::default(),
            exec: Exec::new(clock),
            is_fips: fips.is_ok_and(|text| text.trim() == "1"),
        }
    }
}

impl Powers {
    /// The same, on a kernel without network filesystems: shares are folders below `folder`, and
    /// their mounts are binds. For tests and for the simulator only.
    #[must_use]
    pub fn bind_for_tests(self, folder: PathBuf) -> Self {
        let shares = BindForTests::new(self.mounter.clone(), folder);
        Self {
            shares: Arc::new(shares),
            ..self
        }
    }
}

/// The node.
#[derive(Debug)]
pub struct Node {
    pub(crate) config: NodeConfig,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ports: Arc<dyn Ports>,
    pub(crate) powers: Powers,
    pub(crate) records: Records,
    pub(crate) keys: Keys,
    pub(crate) health: Book,
    pub(crate) walks: Workers,
    pub(crate) tunnels: Option<Tunnels>,
    pub(crate) nfs_clients: PathBuf,
}

impl Node {
    /// A node. `state` is where its records are kept.
    #[must_use]
    pub fn new(
        config: NodeConfig,
        clock: Arc<dyn Clock>,
        ports: Arc<dyn Ports>,
        powers: Powers,
        state: StateStore,
    ) -> Self {
        Self {
            config,
            clock,
            ports,
            powers,
            records: Records::new(state),
            keys: Keys::default(),
            health: Book::default(),
            walks: Workers::default(),
            tunnels: None,
            nfs_clients: PathBuf::from("/proc/fs/nfsfs/servers"),
        }
    }

    /// The same node, with tunnels for NFS through TLS. Those that mounts of an earlier process need
    /// are opened again.
    pub async fn with_tunnels(self, tunnels: Tunnels) -> Self {
        tunnels.resume().await;
        Self {
            tunnels: Some(tunnels),
            ..self
        }
    }

    /// Closes the tunnels that nothing uses any more.
    pub(crate) fn sweep_tunnels(&self) {
        let (Some(tunnels), Ok(table)) = (&self.tunnels, self.powers.table.read()) else {
            return;
        };
        let clients = std::fs::read_to_string(&self.nfs_clients).unwrap_or_default();
        tunnels.sweep(&table, &clients);
    }

    /// Seconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.clock
            .wall()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |time| time.as_secs())
    }

    /// Whether the mount table can be read: what Probe answers.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.powers.table.read().is_ok()
    }
}

#[cfg(test)]
pub(crate) mod tests;
