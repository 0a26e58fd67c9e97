//! Tests of `node`.

use super::{NodeName, VmKind, VmRef, computer_name_of_imds, split_computer_name};
use proptest::prelude::*;

#[test]
fn every_kind_of_provider_id_is_read() {
    let flex =
        "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm1";
    assert_eq!(
        VmRef::from_provider_id(flex).unwrap().kind(),
        VmKind::Machine
    );
    assert_eq!(VmRef::from_provider_id(flex).unwrap().provider_id(), flex);
    let uniform = "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/x/virtualMachines/3";
    let vm = VmRef::from_provider_id(uniform).unwrap();
    assert_eq!(
        (vm.kind(), vm.scale_set(), vm.name()),
        (VmKind::ScaleSetInstance, Some("x"), "3")
    );
    for other in [
        "",
        "aws:///i-1",
        "azure://",
        "/subscriptions/s",
        "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d",
    ] {
        assert!(VmRef::from_provider_id(other).is_err(), "{other}");
    }
}

#[test]
fn instance_names_are_base_36() {
    for (imds, node) in [
        ("vm_0", "vm000000"),
        ("vm_35", "vm00000z"),
        ("vm_36", "vm000010"),
    ] {
        assert_eq!(computer_name_of_imds(imds).as_deref(), Some(node));
    }
    for other in ["a_b_1", "vm", "vm_x", "vm_99999999999"] {
        assert_eq!(computer_name_of_imds(other), None, "{other}");
    }
    assert_eq!(
        split_computer_name("ab000010"),
        Some(("ab", "36".to_owned()))
    );
    for other in ["", "abc", "000001", "ab-00001", "äö00000ü"] {
        assert_eq!(split_computer_name(other), None, "{other}");
    }
}

#[test]
fn node_names_are_equal_whatever_the_case() {
    assert_eq!(
        "Node-1".parse::<NodeName>().unwrap(),
        "node-1".parse().unwrap()
    );
    for bad in ["", "a b", "a/b", "a\n", &"x".repeat(257)] {
        assert!(bad.parse::<NodeName>().is_err());
    }
}

proptest! {
    #[test]
    fn machines_round_trip(group in "[a-zA-Z0-9_-]{1,20}", name in "[a-zA-Z0-9_-]{1,20}", instance in 0_u32..5000) {
        for vm in [
            VmRef::machine("s", &group, &name).unwrap(),
            VmRef::instance("s", &group, &name, &instance.to_string()).unwrap(),
        ] {
            prop_assert_eq!(&VmRef::from_provider_id(&vm.provider_id()).unwrap(), &vm);
            prop_assert_eq!(&vm.to_string().parse::<VmRef>().unwrap(), &vm);
        }
    }

    #[test]
    fn computer_names_round_trip(prefix in "[a-z][a-z0-9-]{0,20}", number in 0_u64..2_176_782_336) {
        let name = super::computer_name(&prefix, &number.to_string()).unwrap();
        prop_assert_eq!(split_computer_name(&name), Some((prefix.as_str(), number.to_string())));
    }
}
