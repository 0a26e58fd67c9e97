//! Tests of `validate`.

use std::collections::HashMap;

use azcsi_proto::csi::v1;
use azcsi_types::access::{AccessMode, VolumeMode};
use azcsi_types::size::{BadRange, Bytes, CapacityRange};
use proptest::prelude::*;
use v1::volume_capability::{AccessMode as WireMode, AccessType, BlockVolume, MountVolume};

use super::{
    FLAGS_LIMIT, Invalid, MAP_LIMIT, NAME_LIMIT, TEXT_LIMIT, capabilities, capability,
    capacity_range, map, max_entries, name, optional_path, path, required,
};

fn wire(access_type: Option<AccessType>, mode: i32) -> v1::VolumeCapability {
    v1::VolumeCapability {
        access_type,
        access_mode: Some(WireMode { mode }),
    }
}

#[test]
fn an_id_is_required_and_bounded() {
    let id = |text: &str| required("volume_id", text.to_owned());
    assert_eq!(id(""), Err(Invalid::Missing("volume_id")));
    assert!(id(&"x".repeat(TEXT_LIMIT)).is_ok());
    assert!(matches!(
        id(&"x".repeat(TEXT_LIMIT + 1)),
        Err(Invalid::TooLong { .. })
    ));
}

#[test]
fn a_name_may_hold_any_text_but_control_characters() {
    let check = |text: &str| name("name", text.to_owned());
    assert_eq!(check(""), Err(Invalid::Missing("name")));
    for good in ["pvc-1", "tab\tline\r\n", "däta 🦀", &"x".repeat(NAME_LIMIT)] {
        assert_eq!(check(good), Ok(good.to_owned()));
    }
    for code in (0..=8)
        .chain([0x0b, 0x0c])
        .chain(0x0e..=0x1f)
        .chain(0x7f..=0x9f)
    {
        let character = char::from_u32(code).unwrap();
        let error = Invalid::ControlCharacter {
            field: "name",
            character: code,
        };
        assert_eq!(check(&format!("a{character}")), Err(error));
    }
    let long = check(&"x".repeat(NAME_LIMIT + 1)).unwrap_err();
    assert_eq!(
        long.to_string(),
        "name is 129 bytes long: at most 128 are allowed"
    );
}

#[test]
fn a_map_is_bounded_in_all() {
    let with = |size| HashMap::from([("key".to_owned(), "x".repeat(size))]);
    assert!(map("parameters", with(MAP_LIMIT - 3)).is_ok());
    let expected = Invalid::TooLong {
        field: "parameters",
        length: MAP_LIMIT + 1,
        limit: MAP_LIMIT,
    };
    assert_eq!(map("parameters", with(MAP_LIMIT - 2)), Err(expected));
}

#[test]
fn a_range_may_be_left_out_but_not_be_empty() {
    let range = |required_bytes, limit_bytes| {
        capacity_range(Some(v1::CapacityRange {
            required_bytes,
            limit_bytes,
        }))
    };
    assert_eq!(capacity_range(None), Ok(CapacityRange::ANY));
    assert_eq!(range(5, 0).unwrap().required(), Some(Bytes::new(5)));
    assert_eq!(range(0, 0), Err(Invalid::Range(BadRange::Empty)));
    assert!(matches!(
        range(-1, 0),
        Err(Invalid::Range(BadRange::Negative { .. }))
    ));
    assert!(matches!(
        range(5, 4),
        Err(Invalid::Range(BadRange::Crossed { .. }))
    ));
}

#[test]
fn a_page_may_be_unlimited_but_not_negative() {
    assert_eq!(max_entries(0), Ok(None));
    assert_eq!(max_entries(7).unwrap().unwrap().get(), 7);
    let error = Invalid::Negative {
        field: "max_entries",
        value: -1,
    };
    assert_eq!(max_entries(-1), Err(error));
}

#[test]
fn a_path_is_absolute() {
    assert_eq!(
        path("target_path", ""),
        Err(Invalid::Missing("target_path"))
    );
    assert!(matches!(
        path("target_path", "a/b"),
        Err(Invalid::Path { .. })
    ));
    assert!(path("target_path", "/var/lib/kubelet").is_ok());
    assert_eq!(optional_path("staging_target_path", ""), Ok(None));
    assert!(optional_path("staging_target_path", "a").is_err());
}

#[test]
fn a_capability_needs_a_type_and_a_known_mode() {
    let block = Some(AccessType::Block(BlockVolume {}));
    assert_eq!(capability(None), Err(Invalid::Missing("volume_capability")));
    assert_eq!(
        capability(Some(wire(None, 1))),
        Err(Invalid::AccessType("volume_capability"))
    );
    for mode in [0, 8, -1] {
        let error = Invalid::AccessMode {
            field: "volume_capability",
            mode,
        };
        assert_eq!(capability(Some(wire(block.clone(), mode))), Err(error));
    }
    let modeless = v1::VolumeCapability {
        access_type: block.clone(),
        access_mode: None,
    };
    assert!(matches!(
        capability(Some(modeless)),
        Err(Invalid::AccessMode { mode: 0, .. })
    ));
    let access = capability(Some(wire(block, 5))).unwrap();
    assert_eq!(
        (access.mode, access.volume),
        (AccessMode::MultiNodeMultiWriter, VolumeMode::Block)
    );
}

#[test]
fn mount_options_are_kept_in_order_and_bounded() {
    let mount = |flags: Vec<String>| {
        let mount = MountVolume {
            fs_type: "xfs".to_owned(),
            mount_flags: flags,
            volume_mount_group: String::new(),
        };
        capabilities(vec![wire(Some(AccessType::Mount(mount)), 1)])
    };
    let flags = vec!["noatime".to_owned(), "nodiratime".to_owned()];
    let expected = VolumeMode::Filesystem {
        fs_type: "xfs".to_owned(),
        mount_flags: flags.clone(),
    };
    assert_eq!(mount(flags).unwrap()[0].volume, expected);
    assert!(matches!(
        mount(vec!["x".repeat(FLAGS_LIMIT + 1)]),
        Err(Invalid::TooLong { .. })
    ));
    assert_eq!(
        capabilities(Vec::new()),
        Err(Invalid::Missing("volume_capabilities"))
    );
}

proptest! {
    #[test]
    fn a_refused_name_is_refused_for_a_reason(text in any::<String>()) {
        let bad = |c: char| c.is_control() && !"\t\n\r".contains(c);
        let good = !text.is_empty() && text.len() <= NAME_LIMIT && !text.contains(bad);
        prop_assert_eq!(name("name", text).is_ok(), good);
    }
}
