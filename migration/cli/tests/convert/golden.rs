//! Manifests as they are found, and what `offline` makes of them, as whole files.

use azcsi_migrate::offline::{Converted, convert};
use azcsi_migrate::verdict::Wishes;

fn converted(content: &str) -> Converted {
    convert(content, &Wishes::default()).unwrap()
}

#[test]
fn a_dynamic_zoned_disk_is_edited_in_place() {
    let out = converted(include_str!("../golden/disk-dynamic-zoned.in.yaml"));
    assert_eq!(
        out.text,
        include_str!("../golden/disk-dynamic-zoned.out.yaml")
    );
    assert_eq!((out.changed, out.blocked), (1, 0));
}

#[test]
fn fault_domains_become_one_term_and_an_unmanaged_disk_stays() {
    let out = converted(include_str!("../golden/disk-unzoned-and-block.in.yaml"));
    assert_eq!(
        out.text,
        include_str!("../golden/disk-unzoned-and-block.out.yaml")
    );
    assert_eq!((out.changed, out.blocked), (2, 1));
}

#[test]
fn files_and_classes_of_a_list_are_edited_in_place() {
    let out = converted(include_str!("../golden/files-and-classes.in.yaml"));
    assert_eq!(
        out.text,
        include_str!("../golden/files-and-classes.out.yaml")
    );
    assert_eq!((out.changed, out.blocked), (4, 1));
}

#[test]
fn what_was_converted_is_left_alone() {
    for content in [
        include_str!("../golden/disk-dynamic-zoned.out.yaml"),
        include_str!("../golden/files-and-classes.out.yaml"),
    ] {
        let out = converted(content);
        assert_eq!((out.text.as_str(), out.changed), (content, 0));
    }
}
