//! Tests of `line`.

use super::*;

#[test]
fn names_tell_slot_and_disk_and_are_short() {
    let one = Attachment {
        node: "n".to_owned(),
        lun: 63,
        disk: "0f8fad5b-d9cb-469f-a165-70867728950e".to_owned(),
        sector: 4096,
    };
    let other = Attachment {
        disk: "7c9e6679-7425-40de-944b-e07fc1f90ae7".to_owned(),
        ..one.clone()
    };
    assert_ne!(device_name(&one), device_name(&other));
    assert!(device_name(&one).starts_with("azure-63-4096-"));
    assert!(block_name(&device_name(&one)).len() <= 31);
    assert_eq!(world_wide_name(&one.disk) >> 60, 3);
    assert_ne!(world_wide_name(&one.disk), world_wide_name(&other.disk));
}
