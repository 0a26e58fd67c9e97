//! Where to look for a proof that nothing is on a disk.
//!
//! The places are those where filesystems keep copies of what is at their start, so that a disk
//! whose start was destroyed is still seen to hold data; and random ones, so that data of a form
//! that nobody knows is seen as well.

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;
const TIB: u64 = 1024 * GIB;

/// How many random places are read, and how much at each.
const RANDOM: u64 = 64;
const RANDOM_LENGTH: u64 = 4 * KIB;

/// Offsets and lengths to read, all inside the device, in order.
#[must_use]
pub fn samples(size: u64, seed: u64) -> Vec<(u64, u64)> {
    let mut places = vec![(0, 4 * MIB), (size.saturating_sub(2 * MIB), 2 * MIB)];
    // btrfs keeps its superblock here again.
    places.extend([64 * MIB, 256 * GIB].map(|at| (at, 64 * KIB)));
    // ext keeps it in block groups 1, 3, 5, 7; their size follows from the block size.
    for group in [1, 3, 5, 7] {
        places.push((group * 8 * MIB + KIB, 4 * KIB));
        places.push((group * 32 * MIB, 4 * KIB));
        places.push((group * 128 * MIB, 4 * KIB));
    }
    // xfs keeps it at the start of each allocation group: a quarter of a disk, at most 1 TiB.
    for quarter in 1..4 {
        let start = size / 4 / (4 * KIB) * (4 * KIB) * quarter;
        places.push((start.saturating_sub(4 * KIB), 16 * KIB));
    }
    places.extend((1..=size / TIB).map(|n| (n * TIB, 64 * KIB)));
    let mut state = seed;
    for _ in 0..RANDOM {
        let blocks = (size / RANDOM_LENGTH).max(1);
        places.push((next(&mut state) % blocks * RANDOM_LENGTH, RANDOM_LENGTH));
    }
    places.retain_mut(|(at, length)| {
        *length = (*length).min(size.saturating_sub(*at));
        *length > 0
    });
    places.sort_unstable();
    places
}

/// The generator splitmix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::{GIB, MIB, TIB, samples};
    use proptest::prelude::*;

    fn covers(size: u64, offset: u64) -> bool {
        samples(size, 1)
            .iter()
            .any(|&(at, length)| at <= offset && offset < at + length)
    }

    #[test]
    fn the_places_of_copies_are_read() {
        let size = 8 * TIB;
        for offset in [
            0,
            65536,
            64 * MIB + 64,
            256 * GIB + 64,
            8 * MIB + 1024,
            128 * MIB + 56,
            3 * 128 * MIB,
            size / 4,
            TIB,
            7 * TIB,
            size - 512,
            size - 512 * 1024,
        ] {
            assert!(covers(size, offset), "{offset}");
        }
    }

    #[test]
    fn other_volumes_are_read_at_other_places() {
        assert_ne!(samples(GIB, 1), samples(GIB, 2));
    }

    proptest! {
        #[test]
        fn every_sample_is_inside_the_disk(size in 1_u64..(65 * TIB), seed in any::<u64>()) {
            for (at, length) in samples(size, seed) {
                prop_assert!(length > 0 && at + length <= size);
            }
        }
    }
}
