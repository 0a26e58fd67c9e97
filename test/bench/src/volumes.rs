//! What the calls of a volume's life cost over an `instant` Azure: the driver's own overhead.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use azcsi_proto::csi::v1::{
    CapacityRange, ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest,
    CreateVolumeRequest, DeleteVolumeRequest, NodeStageVolumeRequest, NodeUnstageVolumeRequest,
    ProbeRequest, VolumeCapability,
};
use azcsi_rig::csi::{filesystem, reply};
use azcsi_rig::rig::Rig;

use crate::bare;
use crate::report::{Row, Series, Within};

const PROBES: u32 = 2000;
const CYCLES: u32 = 30;
const GIB: i64 = 1 << 30;
const STAGE_BUDGET: Duration = Duration::from_millis(20);
const BLANK: &str = "NodeStageVolume (blank disk, mkfs)";
const FORMATTED: &str = "NodeStageVolume (ext4 present)";
const BARE: &str = "e2fsck -p and mount, bare";

#[expect(clippy::disallowed_methods, reason = "a bench's stopwatch")]
fn now() -> Instant {
    Instant::now()
}

/// Probe over the socket, one after another.
pub(crate) async fn probe(rig: &Rig) -> Result<Vec<Row>> {
    let mut series = Series::default();
    let mut identity = rig.controller.identity();
    for _ in 0..PROBES {
        let began = now();
        reply("Probe", identity.probe(ProbeRequest {}).await)?;
        series.push(began.elapsed());
    }
    Ok(vec![Row::plain(
        format!("Probe over the Unix socket, {PROBES} calls"),
        series.text(),
    )])
}

/// One volume through create, attach, stage, unstage, detach, delete, over and over.
pub(crate) async fn life(rig: &Rig) -> Result<Vec<Row>> {
    let mut table: Vec<(&'static str, Series, usize)> = Vec::new();
    for round in 0..CYCLES {
        cycle(rig, round, &mut table).await?;
    }
    Ok(rows(table))
}

fn rows(table: Vec<(&'static str, Series, usize)>) -> Vec<Row> {
    let median = |name: &str| {
        let row = table.iter().find(|row| row.0 == name);
        row.map(|row| row.1.percentile(50)).unwrap_or_default()
    };
    let over = median(FORMATTED).saturating_sub(median(BARE));
    let overhead = Row::held(
        "NodeStage of a formatted ext4 disk, over the bare tools",
        format!("{:.1} ms", over.as_secs_f64() * 1000.0),
        "≤ 20 ms",
        within(over, STAGE_BUDGET),
    );
    let rounds = usize::try_from(CYCLES).unwrap_or(usize::MAX);
    let mut rows: Vec<Row> = Vec::new();
    for (rpc, series, requests) in table {
        let per_call = format!("{}.{:02}", requests / rounds, requests * 100 / rounds % 100);
        rows.push(Row::plain(format!("{rpc}, {CYCLES} rounds"), series.text()));
        if requests > 0 {
            rows.push(Row::plain(format!("{rpc}, ARM requests a round"), per_call));
        }
    }
    rows.push(overhead);
    rows
}

struct Meter<'a> {
    rig: &'a Rig,
    table: &'a mut Vec<(&'static str, Series, usize)>,
    seen: u64,
}

impl Meter<'_> {
    async fn start(&mut self) -> Result<Instant> {
        self.seen = self.rig.requests_since(self.seen).await?.0;
        Ok(now())
    }

    async fn stop(&mut self, rpc: &'static str, began: Instant) -> Result<()> {
        let took = began.elapsed();
        let (seen, requests) = self.rig.requests_since(self.seen).await?;
        self.seen = seen;
        self.add(rpc, took, requests.len());
        Ok(())
    }

    fn add(&mut self, rpc: &'static str, took: Duration, requests: usize) {
        let at = self
            .table
            .iter()
            .position(|row| row.0 == rpc)
            .unwrap_or_else(|| {
                self.table.push((rpc, Series::default(), 0));
                self.table.len() - 1
            });
        if let Some(row) = self.table.get_mut(at) {
            row.1.push(took);
            row.2 += requests;
        }
    }
}

struct Attached {
    id: String,
    node: String,
    volume_context: HashMap<String, String>,
    publish_context: HashMap<String, String>,
    capability: VolumeCapability,
    staging: PathBuf,
}

