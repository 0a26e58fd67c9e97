//! Calls that meet, and calls in the wrong order.

use std::fs;

use nix::mount::{MsFlags, mount};
use tonic::Code;

use super::rig::{MIB, Rig, code, key, volume};
use crate::node::record::{Intent, Record};

#[tokio::test]
async fn a_volume_that_is_published_stays_staged() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    rig.publish(&volume, "pod").await.unwrap();
    let refused = rig.unstage(&volume).await.unwrap_err();
    // The only code that CSI leaves for it.
    assert_eq!(refused.code(), Code::Internal);
    assert!(refused.message().contains(&rig.text("pod")), "{refused}");
    assert_eq!(rig.loops[disk].mounts().len(), 2);
    // Another pod of this node can still be given the volume.
    rig.publish(&volume, "other").await.unwrap();
    rig.unpublish(&volume, "other").await.unwrap();
    rig.unpublish(&volume, "pod").await.unwrap();
    rig.unstage(&volume).await.unwrap();
    assert!(rig.loops[disk].mounts().is_empty());
}

#[tokio::test]
async fn two_volumes_are_never_mounted_over_each_other() {
    let mut rig = Rig::new();
    let disks = [
        rig.attach("one", 0, 16 * MIB),
        rig.attach("two", 1, 16 * MIB),
    ];
    let (one, two) = (volume("one", 0, "ext4"), volume("two", 1, "ext4"));
    let (first, second) = tokio::join!(rig.stage(&one), rig.stage(&two));
    assert_eq!((code(first), code(second)), (Code::Ok, Code::Aborted));
    assert_eq!(disks.map(|disk| rig.loops[disk].mounts().len()), [1, 0]);
    let answers = tokio::join!(rig.publish(&one, "pod"), rig.unpublish(&two, "pod"));
    assert_eq!(
        (code(answers.0), code(answers.1)),
        (Code::Ok, Code::Aborted)
    );
    assert_eq!(rig.loops[disks[0]].mounts().len(), 2);
}

#[tokio::test]
async fn equal_calls_join_and_different_ones_are_turned_away() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    let (first, second) = tokio::join!(rig.stage(&volume), rig.stage(&volume));
    assert_eq!((code(first), code(second)), (Code::Ok, Code::Ok));
    assert_eq!(rig.loops[disk].mounts().len(), 1);
    let (published, unstaged) = tokio::join!(rig.publish(&volume, "pod"), rig.unstage(&volume));
    assert_eq!((code(published), code(unstaged)), (Code::Ok, Code::Aborted));
    let (gone, again) = tokio::join!(rig.unpublish(&volume, "pod"), rig.publish(&volume, "pod"));
    assert_eq!((code(gone), code(again)), (Code::Ok, Code::Aborted));
    assert_eq!(rig.loops[disk].mounts().len(), 1);
}

#[tokio::test]
async fn twenty_volumes_are_staged_at_the_same_time_sc_02() {
    let mut rig = Rig::new();
    let names: Vec<String> = (0..20).map(|number| format!("d{number}")).collect();
    let place = |name: &str| format!("at-{name}");
    let mut volumes = Vec::new();
    for (lun, name) in (0..).zip(&names) {
        rig.attach(name, lun, 16 * MIB);
        volumes.push(volume(name, lun, "ext4"));
    }
    let calls = volumes.iter().zip(&names);
    let calls = calls.map(|(volume, name)| (volume, place(name)));
    let calls = calls.map(async |(volume, place)| rig.stage_at(volume, &place).await);
    for answer in futures_util::future::join_all(calls).await {
        answer.unwrap();
    }
    for (name, device) in names.iter().zip(&rig.loops) {
        assert_eq!(device.mounts(), [rig.path(&place(name))]);
    }
}

/// That a filesystem is being made is a right to overwrite the disk. It must not outlive the mount.
#[tokio::test]
async fn a_format_that_cannot_be_noted_as_done_is_not_mounted() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    let mark = rig.record(&volume).unwrap().mark;
    rig.unstage(&volume).await.unwrap();
    let formatting = Record {
        mark,
        fs_type: Some("ext4".to_owned()),
        intent: Intent::Formatting,
        ..Record::default()
    };
    rig.records().put(&key(&volume), formatting).unwrap();
    let blocker = rig
        .path("state")
        .join(format!("{}.tmp", key(&volume).record()));
    fs::create_dir(&blocker).unwrap();
    assert_eq!(code(rig.stage(&volume).await), Code::Internal);
    assert!(rig.loops[disk].mounts().is_empty());
    fs::remove_dir(&blocker).unwrap();
    rig.stage(&volume).await.unwrap();
    assert_eq!(rig.record(&volume).unwrap().intent, Intent::None);
}

#[tokio::test]
async fn paths_that_lead_through_a_link_are_the_same_places() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    fs::create_dir(rig.path("real")).unwrap();
    std::os::unix::fs::symlink("real", rig.path("link")).unwrap();
    rig.stage_at(&volume, "link/staging").await.unwrap();
    rig.stage_at(&volume, "link/staging").await.unwrap();
    let publish = rig.publish_with(&volume, "link/pod", |request| {
        request.staging_target_path = rig.text("link/staging");
    });
    publish.await.unwrap();
    let pod = rig.text("link/pod");
    assert_eq!(rig.stats(&volume, &pod).await.unwrap().len(), 2);
    assert_eq!(rig.loops[disk].mounts().len(), 2);
    rig.unpublish(&volume, "link/pod").await.unwrap();
    rig.unstage_at(&volume, "link/staging").await.unwrap();
    assert!(rig.loops[disk].mounts().is_empty());
    assert!(!rig.path("real/pod").exists() && !rig.path("real/staging").exists());
}

/// A link at the end of a path would lead a bind or an unmount to a place that nobody named.
#[tokio::test]
async fn a_link_as_the_target_itself_is_never_followed() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    fs::create_dir(rig.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", rig.path("pod")).unwrap();
    assert_eq!(code(rig.publish(&volume, "pod").await), Code::Internal);
    assert_eq!(rig.loops[disk].mounts().len(), 1);
    let (elsewhere, none) = (rig.path("elsewhere"), None::<&str>);
    mount(
        Some("none"),
        &elsewhere,
        Some("tmpfs"),
        MsFlags::empty(),
        none,
    )
    .unwrap();
    rig.unpublish(&volume, "pod").await.unwrap();
    assert!(nix::mount::umount(&elsewhere).is_ok(), "it was left alone");
}
