//! Facts about disk SKUs and VM sizes, from the tables in `data/`.

use std::collections::HashMap;
use std::sync::OnceLock;

/// One size of a disk SKU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tier {
    pub(crate) sku: &'static str,
    /// `P10`.
    pub(crate) size: &'static str,
    /// `Premium`.
    pub(crate) tier: &'static str,
    pub(crate) max_gib: u64,
    pub(crate) iops: u64,
    pub(crate) mbps: u64,
    pub(crate) burst_iops: u64,
    pub(crate) burst_mbps: u64,
    pub(crate) max_shares: u32,
}

/// One VM size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VmSize {
    pub(crate) name: &'static str,
    pub(crate) max_data_disks: usize,
    pub(crate) premium: bool,
    pub(crate) cpus: &'static str,
}

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split('\t').collect())
}

fn tier(row: &[&'static str]) -> Option<Tier> {
    let number = |index: usize| row.get(index)?.parse::<u64>().ok();
    Some(Tier {
        sku: row.first()?,
        size: row.get(1)?,
        tier: row.get(2)?,
        max_gib: number(3)?,
        iops: number(4)?,
        mbps: number(5)?,
        burst_iops: number(6)?,
        burst_mbps: number(7)?,
        max_shares: row.get(8)?.parse().ok()?,
    })
}

/// All sizes of all disk SKUs, smallest first within one.
pub(crate) fn tiers() -> &'static [Tier] {
    static TIERS: OnceLock<Vec<Tier>> = OnceLock::new();
    TIERS.get_or_init(|| {
        rows(include_str!("../../data/disk-skus.tsv"))
            .filter_map(|row| tier(&row))
            .collect()
    })
}

/// All VM sizes by lower-cased name.
pub(crate) fn vm_sizes() -> &'static HashMap<String, VmSize> {
    static SIZES: OnceLock<HashMap<String, VmSize>> = OnceLock::new();
    SIZES.get_or_init(|| {
        rows(include_str!("../../data/vm-sizes.tsv"))
            .filter_map(|row| {
                let size = VmSize {
                    name: row.first()?,
                    max_data_disks: row.get(1)?.parse().ok()?,
                    premium: *row.get(2)? == "yes",
                    cpus: row.get(3)?,
                };
                Some((size.name.to_ascii_lowercase(), size))
            })
            .collect()
    })
}

/// A size that the table does not have takes the most disks there are.
pub(crate) fn vm_size(name: &str) -> VmSize {
    let unknown = VmSize {
        name: "",
        max_data_disks: 64,
        premium: true,
        cpus: "4",
    };
    vm_sizes()
        .get(&name.to_ascii_lowercase())
        .copied()
        .unwrap_or(unknown)
}

/// The SKU as it is spelt.
pub(crate) fn sku(name: &str) -> Option<&'static str> {
    tiers()
        .iter()
        .find(|tier| tier.sku.eq_ignore_ascii_case(name))
        .map(|tier| tier.sku)
}

/// The size that a disk of so many GiB falls into.
pub(crate) fn tier_of(sku: &str, gib: u64) -> Option<&'static Tier> {
    tiers()
        .iter()
        .find(|tier| tier.sku == sku && tier.max_gib >= gib)
}

/// A size by its name.
pub(crate) fn tier_named(sku: &str, size: &str) -> Option<&'static Tier> {
    tiers()
        .iter()
        .find(|tier| tier.sku == sku && tier.size.eq_ignore_ascii_case(size))
}

/// The largest disk of a SKU.
pub(crate) fn largest(sku: &str) -> u64 {
    let sizes = tiers().iter().filter(|tier| tier.sku == sku);
    sizes.map(|tier| tier.max_gib).max().unwrap_or(0)
}

/// Ultra and Premium SSD v2: performance is set, not tied to the size, and there is no host cache.
pub(crate) fn is_flexible(sku: &str) -> bool {
    matches!(sku, "UltraSSD_LRS" | "PremiumV2_LRS")
}

pub(crate) fn is_zone_redundant(sku: &str) -> bool {
    sku.ends_with("_ZRS")
}
