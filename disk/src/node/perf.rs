//! Queue settings for a performance profile: from what the disk and the machine can do to the depth
//! of the device's queue. Pure.
//!
//! The formula and its constants are those of the driver that this one replaces. All numbers are
//! whole: rates are kept in kB/s, latencies in tenths of a millisecond.

use azcsi_types::keys::volume_context;
use azcsi_types::params::ParamMap;
use azcsi_types::size::GiB;

/// Machine sizes without `standard_`, and the IOPS and MB/s of their remote disks, with bursts.
const MACHINES: &str = include_str!("perf/machines.tsv");

/// What a volume asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Nothing.
    #[default]
    None,
    /// Settings that follow from disk and machine.
    Basic,
    /// The settings that the class lists.
    Advanced(Vec<(String, String)>),
}

/// The part of the volume context that is about performance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// The profile.
    pub profile: Profile,
    /// The SKU of the disk.
    pub sku: Option<String>,
    /// Provisioned IOPS.
    pub iops: Option<u64>,
    /// Provisioned MB/s.
    pub mbps: Option<u64>,
}

impl Wish {
    /// Reads it. Tuning is best effort, so what cannot be read is as good as absent.
    pub(super) fn take(map: &mut ParamMap) -> Self {
        let advanced = map.take_prefixed("device-setting/");
        let mut text = |key| {
            let param: Option<azcsi_types::params::Param> = map.take(key);
            param
                .map(|param| param.value.trim().to_ascii_lowercase())
                .filter(|text| !text.is_empty())
        };
        let profile = match text(volume_context::PERF_PROFILE).as_deref() {
            Some("advanced") => Profile::Advanced(advanced),
            Some("basic") => Profile::Basic,
            _ => Profile::None,
        };
        let alias = text("storageaccounttype");
        Self {
            profile,
            sku: text("skuname").or(alias),
            iops: text("diskiopsreadwrite").and_then(|text| text.parse().ok()),
            mbps: text("diskmbpsreadwrite").and_then(|text| text.parse().ok()),
        }
    }
}

/// What a disk or a machine can do at its best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Operations per second.
    pub iops: u64,
    /// MB per second.
    pub mbps: u64,
}

/// What the remote disks of a machine size can do; `None` for a size that is not in the table.
#[must_use]
pub fn of_machine(size: &str) -> Option<Rate> {
    let size = size.to_ascii_lowercase();
    let name = size.strip_prefix("standard_").unwrap_or(&size);
    let row = MACHINES.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?.strip_prefix('\t')?;
        rest.split_once('\t')
    })?;
    Some(Rate {
        iops: row.0.parse().ok()?,
        mbps: row.1.parse().ok()?,
    })
}

/// A performance tier: size in GiB up to which it goes, what it always does, what it does at best.
struct Tier(u32, Rate, Rate);

const fn rate(iops: u64, mbps: u64) -> Rate {
    Rate { iops, mbps }
}

const PREMIUM: [Tier; 11] = [
    Tier(32, rate(120, 25), rate(3500, 170)),
    Tier(64, rate(240, 50), rate(3500, 170)),
    Tier(128, rate(500, 100), rate(3500, 170)),
    Tier(256, rate(1100, 125), rate(3500, 170)),
    Tier(512, rate(2300, 150), rate(3500, 170)),
    Tier(1024, rate(5000, 200), rate(5000, 200)),
    Tier(2048, rate(7500, 250), rate(7500, 250)),
    Tier(4096, rate(7500, 250), rate(7500, 250)),
    Tier(8192, rate(16000, 500), rate(16000, 500)),
    Tier(16384, rate(18000, 750), rate(18000, 750)),
    Tier(32767, rate(20000, 900), rate(20000, 900)),
];

const STANDARD_SSD: [Tier; 6] = [
    Tier(512, rate(500, 100), rate(600, 150)),
    Tier(1024, rate(500, 100), rate(1000, 250)),
    Tier(4096, rate(500, 100), rate(500, 100)),
    Tier(8192, rate(2000, 400), rate(2000, 400)),
    Tier(16384, rate(4000, 600), rate(4000, 600)),
    Tier(32767, rate(6000, 750), rate(6000, 750)),
];

/// What a new Premium v2 disk does when nothing is said.
const PREMIUM_V2: Rate = rate(3000, 125);

/// Largest request in kB.
const MOST_PER_REQUEST: u64 = 512;

/// The settings that a volume wants; none for a profile that wants none, and for disks that the
/// profile is not for.
#[must_use]
pub fn settings(wish: &Wish, size: GiB, machine: Option<Rate>) -> Vec<(String, String)> {
    let basic = || {
        let disk = of_disk(wish, size)?;
        let (request, depth) = queue(disk, machine, size)?;
        Some(vec![
            ("queue/scheduler".to_owned(), "mq-deadline".to_owned()),
            ("queue/max_sectors_kb".to_owned(), request.to_string()),
            ("device/queue_depth".to_owned(), depth.to_string()),
            ("queue/nr_requests".to_owned(), depth.to_string()),
            ("queue/read_ahead_kb".to_owned(), "8".to_owned()),
        ])
    };
    match &wish.profile {
        Profile::None => Vec::new(),
        Profile::Basic => basic().unwrap_or_default(),
        Profile::Advanced(settings) => settings.clone(),
    }
}

/// What the disk can do at its best: by its tier, or as it is provisioned.
fn of_disk(wish: &Wish, size: GiB) -> Option<Rate> {
    let (iops, mbps) = (wish.iops.unwrap_or(0), wish.mbps.unwrap_or(0));
    let tiers: &[Tier] = match wish.sku.as_deref()? {
        "premiumv2_lrs" => {
            return Some(rate(
                wish.iops.unwrap_or(PREMIUM_V2.iops),
                wish.mbps.unwrap_or(PREMIUM_V2.mbps),
            ));
        }
        "ultrassd_lrs" => return Some(rate(wish.iops?, wish.mbps?)),
        "premium_lrs" | "premium_zrs" => &PREMIUM,
        "standardssd_lrs" | "standardssd_zrs" => &STANDARD_SSD,
        _ => return None,
    };
    tiers
        .iter()
        .find(|Tier(most, base, _)| *most >= size.get() && base.iops >= iops && base.mbps >= mbps)
        .map(|Tier(_, _, best)| *best)
}

/// Size of a request in kB, and depth of the queue.
fn queue(disk: Rate, machine: Option<Rate>, size: GiB) -> Option<(u64, u64)> {
    let most = |of_disk: u64, of_machine: Option<u64>| {
        of_machine
            .filter(|most| *most > 0)
            .map_or(of_disk, |most| most.min(of_disk))
    };
    let iops = most(disk.iops, machine.map(|machine| machine.iops));
    let bytes = most(disk.mbps, machine.map(|machine| machine.mbps)).checked_mul(1000)?;
    if iops == 0 || bytes == 0 {
        return None;
    }
    let (random, sequential) = match size.get() {
        0..=4096 => (22, 33),
        4097..=8192 => (28, 41),
        8193..=16384 => (34, 46),
        _ => (40, 52),
    };
    // bytes / (0.75 * iops)
    let request = (4 * bytes).div_ceil(3 * iops).min(MOST_PER_REQUEST);
    let streams = (bytes * sequential).div_ceil(request * 10_000);
    let scattered = (iops * random).div_ceil(10_000);
    let depth = (scattered + 4 * streams).div_ceil(4).max(scattered);
    Some((request, depth))
}

#[cfg(test)]
mod tests;
