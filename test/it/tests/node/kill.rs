//! The plugin is killed in the middle of every call, started again, and called again.

use std::future::Future;
use std::path::Path;

use azcsi_rig::leftovers::mounts_below;
use azcsi_rig::rig::Rig;
use tonic::{Response, Status};

use super::world::{Random, Volume, node, run, until_done, write};

/// When the plugin is killed: not before this is seen, and then after some more looks.
#[derive(Clone, Copy, Debug)]
enum Seen {
    /// The call has been sent.
    Sent,
    /// A record says that a filesystem is being made.
    Intent,
    /// Something new is mounted, or a mount is gone.
    Mounts,
}

const SEEN: [Seen; 3] = [Seen::Sent, Seen::Intent, Seen::Mounts];

fn has_intent(rig: &Rig) -> bool {
    Volume::records(rig)
        .iter()
        .any(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains("formatting")))
}

/// Calls, kills the plugin in the middle or right after the end, and starts it again.
async fn kill_during<T>(
    rig: &mut Rig,
    random: &mut Random,
    call: impl Future<Output = Result<Response<T>, Status>> + Send + 'static,
) where
    T: Send + 'static,
{
    let seen = SEEN[usize::try_from(random.below(3)).unwrap()];
    let looks = random.below(400);
    kill_at(rig, (seen, looks), call).await;
}

/// Tells whether the call was cut.
async fn kill_at<T>(
    rig: &mut Rig,
    (seen, more): (Seen, u64),
    call: impl Future<Output = Result<Response<T>, Status>> + Send + 'static,
) -> bool
where
    T: Send + 'static,
{
    let folder = rig.machines[0].kubelet.clone();
    let before = mounts_below(&folder).unwrap();
    let call = tokio::spawn(call);
    let reached = || match seen {
        Seen::Sent => true,
        Seen::Intent => has_intent(rig),
        Seen::Mounts => mounts_below(&folder).unwrap() != before,
    };
    while !call.is_finished() && !reached() {
        tokio::task::yield_now().await;
    }
    for _ in 0..more {
        if call.is_finished() {
            break;
        }
        let _ = mounts_below(&folder).unwrap();
        tokio::task::yield_now().await;
    }
    rig.kill_plugin(0).await.unwrap();
    let was_cut = call.await.unwrap().is_err();
    rig.start_plugin(0).await.unwrap();
    was_cut
}

fn same(path: &Path, bytes: &[u8], when: &str) {
    assert!(std::fs::read(path).unwrap() == bytes, "{when}: other bytes");
}

async fn bring_up(rig: &mut Rig, random: &mut Random, volume: &Volume) {
    let (mut client, request) = (node(rig), volume.stage());
    kill_during(rig, random, async move {
        client.node_stage_volume(request).await
    })
    .await;
    let client = node(rig);
    until_done("stage", || {
        let (mut client, request) = (client.clone(), volume.stage());
        async move { client.node_stage_volume(request).await }
    })
    .await;
    let (mut client, request) = (node(rig), volume.publish());
    kill_during(rig, random, async move {
        client.node_publish_volume(request).await
    })
    .await;
    let client = node(rig);
    until_done("publish", || {
        let (mut client, request) = (client.clone(), volume.publish());
        async move { client.node_publish_volume(request).await }
    })
    .await;
}

async fn take_down(rig: &mut Rig, random: &mut Random, volume: &Volume) {
    let (mut client, request) = (node(rig), volume.unpublish());
    kill_during(rig, random, async move {
        client.node_unpublish_volume(request).await
    })
    .await;
    let client = node(rig);
    until_done("unpublish", || {
        let (mut client, request) = (client.clone(), volume.unpublish());
        async move { client.node_unpublish_volume(request).await }
    })
    .await;
    assert!(!volume.target.exists());
    let (mut client, request) = (node(rig), volume.unstage());
    kill_during(rig, random, async move {
        client.node_unstage_volume(request).await
    })
    .await;
    let client = node(rig);
    until_done("unstage", || {
        let (mut client, request) = (client.clone(), volume.unstage());
        async move { client.node_unstage_volume(request).await }
    })
    .await;
    let kubelet = &rig.machines[0].kubelet;
    assert_eq!(
        mounts_below(kubelet).unwrap(),
        Vec::<std::path::PathBuf>::new()
    );
    assert!(!volume.staging.exists());
    assert_eq!(Volume::records(rig), Vec::<std::path::PathBuf>::new());
}

async fn expand(rig: &mut Rig, random: &mut Random, volume: &Volume) {
    volume.enlarge(rig, 2).await;
    let (mut client, request) = (node(rig), volume.expand(2));
    kill_during(rig, random, async move {
        client.node_expand_volume(request).await
    })
    .await;
    let client = node(rig);
    until_done("expand", || {
        let (mut client, request) = (client.clone(), volume.expand(2));
        async move { client.node_expand_volume(request).await }
    })
    .await;
    let size = nix::sys::statvfs::statvfs(&volume.target).unwrap();
    assert!(size.blocks() * size.fragment_size() > 1 << 30);
}

async fn round(rig: &mut Rig, seed: u64, kind: &'static str) {
    println!("seed {seed}, {kind}");
    let random = &mut Random(seed);
    let volume = Volume::new(rig, &format!("v{seed}"), kind).await;
    bring_up(rig, random, &volume).await;
    let file = volume.target.join("data");
    let bytes = write(&file, seed);
    // This machine may not be allowed to grow a mounted ext filesystem.
    if kind != "ext4" {
        expand(rig, random, &volume).await;
        same(&file, &bytes, "after growing");
    }
    take_down(rig, random, &volume).await;
    bring_up(rig, random, &volume).await;
    same(&file, &bytes, "after another stage");
    take_down(rig, random, &volume).await;
    volume.detach(rig).await;
    volume.delete(rig).await;
}

async fn rounds(kind: &'static str, seeds: std::ops::Range<u64>) {
    run(async |rig: &mut Rig| {
        for seed in seeds {
            round(rig, seed, kind).await;
        }
    })
    .await;
}

#[tokio::test]
async fn ext4_survives_a_plugin_that_is_killed_in_every_call() {
    rounds("ext4", 0..6).await;
}

#[tokio::test]
async fn xfs_survives_a_plugin_that_is_killed_in_every_call() {
    rounds("xfs", 100..106).await;
}

#[tokio::test]
async fn btrfs_survives_a_plugin_that_is_killed_in_every_call() {
    rounds("btrfs", 200..204).await;
}

/// The worst moment: the tool that makes the filesystem may have written anything so far, and may go
/// on after the plugin is gone.
#[tokio::test]
async fn a_filesystem_that_was_not_finished_is_made_again() {
    run(async |rig: &mut Rig| {
        for kind in ["ext4", "xfs", "btrfs"] {
            let volume = Volume::new(rig, &format!("mkfs-{kind}"), kind).await;
            let (mut client, request) = (node(rig), volume.stage());
            let stage = async move { client.node_stage_volume(request).await };
            assert!(kill_at(rig, (Seen::Intent, 0), stage).await, "{kind}");
            bring_up(rig, &mut Random(7), &volume).await;
            let file = volume.target.join("data");
            let bytes = write(&file, 7);
            take_down(rig, &mut Random(8), &volume).await;
            bring_up(rig, &mut Random(9), &volume).await;
            same(&file, &bytes, kind);
            take_down(rig, &mut Random(10), &volume).await;
        }
    })
    .await;
}
