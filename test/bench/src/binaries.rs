//! Size of the binaries, resident memory, time from start to the first Probe.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use azcsi_rig::rig::Rig;

use crate::report::{Row, Within};
use crate::volumes::within;

const MIB: u64 = 1 << 20;
const SIZE_BUDGET: u64 = 15 * MIB;
const NODE_MEMORY_BUDGET: u64 = 8 * MIB;
const START_BUDGET: Duration = Duration::from_millis(50);

pub(crate) fn mib(bytes: u64) -> String {
    format!("{}.{} MiB", bytes / MIB, bytes % MIB * 10 / MIB)
}

/// Size on disk; release builds are stripped.
pub(crate) fn size(bin: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, budget) in [
        ("azuredisk-csi", Some(SIZE_BUDGET)),
        ("azurefile-csi", Some(SIZE_BUDGET)),
        ("azcsi-sim", None),
    ] {
        let path = bin.join(name);
        let bytes = std::fs::metadata(&path)
            .with_context(|| path.display().to_string())?
            .len();
        let what = format!("{name}, stripped binary");
        rows.push(match budget {
            Some(budget) => Row::held(what, mib(bytes), "≤ 15 MiB", Within::from(bytes <= budget)),
            None => Row::plain(what, mib(bytes)),
        });
    }
    Ok(rows)
}

/// Resident memory of a process, from the kernel's own account.
pub(crate) fn resident(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024)
}

/// Memory of idle plugins, and how long each took to serve.
pub(crate) fn idle(rig: &Rig) -> Result<Vec<Row>> {
    let machine = rig.machines.first().context("no machine")?;
    let node = machine.plugin()?;
    let memory = resident(node.process.id().context("node plugin has ended")?)?;
    let controller = resident(
        rig.controller
            .process
            .id()
            .context("controller has ended")?,
    )?;
    let started = node.ready_after();
    Ok(vec![
        Row::held(
            "node plugin, resident when idle",
            mib(memory),
            "≤ 8 MiB",
            Within::from(memory <= NODE_MEMORY_BUDGET),
        ),
        Row::plain("controller plugin, resident when idle", mib(controller)),
        Row::held(
            "node plugin, start to serving Probe",
            format!("{:.1} ms", started.as_secs_f64() * 1000.0),
            "≤ 50 ms",
            within(started, START_BUDGET),
        ),
        Row::plain(
            "controller plugin, start to serving Probe",
            format!(
                "{:.1} ms",
                rig.controller.ready_after().as_secs_f64() * 1000.0
            ),
        ),
    ])
}