async fn cycle(
    rig: &Rig,
    round: u32,
    table: &mut Vec<(&'static str, Series, usize)>,
) -> Result<()> {
    let mut meter = Meter {
        rig,
        table,
        seen: 0,
    };
    let volume = up(rig, round, &mut meter).await?;
    stage(rig, &volume, &mut meter).await?;
    down(rig, volume, &mut meter).await
}

async fn up(rig: &Rig, round: u32, meter: &mut Meter<'_>) -> Result<Attached> {
    let machine = rig.machines.first().context("no machine")?;
    let capability = filesystem("ext4");
    let request = CreateVolumeRequest {
        name: format!("bench-{round}"),
        capacity_range: Some(CapacityRange {
            required_bytes: GIB,
            limit_bytes: 0,
        }),
        volume_capabilities: vec![capability.clone()],
        ..CreateVolumeRequest::default()
    };
    let began = meter.start().await?;
    let created = rig.controller.controller().create_volume(request).await;
    meter.stop("CreateVolume", began).await?;
    let created = reply("CreateVolume", created)?
        .volume
        .context("no volume in the reply")?;
    let request = ControllerPublishVolumeRequest {
        volume_id: created.volume_id.clone(),
        node_id: machine.name.clone(),
        volume_capability: Some(capability.clone()),
        volume_context: created.volume_context.clone(),
        ..ControllerPublishVolumeRequest::default()
    };
    let began = meter.start().await?;
    let attached = rig
        .controller
        .controller()
        .controller_publish_volume(request)
        .await;
    meter.stop("ControllerPublishVolume", began).await?;
    Ok(Attached {
        id: created.volume_id,
        node: machine.name.clone(),
        volume_context: created.volume_context,
        publish_context: reply("ControllerPublishVolume", attached)?.publish_context,
        capability,
        staging: machine.kubelet.join("bench"),
    })
}

/// Staged twice: the first call formats, the second is what a pod that moves costs. In between, the
/// same check and mount by the bare tools, as the yardstick.
async fn stage(rig: &Rig, volume: &Attached, meter: &mut Meter<'_>) -> Result<()> {
    stage_once(rig, volume, meter, BLANK).await?;
    let machine = rig.machines.first().context("no machine")?;
    let lun = volume.publish_context.get("LUN").context("no LUN")?;
    let took = bare::check_and_mount(&machine.slot(lun), &volume.staging).await?;
    meter.add(BARE, took, 0);
    stage_once(rig, volume, meter, FORMATTED).await
}

async fn stage_once(
    rig: &Rig,
    volume: &Attached,
    meter: &mut Meter<'_>,
    name: &'static str,
) -> Result<()> {
    let mut plugin = rig.machines.first().context("no machine")?.plugin()?.node();
    std::fs::create_dir_all(&volume.staging)?;
    let request = NodeStageVolumeRequest {
        volume_id: volume.id.clone(),
        publish_context: volume.publish_context.clone(),
        staging_target_path: volume.staging.display().to_string(),
        volume_capability: Some(volume.capability.clone()),
        volume_context: volume.volume_context.clone(),
        ..NodeStageVolumeRequest::default()
    };
    let began = meter.start().await?;
    let staged = plugin.node_stage_volume(request).await;
    meter.stop(name, began).await?;
    reply("NodeStageVolume", staged)?;
    let request = NodeUnstageVolumeRequest {
        volume_id: volume.id.clone(),
        staging_target_path: volume.staging.display().to_string(),
    };
    let began = meter.start().await?;
    let unstaged = plugin.node_unstage_volume(request).await;
    meter.stop("NodeUnstageVolume", began).await?;
    reply("NodeUnstageVolume", unstaged)?;
    Ok(())
}

async fn down(rig: &Rig, volume: Attached, meter: &mut Meter<'_>) -> Result<()> {
    let request = ControllerUnpublishVolumeRequest {
        volume_id: volume.id.clone(),
        node_id: volume.node,
        ..ControllerUnpublishVolumeRequest::default()
    };
    let began = meter.start().await?;
    let detached = rig
        .controller
        .controller()
        .controller_unpublish_volume(request)
        .await;
    meter.stop("ControllerUnpublishVolume", began).await?;
    reply("ControllerUnpublishVolume", detached)?;
    let request = DeleteVolumeRequest {
        volume_id: volume.id,
        ..DeleteVolumeRequest::default()
    };
    let began = meter.start().await?;
    let deleted = rig.controller.controller().delete_volume(request).await;
    meter.stop("DeleteVolume", began).await?;
    reply("DeleteVolume", deleted)?;
    Ok(())
}

/// Whether a series keeps a budget at the median.
pub(crate) fn within(took: Duration, budget: Duration) -> Within {
    Within::from(took <= budget)
}
