//! The world of a test: local Azure, controller and one node plugin, each a process; and a volume.

use std::collections::HashMap;
use std::future::Future;
use std::os::unix::fs::FileExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::Duration;

use azcsi_proto::csi::v1;
use azcsi_proto::csi::v1::node_client::NodeClient;
use azcsi_rig::csi::filesystem;
use azcsi_rig::leftovers::leave_nothing;
use azcsi_rig::rig::{Plan, Rig, Setup, Zones};
use futures_util::FutureExt as _;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

const GIB: i64 = 1 << 30;

/// Longer than anything here takes; only a test that hangs gets there.
const PATIENCE: Duration = Duration::from_secs(90);

/// Where cargo puts the binaries: beside the folder of this test binary.
fn binaries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap().to_owned();
    for name in ["azcsi-sim", "azuredisk-csi"] {
        assert!(
            folder.join(name).exists(),
            "these tests run the built binaries: cargo build -p azcsi-sim -p azcsi-disk"
        );
    }
    folder
}

/// Runs a test. Devices and mounts are let go even when it fails, and nothing may be left.
pub(crate) async fn run(test: impl AsyncFnOnce(&mut Rig)) {
    let folder = tempfile::Builder::new()
        .prefix("azcsi-node-")
        .tempdir()
        .unwrap();
    let plan = Plan {
        bin: binaries(),
        dir: folder.path().to_owned(),
        nodes: 1,
        kind: "uniform",
        profile: "instant",
        time_scale: 1,
    };
    let setup = Setup {
        zones: Zones::Regional,
        ..Setup::default()
    };
    let mut rig = Rig::start_with(plan, setup).await.unwrap();
    let ended = AssertUnwindSafe(test(&mut rig)).catch_unwind().await;
    let stopped = rig.stop().await;
    let clean = leave_nothing(folder.path());
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
    stopped.unwrap();
    clean.unwrap();
}

/// The Node service of the one machine.
pub(crate) fn node(rig: &Rig) -> NodeClient<Channel> {
    rig.machines[0].plugin().unwrap().node()
}

