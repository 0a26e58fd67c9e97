//! The Node service: the kernel, no Azure credentials.
//!
//! | file | holds |
//! |---|---|
//! | [`service`] | the tonic trait, one line for each RPC |
//! | `get_info`, `stage`, `publish`, ... | one RPC each |
//! | [`identity`], [`stage_plan`], [`publish_plan`] | decisions: facts in, a verdict out |
//! | [`device`] | finding the device of a slot and proving which disk it is |
//! | [`machine`] | what the instance metadata and the Node object say |
//! | [`record`] | what survives a restart |
//! | [`health`] | what is wrong with a volume |
//! | [`limits`] | how many data disks a machine size takes |
//! | [`perf`] | queue settings for a performance profile |
//! | [`metrics`], [`notices`] | what is counted, and what users are told |

pub mod context;
pub mod device;
pub mod error;
pub mod expand;
pub mod get_capabilities;
pub mod get_info;
pub mod health;
pub mod identity;
pub mod limits;
pub mod machine;
pub mod metrics;
mod mounted;
pub mod notices;
pub mod perf;
pub mod publish;
pub mod publish_plan;
mod publish_request;
mod publish_target;
pub mod record;
pub mod service;
pub mod stage;
mod stage_content;
mod stage_disk;
pub mod stage_plan;
mod stage_request;
mod staged;
pub mod stats;
pub mod storage_health;
mod tune;
pub mod unpublish;
pub mod unstage;
pub mod volume;
pub mod volume_health;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azcsi_host::devices::Devices;
use azcsi_host::exec::Exec;
use azcsi_host::fsck::Fsck;
use azcsi_host::growfs::Grow;
use azcsi_host::mkfs::{Kernel, Mkfs, Slots};
use azcsi_host::mount::Mounter;
use azcsi_host::mountinfo::MountTable;
use azcsi_host::rescan::Rescan;
use azcsi_host::state::StateStore;
use azcsi_host::tools::Tools;
use azcsi_host::tune::Tune;
use azcsi_host::usage::UsageProbe;
use azcsi_host::{HostError, Roots};
use azcsi_types::clock::Clock;

use health::Book;
use identity::IdentityCheck;
use machine::{Machine, NodeLabels};
use metrics::NodeMetrics;
use record::Records;

use crate::notices::{Notices, Silent};

/// From this version on the kernel gives a clone of a mounted btrfs an identity of its own
/// (`temp_fsid`). Before, it may mount the one in place of the other.
const BTRFS_TWINS: Kernel = Kernel(6, 7);

/// How the node behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// The name that the cluster knows this node by (`nodeid`).
    pub node_id: String,
    /// Take the name from the instance metadata instead (`get-nodeid-from-imds`).
    pub id_from_metadata: bool,
    /// Take zone and size from the labels of the Node object (`get-node-info-from-labels`).
    pub info_from_labels: bool,
    /// Report zones (`support-zone`).
    pub zones: bool,
    /// Fixed number of volumes; `None` for the limit of the machine (`volume-attach-limit`).
    pub attach_limit: Option<u32>,
    /// Data disks of a machine size that is not in the table (`unknown-size-attach-limit`).
    pub unknown_size: u32,
    /// Slots that are kept free (`reserved-data-disk-slot-num`).
    pub reserved: u32,
    /// What to do when nobody can confirm a disk.
    pub identity: IdentityCheck,
    /// How long to wait for a device.
    pub device_wait: Duration,
    /// How long to wait for Azure's word, or for a new size.
    pub confirm_wait: Duration,
    /// Apply queue settings that a volume asks for (`enable-perf-optimization`).
    pub tune: bool,
    /// How many filesystems are made at once (`max-concurrent-format`,
    /// `concurrent-format-timeout`).
    pub formats: Slots,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            node_id: String::new(),
            id_from_metadata: false,
            info_from_labels: false,
            zones: true,
            attach_limit: None,
            unknown_size: limits::DEFAULT,
            reserved: 0,
            identity: IdentityCheck::default(),
            device_wait: Duration::from_secs(60),
            confirm_wait: Duration::from_secs(30),
            tune: false,
            formats: Slots {
                at_once: 2,
                patience: Duration::from_secs(300),
            },
        }
    }
}

