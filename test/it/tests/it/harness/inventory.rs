//! Everything that a world holds, in lines that are the same for the same things.

use std::collections::BTreeMap;

use azcsi_sim::Sim;
use azcsi_sim::world::leaf;

/// What there is, sorted; names that are drawn are left out, so that two worlds compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inventory(Vec<String>);

impl Inventory {
    /// What Azure holds now, and what else there is.
    pub(super) fn of(sim: &Sim, mut lines: Vec<String>) -> Self {
        sim.settle();
        let world = sim.world();
        for disk in world.disks.values() {
            let (name, gib, sku) = (leaf(&disk.id), disk.gib, &disk.sku);
            lines.push(format!("disk {name}, {gib} GiB, {sku}"));
        }
        for snapshot in world.snapshots.values() {
            let (name, place) = (leaf(&snapshot.id), &snapshot.location);
            lines.push(format!("snapshot {name}, {} GiB, {place}", snapshot.gib));
        }
        for machine in world.machines.values() {
            for disk in &machine.data_disks {
                let node = &machine.computer_name;
                let (name, lun) = (leaf(&disk.disk_id), disk.lun);
                lines.push(format!("{name} on {node} at {lun}"));
            }
        }
        for account in world.accounts.values() {
            lines.push(format!("account of {} {}", account.sku, account.kind));
        }
        for share in world.shares.values() {
            let (gib, snapshots) = (share.quota.value, share.snapshots.len());
            let name = &share.name;
            lines.push(format!(
                "share {name}, {gib} GiB, {}, {snapshots} snapshots",
                share.tier
            ));
        }
        for linked in world.network.values() {
            lines.push(format!("{} {}", linked.kind, leaf(&linked.id)));
        }
        lines.sort();
        Self(lines)
    }

    /// What one has more than the other, both ways.
    pub(super) fn differs(&self, wanted: &Self) -> Option<String> {
        let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
        for line in &self.0 {
            *counts.entry(line).or_default() += 1;
        }
        for line in &wanted.0 {
            *counts.entry(line).or_default() -= 1;
        }
        let off = counts.iter().filter(|(_, count)| **count != 0);
        let said: Vec<String> = off
            .map(|(line, count)| format!("{count:+} {line}"))
            .collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// What makes each disk, snapshot and share the one it is, by its id.
pub(super) fn identities(sim: &Sim) -> BTreeMap<String, String> {
    let world = sim.world();
    let disks = world.disks.values();
    let disks = disks.map(|disk| (disk.id.clone(), disk.unique_id.clone()));
    let snapshots = world.snapshots.values();
    let snapshots = snapshots.map(|one| (one.id.clone(), one.unique_id.clone()));
    let shares = world.shares.values();
    let shares = shares.map(|one| (one.id.clone(), one.created_ms.to_string()));
    disks.chain(snapshots).chain(shares).collect()
}