/// Calls again while the answer is that it may work later, as the kubelet does; any other failure
/// is one.
pub(crate) async fn until_done<T, F>(what: &str, mut call: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<Response<T>, Status>>,
{
    let calls = async {
        loop {
            match call().await {
                Ok(reply) => return reply.into_inner(),
                Err(status) if matches!(status.code(), Code::Unavailable | Code::Aborted) => {}
                Err(status) => panic!("{what}: {status:?}"),
            }
        }
    };
    let ended = tokio::time::timeout(PATIENCE, calls).await;
    ended.unwrap_or_else(|_| panic!("{what} does not succeed"))
}

/// A volume that is attached to the one machine.
#[derive(Clone, Debug)]
pub(crate) struct Volume {
    pub(crate) id: String,
    pub(crate) staging: PathBuf,
    pub(crate) target: PathBuf,
    context: HashMap<String, String>,
    pub(crate) published: HashMap<String, String>,
    kind: &'static str,
}

impl Volume {
    /// Creates and attaches it.
    pub(crate) async fn new(rig: &Rig, name: &str, kind: &'static str) -> Self {
        let request = v1::CreateVolumeRequest {
            name: name.to_owned(),
            capacity_range: Some(range(1)),
            volume_capabilities: vec![filesystem(kind)],
            ..v1::CreateVolumeRequest::default()
        };
        let mut controller = rig.controller.controller();
        let made = controller.create_volume(request).await.unwrap();
        let made = made.into_inner().volume.unwrap();
        let kubelet = &rig.machines[0].kubelet;
        std::fs::create_dir_all(kubelet.join("pods")).unwrap();
        let mut volume = Self {
            id: made.volume_id,
            staging: kubelet.join("staging").join(name),
            target: kubelet.join("pods").join(name),
            context: made.volume_context,
            published: HashMap::new(),
            kind,
        };
        volume.attach(rig).await;
        volume
    }

    pub(crate) async fn attach(&mut self, rig: &Rig) {
        let request = v1::ControllerPublishVolumeRequest {
            volume_id: self.id.clone(),
            node_id: rig.machines[0].name.clone(),
            volume_capability: Some(filesystem(self.kind)),
            ..v1::ControllerPublishVolumeRequest::default()
        };
        let mut controller = rig.controller.controller();
        let reply = controller.controller_publish_volume(request).await.unwrap();
        self.published = reply.into_inner().publish_context;
    }

    pub(crate) async fn detach(&self, rig: &Rig) {
        let request = v1::ControllerUnpublishVolumeRequest {
            volume_id: self.id.clone(),
            node_id: rig.machines[0].name.clone(),
            ..v1::ControllerUnpublishVolumeRequest::default()
        };
        let mut controller = rig.controller.controller();
        controller
            .controller_unpublish_volume(request)
            .await
            .unwrap();
    }

    pub(crate) async fn delete(&self, rig: &Rig) {
        let request = v1::DeleteVolumeRequest {
            volume_id: self.id.clone(),
            ..v1::DeleteVolumeRequest::default()
        };
        rig.controller
            .controller()
            .delete_volume(request)
            .await
            .unwrap();
    }

    /// ControllerExpandVolume.
    pub(crate) async fn enlarge(&self, rig: &Rig, gib: i64) {
        let request = v1::ControllerExpandVolumeRequest {
            volume_id: self.id.clone(),
            capacity_range: Some(range(gib)),
            ..v1::ControllerExpandVolumeRequest::default()
        };
        let mut controller = rig.controller.controller();
        controller.controller_expand_volume(request).await.unwrap();
    }

    pub(crate) fn stage(&self) -> v1::NodeStageVolumeRequest {
        v1::NodeStageVolumeRequest {
            volume_id: self.id.clone(),
            publish_context: self.published.clone(),
            staging_target_path: text(&self.staging),
            volume_capability: Some(filesystem(self.kind)),
            volume_context: self.context.clone(),
            ..v1::NodeStageVolumeRequest::default()
        }
    }

    pub(crate) fn publish(&self) -> v1::NodePublishVolumeRequest {
        v1::NodePublishVolumeRequest {
            volume_id: self.id.clone(),
            publish_context: self.published.clone(),
            staging_target_path: text(&self.staging),
            target_path: text(&self.target),
            volume_capability: Some(filesystem(self.kind)),
            volume_context: self.context.clone(),
            ..v1::NodePublishVolumeRequest::default()
        }
    }

    pub(crate) fn expand(&self, gib: i64) -> v1::NodeExpandVolumeRequest {
        v1::NodeExpandVolumeRequest {
            volume_id: self.id.clone(),
            volume_path: text(&self.target),
            staging_target_path: text(&self.staging),
            capacity_range: Some(range(gib)),
            ..v1::NodeExpandVolumeRequest::default()
        }
    }

    pub(crate) fn unpublish(&self) -> v1::NodeUnpublishVolumeRequest {
        v1::NodeUnpublishVolumeRequest {
            volume_id: self.id.clone(),
            target_path: text(&self.target),
        }
    }

    pub(crate) fn unstage(&self) -> v1::NodeUnstageVolumeRequest {
        v1::NodeUnstageVolumeRequest {
            volume_id: self.id.clone(),
            staging_target_path: text(&self.staging),
        }
    }

    /// What the node plugin remembers.
    pub(crate) fn records(rig: &Rig) -> Vec<PathBuf> {
        let folder = rig.machines[0]
            .kubelet
            .join("plugins/disk.csi.azure.com/state");
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.flatten().map(|entry| entry.path()).collect()
    }
}

fn range(gib: i64) -> v1::CapacityRange {
    v1::CapacityRange {
        required_bytes: gib * GIB,
        limit_bytes: 0,
    }
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Writes bytes that depend on the seed, and waits until the device has them.
pub(crate) fn write(path: &Path, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let bytes: Vec<u8> = (0..128 * 1024)
        .flat_map(|_| random.next().to_le_bytes())
        .collect();
    let file = std::fs::File::create(path).unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    file.sync_all().unwrap();
    bytes
}

/// Numbers that only the seed decides (splitmix64).
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
