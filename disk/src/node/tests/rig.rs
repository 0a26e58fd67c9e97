//! One node with its own device root, and an Azure of which only the metadata are seen.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azcsi_host::Roots;
use azcsi_host::state::StateStore;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Dispatcher, Limits, SystemClock};
use azcsi_types::clock::Clock;
use azcsi_types::lun::Lun;
use futures_util::future::BoxFuture;
use tonic::{Code, Status};
use v1::volume_capability::{AccessMode, AccessType, BlockVolume, MountVolume, access_mode::Mode};

use super::support::{Loop, need_root};
use crate::node::machine::{Look, Machine, MachineFacts, NoLabels, Unanswered};
use crate::node::metrics::NodeMetrics;
use crate::node::record::{Record, Records};
use crate::node::service::NodeService;
use crate::node::volume::VolumeKey;
use crate::node::{Node, NodeConfig, Powers};
use crate::notices::{Notice, Notices, Subject};

pub(super) const MIB: u64 = 1024 * 1024;

/// The metadata service: `None` is silence.
#[derive(Debug, Default)]
pub(super) struct Metadata(Mutex<Option<MachineFacts>>);

impl Metadata {
    pub(super) fn silence(&self) {
        *self.0.lock().unwrap() = None;
    }

    pub(super) fn put(&self, lun: i64, id: &str) {
        let mut facts = self.0.lock().unwrap();
        let disks = &mut facts.get_or_insert_default().disks;
        disks.insert(Lun::try_from(lun).unwrap(), Some(id.parse().unwrap()));
    }

    pub(super) fn clear(&self) {
        *self.0.lock().unwrap() = Some(MachineFacts::default());
    }
}

impl Machine for Metadata {
    fn facts(&self, _: Look) -> BoxFuture<'_, Result<Arc<MachineFacts>, Unanswered>> {
        let facts = self.0.lock().unwrap().clone();
        Box::pin(async move {
            facts.map(Arc::new).ok_or_else(|| Unanswered {
                source_name: "metadata",
                source: "silence".into(),
            })
        })
    }
}

/// What users would be told: reasons and texts.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<Vec<Notice>>);

impl Notices for Told {
    fn tell(&self, notice: Notice) {
        self.0.lock().unwrap().push(notice);
    }
}

impl Told {
    /// The reasons of what was told about the node.
    pub(super) fn reasons(&self) -> Vec<&'static str> {
        let told = self.0.lock().unwrap();
        let of_node = told
            .iter()
            .filter(|notice| matches!(notice.subject, Subject::Node(_)));
        of_node.map(|notice| notice.reason).collect()
    }

    /// What was told about a claim.
    pub(super) fn of_claim(&self, name: &str) -> Vec<String> {
        let told = self.0.lock().unwrap();
        let about = |notice: &&Notice| matches!(&notice.subject, Subject::Claim { name: found, .. } if found == name);
        told.iter().filter(about).map(|n| n.text.clone()).collect()
    }
}

/// What is different about a node's powers.
type Change = Arc<dyn Fn(&mut Powers) + Send + Sync>;

/// The node under test. Devices are dropped before the folder that holds their files.
pub(super) struct Rig {
    pub(super) metadata: Arc<Metadata>,
    pub(super) told: Arc<Told>,
    change: Change,
    pub(super) service: NodeService,
    pub(super) loops: Vec<Loop>,
    folder: tempfile::TempDir,
}

/// A volume and how it is asked for.
#[derive(Clone, Debug)]
pub(super) struct Volume {
    pub(super) id: String,
    pub(super) lun: i64,
    pub(super) fs: &'static str,
    pub(super) flags: Vec<String>,
    pub(super) context: HashMap<String, String>,
    pub(super) mode: Mode,
    pub(super) is_block: bool,
}

pub(super) fn id(name: &str) -> String {
    format!("/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/{name}")
}

pub(super) fn volume(name: &str, lun: i64, fs: &'static str) -> Volume {
    Volume {
        id: id(name),
        lun,
        fs,
        flags: Vec::new(),
        context: HashMap::from([("createdEmpty".to_owned(), "true".to_owned())]),
        mode: Mode::SingleNodeMultiWriter,
        is_block: false,
    }
}

