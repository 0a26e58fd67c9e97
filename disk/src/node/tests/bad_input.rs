//! What no caller should send: every field of every call, and that nothing was touched.

use std::fs;

use azcsi_proto::csi::v1;
use tonic::Code;
use v1::volume_capability::{AccessType, access_mode::Mode};

use super::rig::{MIB, Rig, code, volume};

type Change = (
    &'static str,
    Code,
    Box<dyn Fn(&mut v1::NodeStageVolumeRequest)>,
);

fn bad_paths() -> Vec<(&'static str, String)> {
    vec![
        ("empty", String::new()),
        ("relative", "staging".to_owned()),
        ("parent", "/tmp/../etc".to_owned()),
        ("nul", "/tmp/a\0b".to_owned()),
        ("long", format!("/{}", "a/".repeat(2500))),
    ]
}

fn with_context(key: &'static str, value: &'static str, code: Code) -> Change {
    let change = move |request: &mut v1::NodeStageVolumeRequest| {
        request
            .volume_context
            .insert(key.to_owned(), value.to_owned());
    };
    (value, code, Box::new(change))
}

fn with_slot(value: &'static str) -> Change {
    let change = move |request: &mut v1::NodeStageVolumeRequest| {
        request
            .publish_context
            .insert("LUN".to_owned(), value.to_owned());
    };
    (value, Code::InvalidArgument, Box::new(change))
}

fn with_flag(flag: &'static str) -> Change {
    let change = move |request: &mut v1::NodeStageVolumeRequest| {
        let capability = request.volume_capability.as_mut().unwrap();
        if let Some(AccessType::Mount(mount)) = &mut capability.access_type {
            mount.mount_flags.push(flag.to_owned());
        }
    };
    (flag, Code::InvalidArgument, Box::new(change))
}

fn with_fs(name: &str) -> Change {
    let name = name.to_owned();
    let change = move |request: &mut v1::NodeStageVolumeRequest| {
        let capability = request.volume_capability.as_mut().unwrap();
        if let Some(AccessType::Mount(mount)) = &mut capability.access_type {
            mount.fs_type.clone_from(&name);
        }
    };
    ("filesystem", Code::InvalidArgument, Box::new(change))
}

fn with_mode(mode: i32) -> Change {
    let change = move |request: &mut v1::NodeStageVolumeRequest| {
        let capability = request.volume_capability.as_mut().unwrap();
        capability.access_mode = Some(v1::volume_capability::AccessMode { mode });
    };
    ("mode", Code::InvalidArgument, Box::new(change))
}

fn changes() -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for value in ["0", "-1", "129", "1.5", "a", "1,2", "1\n", "\u{661}"] {
        // A number with white space around it is that number; there is no such partition.
        let code = if value == "1\n" {
            Code::FailedPrecondition
        } else {
            Code::InvalidArgument
        };
        changes.push(with_context("partition", value, code));
    }
    changes.push(with_context("partition", "1", Code::FailedPrecondition));
    for value in ["maybe", "2", "\u{7}"] {
        changes.push(with_context("createdEmpty", value, Code::InvalidArgument));
        changes.push(with_context("allowFormat", value, Code::InvalidArgument));
    }
    changes.push(with_context("fsType", "ntfs", Code::InvalidArgument));
    changes.push(with_context("fsType", "ext4\n", Code::Ok));
    changes.push(with_context(
        "requestedsizegib",
        "4294967295",
        Code::Unavailable,
    ));
    changes.extend(["", "-1", "64", "1e1", "lun0", "0x0", "\u{660}"].map(with_slot));
    changes.extend(
        [
            "bind",
            "remount,rw",
            "noatime,loop",
            "a\nb",
            "a\0b",
            "\u{1b}[2J",
        ]
        .map(with_flag),
    );
    changes.extend(["foo", "ext4;reboot", "../ext4", "ext4 -F", "-F", "\n"].map(with_fs));
    changes.push(with_fs(&"x".repeat(5000)));
    changes.extend([0, 99, Mode::MultiNodeMultiWriter.into()].map(with_mode));
    changes.extend(whole_fields());
    changes
}

fn with(
    what: &'static str,
    code: Code,
    change: impl Fn(&mut v1::NodeStageVolumeRequest) + 'static,
) -> Change {
    (what, code, Box::new(change))
}

fn whole_fields() -> Vec<Change> {
    let without_type = |request: &mut v1::NodeStageVolumeRequest| {
        request.volume_capability.as_mut().unwrap().access_type = None;
    };
    vec![
        with("no capability", Code::InvalidArgument, |request| {
            request.volume_capability = None;
        }),
        with("no access type", Code::InvalidArgument, without_type),
        with("long id", Code::InvalidArgument, |request| {
            request.volume_id = "a".repeat(5000);
        }),
        with("id of control characters", Code::NotFound, |request| {
            request.volume_id = "\u{1}\n".to_owned();
        }),
    ]
}

#[tokio::test]
async fn a_stage_that_makes_no_sense_touches_nothing() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    for (what, expected, change) in changes().into_iter().filter(|change| change.1 != Code::Ok) {
        let answer = rig.stage_with(&volume, |request| change(request)).await;
        assert_eq!(code(answer), expected, "{what:?}");
    }
    for (what, path) in bad_paths() {
        let answer = rig.stage_with(&volume, |request| request.staging_target_path = path);
        assert_eq!(code(answer.await), Code::InvalidArgument, "{what}");
    }
    assert!(rig.loops[disk].mounts().is_empty() && !rig.path("staging").exists());
    assert_eq!(rig.record(&volume), None);
    let bytes = fs::read(&rig.loops[disk].file).unwrap();
    assert!(
        bytes.iter().all(|&byte| byte == 0),
        "the disk was written to"
    );
}

#[tokio::test]
async fn paths_that_make_no_sense_are_invalid_in_every_call() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    for (what, path) in bad_paths() {
        let answer = rig.publish_with(&volume, "pod", |request| {
            request.target_path.clone_from(&path)
        });
        assert_eq!(code(answer.await), Code::InvalidArgument, "{what}");
        if !path.is_empty() {
            let answer = rig.publish_with(&volume, "pod", |request| {
                request.staging_target_path.clone_from(&path);
            });
            assert_eq!(code(answer.await), Code::InvalidArgument, "{what}");
        }
        assert_eq!(
            code(rig.unpublish_raw(&volume, &path).await),
            Code::InvalidArgument,
            "{what}"
        );
        assert_eq!(
            code(rig.unstage_raw(&volume, &path).await),
            Code::InvalidArgument,
            "{what}"
        );
        let is_unreadable = matches!(what, "empty" | "long");
        let expected = if is_unreadable {
            Code::InvalidArgument
        } else {
            Code::NotFound
        };
        assert_eq!(code(rig.stats(&volume, &path).await), expected, "{what}");
        assert_eq!(
            code(rig.expand(&volume, &path, MIB).await),
            expected,
            "{what}"
        );
    }
    assert_eq!(rig.loops[disk].mounts(), [rig.path("staging")]);
    assert!(!rig.path("pod").exists());
}

#[tokio::test]
async fn odd_names_of_places_work() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    for name in [
        "with space",
        "with\ttab",
        "with\nline",
        "with\\backslash",
        "w\u{ef}th",
    ] {
        rig.stage_at(&volume, name).await.unwrap();
        rig.stage_at(&volume, name).await.unwrap();
        assert_eq!(rig.loops[disk].mounts().len(), 1, "{name:?}");
        rig.unstage_at(&volume, name).await.unwrap();
        assert!(!rig.path(name).exists(), "{name:?}");
    }
}
