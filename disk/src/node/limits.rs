//! How many data disks a machine size takes.

/// Sizes and numbers, sorted by size; lower case.
const TABLE: &str = include_str!("limits.tsv");

/// What is assumed for a size that is not in the table, unless told otherwise; upstream does the same.
pub const DEFAULT: u32 = 16;

/// The number of data disks of a machine size; `None` for a size that is not in the table.
#[must_use]
pub fn data_disks(size: &str) -> Option<u32> {
    let size = size.to_ascii_lowercase();
    rows()
        .find(|(name, _)| *name == size)
        .map(|(_, count)| count)
}

fn rows() -> impl Iterator<Item = (&'static str, u32)> {
    TABLE.lines().filter_map(|line| {
        let (name, count) = line.split_once('\t')?;
        Some((name, count.parse().ok()?))
    })
}

/// How many volumes are reported. CSI reads 0 as "no limit", so a machine that is full reports 1:
/// a pod that is placed here then fails at its attach instead of overrunning the machine.
#[must_use]
pub const fn volumes(disks: u32, reserved: u32, foreign: u32) -> u32 {
    let left = disks.saturating_sub(reserved).saturating_sub(foreign);
    if left == 0 { 1 } else { left }
}

#[cfg(test)]
mod tests {
    use super::{TABLE, data_disks, rows, volumes};

    #[test]
    fn every_row_reads_and_each_size_has_one() {
        let names: Vec<_> = rows().map(|(name, _)| name).collect();
        assert_eq!(names.len(), TABLE.lines().count());
        assert!(names.len() > 3000);
        assert!(
            names.windows(2).all(|pair| pair[0] < pair[1]),
            "sorted and unique"
        );
        for (name, count) in rows() {
            assert!(count <= 64, "{name}");
            assert_eq!(name, name.to_ascii_lowercase());
        }
    }

    #[test]
    fn sizes_are_found_in_any_case() {
        assert_eq!(data_disks("Standard_D2s_v3"), Some(4));
        assert_eq!(data_disks("STANDARD_D2S_V3"), Some(4));
        assert_eq!(data_disks("Standard_Unknown"), None);
    }

    #[test]
    fn the_limit_never_falls_below_one() {
        for (facts, limit) in [
            ((16, 0, 0), 16),
            ((16, 2, 3), 11),
            ((4, 4, 0), 1),
            ((4, 9, 0), 1),
            ((0, 0, 0), 1),
        ] {
            let (disks, reserved, foreign) = facts;
            assert_eq!(volumes(disks, reserved, foreign), limit);
        }
    }
}
