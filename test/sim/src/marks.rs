//! Which data belongs to which disk. Who writes something through a volume tells it here, and who
//! reads it tells that as well: what was written through one volume must be readable only through
//! that volume, and through copies of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::world::World;

/// What was written, and which disk was made from which.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Unique ids of the disks that each mark was written through.
    written: BTreeMap<String, BTreeSet<String>>,
    /// The unique id of a disk or snapshot, and that of its source.
    sources: BTreeMap<String, String>,
}

impl Marks {
    /// Notes what each disk and snapshot of a world was made from.
    pub(crate) fn learn(&mut self, world: &World) {
        let disks = world.disks.values();
        let disks = disks.map(|disk| (&disk.unique_id, &disk.origin));
        let snapshots = world.snapshots.values();
        let snapshots = snapshots.map(|snapshot| (&snapshot.unique_id, &snapshot.origin));
        for (id, origin) in disks.chain(snapshots) {
            if let Some(source) = &origin.source_unique_id {
                self.came_from(id, source);
            }
        }
    }

    /// Notes what a disk or snapshot was made from.
    pub(crate) fn came_from(&mut self, id: &str, source: &str) {
        self.sources.insert(id.to_owned(), source.to_owned());
    }

    /// A mark was written through a disk.
    pub(crate) fn wrote(&mut self, disk: &str, mark: &str) {
        let owners = self.written.entry(mark.to_owned()).or_default();
        owners.insert(disk.to_owned());
    }

    /// Whether what is read through a disk may be there. What nobody said to have written may.
    pub(crate) fn may_read(&self, disk: &str, mark: &str) -> bool {
        let Some(owners) = self.written.get(mark) else {
            return true;
        };
        let mut at = Some(disk);
        // No disk is its own source, but a walk must end whatever a world file says.
        for _ in 0..=self.sources.len() {
            match at {
                Some(id) if owners.contains(id) => return true,
                Some(id) => at = self.sources.get(id).map(String::as_str),
                None => return false,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn data_is_read_through_its_disk_and_copies_of_it_only() {
        let mut marks = Marks::default();
        marks.came_from("snapshot", "disk");
        marks.came_from("restored", "snapshot");
        marks.came_from("round", "trip");
        marks.came_from("trip", "round");
        marks.wrote("disk", "m");
        marks.wrote("restored", "later");
        for (disk, mark, may) in [
            ("disk", "m", true),
            ("restored", "m", true),
            ("other", "m", false),
            ("disk", "later", false),
            ("restored", "later", true),
            ("round", "m", false),
            ("other", "unknown", true),
        ] {
            assert_eq!(marks.may_read(disk, mark), may, "{disk} {mark}");
        }
    }
}