/// What the node may do to its machine.
#[derive(Clone, Debug)]
pub struct Powers {
    /// Finding devices.
    pub devices: Devices,
    /// Asking the kernel to look for them.
    pub rescan: Rescan,
    /// Reading the mount table.
    pub table: MountTable,
    /// Mounting.
    pub mounter: Mounter,
    /// Making filesystems.
    pub mkfs: Mkfs,
    /// Checking them.
    pub fsck: Fsck,
    /// Growing them.
    pub grow: Grow,
    /// How full they are.
    pub usage: UsageProbe,
    /// Queue settings.
    pub tune: Tune,
    /// Which programs there are.
    pub tools: Tools,
    /// Whether the kernel tells two btrfs with the same UUID apart.
    pub tells_btrfs_twins: bool,
    /// Whether a mounted ext filesystem can grow.
    pub grows_mounted_ext: bool,
    /// Which boot this is.
    pub boot_id: String,
}

impl Powers {
    /// Everything, over one set of roots.
    #[must_use]
    pub fn new(roots: &Roots, clock: Arc<dyn Clock>, formats: Slots) -> Self {
        let exec = Exec::new(Arc::clone(&clock));
        let tools = Tools::look();
        let table = MountTable::new(roots);
        let boot = std::fs::read_to_string(roots.proc.join("sys/kernel/random/boot_id"));
        Self {
            devices: Devices::new(roots.clone()),
            rescan: Rescan::new(roots.clone()),
            mounter: Mounter::new(clock, table.clone()),
            table,
            mkfs: Mkfs::new(exec.clone(), tools.clone(), formats),
            fsck: Fsck::new(exec.clone(), tools.clone()),
            grow: Grow::new(exec, tools.clone()),
            usage: UsageProbe::default(),
            tune: Tune::new(roots.clone()),
            tools,
            tells_btrfs_twins: Kernel::running() >= BTRFS_TWINS,
            grows_mounted_ext: azcsi_host::growfs::may_grow_mounted_ext(roots),
            boot_id: boot.unwrap_or_default().trim().to_owned(),
        }
    }
}

/// The node.
#[derive(Debug)]
pub struct Node {
    pub(crate) config: NodeConfig,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) labels: Arc<dyn NodeLabels>,
    pub(crate) powers: Powers,
    pub(crate) records: Records,
    pub(crate) health: Book,
    pub(crate) notices: Arc<dyn Notices>,
    pub(crate) metrics: NodeMetrics,
}

impl Node {
    /// A node. `state` is where its records are kept; records of an earlier boot that left no mount
    /// are dropped.
    ///
    /// # Errors
    /// When the store or the mount table cannot be read.
    pub fn new(
        config: NodeConfig,
        clock: Arc<dyn Clock>,
        (machine, labels): (Arc<dyn Machine>, Arc<dyn NodeLabels>),
        powers: Powers,
        state: StateStore,
    ) -> Result<Self, HostError> {
        let table = powers.table.read()?;
        for (key, record) in state.all::<record::Record>()? {
            let path = std::path::Path::new(&record.staging_path);
            if record.mark.boot_id != powers.boot_id && table.top(path).is_none() {
                state.remove(&key)?;
            }
        }
        Ok(Self {
            config,
            clock,
            machine,
            labels,
            powers,
            records: Records::new(state),
            health: Book::default(),
            notices: Arc::new(Silent),
            metrics: NodeMetrics::default(),
        })
    }

    /// The same node, with somebody who is told, and with metrics that are shown.
    #[must_use]
    pub fn observed(self, notices: Arc<dyn Notices>, metrics: NodeMetrics) -> Self {
        Self {
            notices,
            metrics,
            ..self
        }
    }

    /// Seconds since 1970, for records.
    pub(crate) fn now(&self) -> u64 {
        self.clock
            .wall()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |time| time.as_secs())
    }

    /// Whether mount table and sysfs can be read: what Probe answers.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.powers.table.read().is_ok()
    }
}

#[cfg(test)]
pub(crate) mod tests;
