//! The controller of a large cluster: it makes every volume, attaches each, and lists them all.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use azcsi_proto::csi::v1::{
    CapacityRange, ControllerPublishVolumeRequest, CreateVolumeRequest, ListVolumesRequest, Volume,
};
use azcsi_rig::csi::{Driver, filesystem, reply};
use azcsi_rig::rig::{Plan, Rig, Setup, Zones};
use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::binaries::{mib, resident};
use crate::report::{Row, Within};

const NODES: u32 = 5_000;
const VOLUMES_PER_NODE: u32 = 10;
/// It takes 16 data disks.
const SIZE: &str = "Standard_D8s_v5";
/// As many nodes are served at once as the sidecars have workers for, roughly.
const NODES_AT_ONCE: usize = 10;
const GIB: i64 = 1 << 30;
const BUDGET: u64 = 150 << 20;

/// What the controller holds when all volumes are attached, and after it has listed them.
pub(crate) async fn memory(bin: &Path, dir: &Path) -> Result<Vec<Row>> {
    let plan = Plan {
        bin: bin.to_owned(),
        dir: dir.to_owned(),
        nodes: NODES,
        kind: "uniform",
        profile: "instant",
        time_scale: 1,
    };
    let setup = Setup {
        zones: Zones::Regional,
        size: Some(SIZE),
        no_nodes: true,
        controller_args: vec!["--enable-list-volumes=true".to_owned(), "-v=2".to_owned()],
        ..Setup::default()
    };
    let rig = Rig::start_with(plan, setup).await?;
    let rows = measure(&rig).await;
    let ended = rig.stop().await;
    let rows = rows?;
    ended?;
    Ok(rows)
}

async fn measure(rig: &Rig) -> Result<Vec<Row>> {
    stream::iter(&rig.machines)
        .map(|machine| fill(&rig.controller, &machine.name))
        .buffer_unordered(NODES_AT_ONCE)
        .try_collect::<Vec<()>>()
        .await?;
    let attached = held(rig)?;
    let listed = list(&rig.controller).await?;
    let wanted = usize::try_from(NODES * VOLUMES_PER_NODE)?;
    if listed != wanted {
        bail!("ListVolumes gave {listed} attached volumes of {wanted}");
    }
    let what = format!("{NODES} nodes, {wanted} volumes");
    let row = |state, bytes| {
        Row::held(
            format!("controller, {what}, {state}"),
            mib(bytes),
            "≤ 150 MiB",
            Within::from(bytes <= BUDGET),
        )
    };
    Ok(vec![
        row("all attached", attached),
        row("all listed", held(rig)?),
    ])
}

fn held(rig: &Rig) -> Result<u64> {
    let process = &rig.controller.process;
    resident(process.id().context("controller has ended")?)
}

/// Makes the volumes of a node and attaches them, all at once.
async fn fill(controller: &Driver, node: &str) -> Result<()> {
    let volumes = (0..VOLUMES_PER_NODE).map(|at| create(controller, format!("{node}-{at}")));
    let volumes = try_join_all(volumes).await?;
    let publish = volumes.into_iter().map(|volume| async {
        let request = ControllerPublishVolumeRequest {
            volume_id: volume.volume_id,
            node_id: node.to_owned(),
            volume_capability: Some(filesystem("ext4")),
            volume_context: volume.volume_context,
            ..ControllerPublishVolumeRequest::default()
        };
        let published = controller
            .controller()
            .controller_publish_volume(request)
            .await;
        reply("ControllerPublishVolume", published)
    });
    try_join_all(publish).await.map(drop)
}

async fn create(controller: &Driver, name: String) -> Result<Volume> {
    let request = CreateVolumeRequest {
        name,
        capacity_range: Some(CapacityRange {
            required_bytes: GIB,
            limit_bytes: 0,
        }),
        volume_capabilities: vec![filesystem("ext4")],
        ..CreateVolumeRequest::default()
    };
    let created = controller.controller().create_volume(request).await;
    reply("CreateVolume", created)?
        .volume
        .context("no volume in the reply")
}

/// Lists page by page, as the attacher does; how many volumes are attached.
async fn list(controller: &Driver) -> Result<usize> {
    let mut count = 0;
    let mut token = String::new();
    loop {
        let request = ListVolumesRequest {
            max_entries: 0,
            starting_token: token,
        };
        let page = controller.controller().list_volumes(request).await;
        let page = reply("ListVolumes", page)?;
        let attached = page.entries.iter().filter(|entry| {
            let nodes = entry
                .status
                .as_ref()
                .map(|status| &status.published_node_ids);
            nodes.is_some_and(|nodes| !nodes.is_empty())
        });
        count += attached.count();
        token = page.next_token;
        if token.is_empty() {
            return Ok(count);
        }
    }
}
