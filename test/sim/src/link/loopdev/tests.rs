//! Tests of `loopdev`.

use super::parse_device_number;

#[test]
fn device_numbers_are_read_as_sysfs_writes_them() {
    assert_eq!(parse_device_number("7:12\n"), Some((7, 12)));
    assert_eq!(parse_device_number("7"), None);
    assert_eq!(parse_device_number("a:b"), None);
}
