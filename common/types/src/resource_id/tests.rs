//! Tests of `resource_id`.

use super::ResourceId;
use proptest::prelude::*;

fn disk(text: &str) -> ResourceId {
    text.parse().unwrap()
}

#[test]
fn equal_whatever_the_case_and_a_trailing_slash() {
    let a = disk("/subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/disks/D");
    let b = disk("/SUBSCRIPTIONS/s/resourcegroups/g/providers/microsoft.compute/DISKS/d/");
    assert_eq!(a, b);
    assert_eq!(a.folded(), b.folded());
    assert_eq!(b.name(), "d");
    assert!(b.is_of("Microsoft.Compute", &["disks"]));
}

#[test]
fn nested_types_are_taken_apart() {
    let id = disk(
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/x/virtualMachines/3",
    );
    assert!(id.is_of(
        "microsoft.compute",
        &["virtualmachinescalesets", "virtualmachines"]
    ));
    assert_eq!(id.names().collect::<Vec<_>>(), ["x", "3"]);
}

#[test]
fn anything_else_is_refused() {
    for text in [
        "",
        "/",
        "fake-vol-id",
        "/subscriptions/s",
        "/subscriptions/s/resourceGroups/g",
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks",
        "/subscriptions/s/resourceGroups//providers/Microsoft.Compute/disks/d",
        "subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d",
        "/subscriptions/s/groups/g/providers/Microsoft.Compute/disks/d",
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d\n",
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/..",
        "/subscriptions/s/resourceGroups/./providers/Microsoft.Compute/disks/d",
        "/subscriptions/../resourceGroups/g/providers/Microsoft.Compute/disks/d",
    ] {
        assert!(text.parse::<ResourceId>().is_err(), "{text:?}");
    }
}

#[test]
fn a_part_cannot_smuggle_in_others() {
    let disks = ("Microsoft.Compute", "disks");
    for (group, name) in [
        ("g", "a/b/c"),
        ("g/providers", "d"),
        ("..", "d"),
        ("g", "."),
    ] {
        assert!(
            ResourceId::new("s", group, disks, name).is_err(),
            "{group} {name}"
        );
    }
}

proptest! {
    #[test]
    fn printing_and_parsing_are_inverse(s in "[a-f0-9-]{1,36}", g in "[A-Za-z0-9._()-]{0,89}[A-Za-z0-9_()-]", n in "[A-Za-z0-9_.-]{0,79}[A-Za-z0-9_-]") {
        let id = ResourceId::new(&s, &g, ("Microsoft.Compute", "disks"), &n).unwrap();
        let again: ResourceId = id.to_string().parse().unwrap();
        prop_assert_eq!(&id, &again);
        prop_assert_eq!(again.subscription(), s.as_str());
        prop_assert_eq!(again.resource_group(), g.as_str());
        prop_assert_eq!(again.name(), n.as_str());
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,300}") {
        let _ = text.parse::<ResourceId>();
    }
}