impl Volume {
    pub(super) fn capability(&self) -> v1::VolumeCapability {
        let access_type = if self.is_block {
            AccessType::Block(BlockVolume {})
        } else {
            AccessType::Mount(MountVolume {
                fs_type: self.fs.to_owned(),
                mount_flags: self.flags.clone(),
                ..MountVolume::default()
            })
        };
        v1::VolumeCapability {
            access_mode: Some(AccessMode {
                mode: self.mode.into(),
            }),
            access_type: Some(access_type),
        }
    }

    pub(super) fn published(&self) -> HashMap<String, String> {
        HashMap::from([("LUN".to_owned(), self.lun.to_string())])
    }
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    /// A node whose powers are changed before it begins.
    pub(super) fn with(change: impl Fn(&mut Powers) + Send + Sync + 'static) -> Self {
        need_root();
        let folder = tempfile::Builder::new()
            .prefix("azcsi-node-test")
            .tempdir()
            .unwrap();
        let metadata = Arc::new(Metadata::default());
        metadata.clear();
        let told = Arc::new(Told::default());
        let change: Change = Arc::new(change);
        let service = service(folder.path(), &metadata, &told, &change);
        Self {
            metadata,
            told,
            change,
            service,
            loops: Vec::new(),
            folder,
        }
    }

    /// The plugin starts anew, with what it has on the disk.
    pub(super) fn restart(&mut self) {
        self.service = service(self.folder.path(), &self.metadata, &self.told, &self.change);
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Attaches a new disk; returns which of the devices it is.
    pub(super) fn attach(&mut self, name: &str, lun: i64, size: u64) -> usize {
        let device = Loop::new(self.folder.path(), name, size);
        self.show(device, name, lun)
    }

    /// Attaches a disk whose file is in the folder already.
    pub(super) fn attach_file(&mut self, name: &str, lun: i64) -> usize {
        let device = Loop::over(self.folder.path(), name, 512);
        self.show(device, name, lun)
    }

    pub(super) fn show(&mut self, device: Loop, name: &str, lun: i64) -> usize {
        self.link(&device, lun);
        self.metadata.put(lun, &id(name));
        self.loops.push(device);
        self.loops.len() - 1
    }

    fn link(&self, device: &Loop, lun: i64) {
        let link = self.path("dev/disk/azure/scsi1").join(format!("lun{lun}"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&link);
        symlink(&device.node, link).unwrap();
    }

    pub(super) fn records(&self) -> Records {
        Records::new(StateStore::open(&self.path("state")).unwrap())
    }

    pub(super) fn record(&self, volume: &Volume) -> Option<Record> {
        self.records().get(&key(volume))
    }

    pub(super) fn forget_records(&self) {
        for entry in fs::read_dir(self.path("state")).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

pub(super) fn key(volume: &Volume) -> VolumeKey {
    VolumeKey::decode(volume.id.clone()).unwrap()
}

fn service(
    folder: &Path,
    metadata: &Arc<Metadata>,
    told: &Arc<Told>,
    change: &Change,
) -> NodeService {
    let roots = Roots {
        dev: folder.join("dev"),
        ..Roots::default()
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let config = NodeConfig {
        node_id: "node".to_owned(),
        device_wait: Duration::ZERO,
        confirm_wait: Duration::ZERO,
        ..NodeConfig::default()
    };
    let mut powers = Powers::new(&roots, Arc::clone(&clock), config.formats);
    change(&mut powers);
    let state = StateStore::open(&folder.join("state")).unwrap();
    let machine: Arc<dyn Machine> = metadata.clone();
    let sources = (machine, Arc::new(NoLabels) as Arc<_>);
    let node = Node::new(config, Arc::clone(&clock), sources, powers, state).unwrap();
    let node = node.observed(told.clone(), NodeMetrics::default());
    NodeService::new(Arc::new(node), Dispatcher::new(clock, Limits::default()))
}

pub(super) fn code<T: std::fmt::Debug>(answer: Result<T, Status>) -> Code {
    answer.map_or_else(|status| status.code(), |_| Code::Ok)
}

/// Whether the kernel lets this process grow a mounted ext filesystem. Restricted containers may
/// lack the capability; then the calls have to fail in order.
pub(super) fn grows_mounted_ext() -> bool {
    azcsi_host::growfs::may_grow_mounted_ext(&Roots::default())
}
