//! Tests of `growfs`.

use super::{is_enough, is_needed};

#[test]
fn a_gap_smaller_than_any_unit_is_no_gap() {
    let gib = 1 << 30;
    assert!(!is_needed(gib, gib));
    assert!(!is_needed(gib - 4096, gib));
    assert!(is_needed(gib, 2 * gib));
    assert!(is_enough(2 * gib - (32 << 20), 2 * gib));
    assert!(!is_enough(gib, 2 * gib));
}

#[test]
fn the_kernel_s_structure_has_the_kernel_s_size() {
    assert_eq!(size_of::<super::sys::XfsGeometry>(), 112);
}
