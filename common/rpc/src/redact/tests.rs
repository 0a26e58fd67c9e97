//! Tests of `redact`.

use std::collections::BTreeSet;
use std::collections::HashMap;

use azcsi_proto::csi::v1;
use proptest::prelude::*;
use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint};

use super::{HIDDEN, LIMIT, SECRET_FIELDS, is_sensitive, render, render_bytes};

const FACTS: &str = include_str!("../../../../proto/csi-1.13-descriptor.tsv");
const MARKER: &str = "hunter2-c0ffee";

/// Message, field and number of every field that CSI marks as secret.
fn published() -> Vec<(String, String, u32)> {
    let rows = FACTS
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>());
    let secret =
        rows.filter(|row| row[0] == "field" && row[6].split(' ').any(|note| note == "secret"));
    secret
        .map(|row| {
            (
                row[1].to_owned(),
                row[2].to_owned(),
                row[3].parse().unwrap(),
            )
        })
        .collect()
}

#[test]
fn the_secret_fields_are_those_of_csi() {
    let published: BTreeSet<_> = published()
        .into_iter()
        .map(|(owner, field, _)| (owner, field))
        .collect();
    let ours = SECRET_FIELDS
        .iter()
        .map(|&(owner, field)| (owner.to_owned(), field.to_owned()));
    assert_eq!(ours.collect::<BTreeSet<_>>(), published);
}

#[test]
fn no_secret_of_any_message_is_shown() {
    for (owner, field, number) in published() {
        let mut entry = Vec::new();
        for (part, text) in [(1, "plain"), (2, MARKER)] {
            encode_key(part, WireType::LengthDelimited, &mut entry);
            encode_varint(text.len() as u64, &mut entry);
            entry.extend_from_slice(text.as_bytes());
        }
        let mut message = Vec::new();
        for _ in 0..2 {
            encode_key(number, WireType::LengthDelimited, &mut message);
            encode_varint(entry.len() as u64, &mut message);
            message.extend_from_slice(&entry);
        }
        assert_eq!(
            render_bytes(&owner, &message),
            format!("{{{field}: {HIDDEN}}}"),
            "{owner}"
        );
    }
}

#[test]
fn keys_that_sound_like_a_credential_are_hidden() {
    let hidden = [
        "csi.storage.k8s.io/serviceAccount.tokens",
        "azurestorageaccountkey",
        "PASSWORD",
        "clientSecret",
        "credentials",
    ];
    assert!(hidden.into_iter().all(is_sensitive));
    let shown = [
        "secretName",
        "secretnamespace",
        "csi.storage.k8s.io/pv/name",
        "skuName",
        "tags",
    ];
    assert!(!shown.into_iter().any(is_sensitive));
}

#[test]
fn a_request_is_readable() {
    let request = v1::NodePublishVolumeRequest {
        volume_id: "disk\nforged line".to_owned(),
        volume_capability: Some(v1::VolumeCapability {
            access_mode: Some(v1::volume_capability::AccessMode { mode: 1 }),
            access_type: Some(v1::volume_capability::AccessType::Mount(
                v1::volume_capability::MountVolume {
                    fs_type: "ext4".to_owned(),
                    mount_flags: vec![format!("password={MARKER}")],
                    volume_mount_group: String::new(),
                },
            )),
        }),
        readonly: true,
        volume_context: HashMap::from([(
            "csi.storage.k8s.io/serviceAccount.tokens".to_owned(),
            MARKER.to_owned(),
        )]),
        ..Default::default()
    };
    assert_eq!(
        render("NodePublishVolumeRequest", &request),
        "{volume_id: \"disk\\nforged line\", volume_capability: {mount: {fs_type: \"ext4\", \
         mount_flags: ***}, access_mode: {mode: SINGLE_NODE_WRITER}}, readonly: true, \
         volume_context: \"csi.storage.k8s.io/serviceAccount.tokens\"=***}"
    );
}

#[test]
fn numbers_and_well_known_types_are_shown() {
    let reply = v1::GetCapacityResponse {
        available_capacity: -1,
        maximum_volume_size: Some(7),
        minimum_volume_size: None,
    };
    assert_eq!(
        render("GetCapacityResponse", &reply),
        "{available_capacity: -1, maximum_volume_size: {value: 7}}"
    );
}

#[test]
fn a_long_request_is_cut() {
    let request = v1::DeleteVolumeRequest {
        volume_id: "ä".repeat(LIMIT),
        ..Default::default()
    };
    let text = render("DeleteVolumeRequest", &request);
    assert!(text.len() <= LIMIT + '…'.len_utf8() && text.ends_with('…'));
}

proptest! {
    #[test]
    fn no_secret_of_a_random_request_is_shown(
        name in ".*",
        keys in prop::collection::vec(".*", 1..4),
        parameters in prop::collection::hash_map("[a-z]*", "[a-z]*", 0..4),
        flags in prop::collection::vec("[a-z]*", 0..4),
    ) {
        let secrets: HashMap<_, _> =
            keys.into_iter().map(|key| (key, MARKER.to_owned())).collect();
        let mut sensitive = parameters.clone();
        sensitive.insert("x/ServiceAccount.Tokens".to_owned(), MARKER.to_owned());
        let mount = v1::volume_capability::MountVolume {
            mount_flags: flags.into_iter().map(|flag| flag + MARKER).collect(),
            ..Default::default()
        };
        let capability = v1::VolumeCapability {
            access_type: Some(v1::volume_capability::AccessType::Mount(mount)),
            access_mode: None,
        };
        let request = v1::CreateVolumeRequest {
            name: name.clone(),
            secrets,
            parameters: sensitive,
            volume_capabilities: vec![capability],
            ..Default::default()
        };
        let text = render("CreateVolumeRequest", &request);
        prop_assert!(!text.contains(MARKER), "{text}");
        let quoted = format!("{:?}", name);
        prop_assert!(text.len() > LIMIT || name.is_empty() || text.contains(&quoted));
    }

    #[test]
    fn any_bytes_are_rendered_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        render_bytes("CreateVolumeRequest", &bytes);
        if let Ok(request) = v1::CreateVolumeRequest::decode(&*bytes) {
            prop_assert_ne!(render("CreateVolumeRequest", &request), "{unreadable}");
        }
    }
}
