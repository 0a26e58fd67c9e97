//! A world per test, and short forms of the calls.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use azcsi_proto::csi::v1::{
    CapacityRange, ControllerPublishVolumeRequest, CreateVolumeRequest, NodePublishVolumeRequest,
    NodeStageVolumeRequest, Volume, VolumeCapability, volume_capability::access_mode::Mode,
};
use azcsi_rig::csi::filesystem;
use azcsi_rig::leftovers::leave_nothing;
use azcsi_rig::rig::{Machine, Plan, Rig, Setup, Zones};
use futures_util::FutureExt as _;
use tonic::{Code, Response, Status};

pub(crate) const GIB: i64 = 1 << 30;

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

/// What a test's world is.
pub(crate) struct World {
    pub(crate) nodes: u32,
    pub(crate) profile: &'static str,
    pub(crate) listing: bool,
}

/// One node, an Azure that answers at once, and all optional services on.
pub(crate) const USUAL: World = World {
    nodes: 1,
    profile: "instant",
    listing: true,
};

impl World {
    /// Runs a test in this world. Devices and mounts are let go even when it fails; what Azure says
    /// must never happen did not happen when it passes.
    pub(crate) async fn run(self, test: impl AsyncFnOnce(&Rig)) {
        let folder = tempfile::Builder::new()
            .prefix("azcsi-rules-")
            .tempdir()
            .unwrap();
        let plan = Plan {
            bin: binaries(),
            dir: folder.path().to_owned(),
            nodes: self.nodes,
            kind: "uniform",
            profile: self.profile,
            time_scale: 1,
        };
        let flags = format!(
            "--enable-list-volumes={0} --enable-list-snapshots={0}",
            self.listing
        );
        let setup = Setup {
            controller_args: flags.split(' ').map(str::to_owned).collect(),
            // These calls ask for no topology, and a disk without a zone goes to no zonal machine.
            zones: Zones::Regional,
            ..Setup::default()
        };
        let rig = Rig::start_with(plan, setup).await.unwrap();
        let ended = AssertUnwindSafe(test(&rig)).catch_unwind().await;
        let violations = rig.violations().await;
        let stopped = rig.stop().await;
        let clean = leave_nothing(folder.path());
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
        assert_eq!(violations.unwrap(), Vec::<String>::new());
        stopped.unwrap();
        clean.unwrap();
    }
}

/// The one machine of [`USUAL`].
pub(crate) fn machine(rig: &Rig) -> &Machine {
    rig.machines.first().unwrap()
}

/// The reply of a call that must succeed.
#[track_caller]
pub(crate) fn ok<T>(result: Result<Response<T>, Status>) -> T {
    result.unwrap().into_inner()
}

/// The code of a call that must fail. CSI forbids details.
#[track_caller]
pub(crate) fn code<T: std::fmt::Debug>(result: Result<Response<T>, Status>) -> Code {
    let status = result.unwrap_err();
    assert!(status.details().is_empty(), "{status:?}");
    assert!(!status.message().is_empty(), "{status:?}");
    status.code()
}

/// 1 GiB with ext4.
pub(crate) fn request(name: &str) -> CreateVolumeRequest {
    CreateVolumeRequest {
        name: name.to_owned(),
        capacity_range: Some(CapacityRange {
            required_bytes: GIB,
            limit_bytes: 0,
        }),
        volume_capabilities: vec![filesystem("ext4")],
        ..CreateVolumeRequest::default()
    }
}

/// The same capability with another access mode.
pub(crate) fn with_mode(mode: Mode) -> VolumeCapability {
    let mut capability = filesystem("ext4");
    if let Some(access) = &mut capability.access_mode {
        access.mode = mode.into();
    }
    capability
}

pub(crate) fn parameters(list: &[(&str, &str)]) -> HashMap<String, String> {
    list.iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

pub(crate) async fn create(rig: &Rig, name: &str) -> Volume {
    ok(rig
        .controller
        .controller()
        .create_volume(request(name))
        .await)
    .volume
    .unwrap()
}

pub(crate) fn attach(volume: &str, node: &str) -> ControllerPublishVolumeRequest {
    ControllerPublishVolumeRequest {
        volume_id: volume.to_owned(),
        node_id: node.to_owned(),
        volume_capability: Some(filesystem("ext4")),
        ..ControllerPublishVolumeRequest::default()
    }
}

/// A volume on its way through a node.
#[derive(Clone, Debug)]
pub(crate) struct Attached {
    pub(crate) volume: Volume,
    context: HashMap<String, String>,
    staging: PathBuf,
}

impl Attached {
    /// Creates a volume and attaches it to the one machine.
    pub(crate) async fn new(rig: &Rig, name: &str) -> Self {
        let volume = create(rig, name).await;
        let call = attach(&volume.volume_id, &machine(rig).name);
        let reply = ok(rig
            .controller
            .controller()
            .controller_publish_volume(call)
            .await);
        let staging = machine(rig).kubelet.join("staging").join(name);
        std::fs::create_dir_all(&staging).unwrap();
        Self {
            volume,
            context: reply.publish_context,
            staging,
        }
    }

    pub(crate) fn stage(&self) -> NodeStageVolumeRequest {
        NodeStageVolumeRequest {
            volume_id: self.volume.volume_id.clone(),
            publish_context: self.context.clone(),
            staging_target_path: text(&self.staging),
            volume_capability: Some(filesystem("ext4")),
            volume_context: self.volume.volume_context.clone(),
            ..NodeStageVolumeRequest::default()
        }
    }

    pub(crate) fn publish(&self, target: &Path) -> NodePublishVolumeRequest {
        NodePublishVolumeRequest {
            volume_id: self.volume.volume_id.clone(),
            publish_context: self.context.clone(),
            staging_target_path: text(&self.staging),
            target_path: text(target),
            volume_capability: Some(filesystem("ext4")),
            volume_context: self.volume.volume_context.clone(),
            ..NodePublishVolumeRequest::default()
        }
    }
}

/// A target path of the one machine; its parent exists.
pub(crate) fn target(rig: &Rig, name: &str) -> PathBuf {
    let folder = machine(rig).kubelet.join("pods");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}

/// How many things of a kind Azure holds.
pub(crate) async fn count(rig: &Rig, kind: &str) -> usize {
    let state = rig.control.get("/_sim/state").await.unwrap();
    let value = &state[kind];
    value
        .as_array()
        .map(Vec::len)
        .or_else(|| value.as_object().map(serde_json::Map::len))
        .unwrap_or_else(|| panic!("no {kind} in {state}"))
}

/// Posts an object to the Kubernetes stub.
pub(crate) async fn kubernetes(rig: &Rig, path: &str, object: &serde_json::Value) {
    let endpoints = rig.control.get("/_sim/endpoints").await.unwrap();
    let server = endpoints["kubernetes"].as_str().unwrap();
    let api = azcsi_rig::control::Control::new(server).unwrap();
    api.post(path, object).await.unwrap();
}
