//! Snapshots: one for each name, and never the share behind one.

use azcsi_proto::csi::v1;
use azcsi_sim::faults::Effect;
use tonic::Code;
use v1::controller_server::Controller as _;

use super::world::{GIB, Outcome, SHARES, World};

const PVC: &str = "pvc-3f0e3b4a-1111-2222-3333-444455556666";

impl World {
    pub(crate) async fn snapshot(&self, name: &str, source: &str) -> Outcome<v1::Snapshot> {
        let request = v1::CreateSnapshotRequest {
            name: name.to_owned(),
            source_volume_id: source.to_owned(),
            ..Default::default()
        };
        let request = tonic::Request::new(request);
        let reply = self.controller.create_snapshot(request).await?;
        Ok(reply.into_inner().snapshot.unwrap())
    }

    async fn delete_snapshot(&self, id: &str) -> Outcome<()> {
        let request = v1::DeleteSnapshotRequest {
            snapshot_id: id.to_owned(),
            ..Default::default()
        };
        let request = tonic::Request::new(request);
        self.controller.delete_snapshot(request).await.map(drop)
    }

    async fn list(&self, snapshot: &str, source: &str) -> Outcome<Vec<v1::Snapshot>> {
        let request = v1::ListSnapshotsRequest {
            snapshot_id: snapshot.to_owned(),
            source_volume_id: source.to_owned(),
            ..Default::default()
        };
        let request = tonic::Request::new(request);
        let reply = self.controller.list_snapshots(request).await?;
        let entries = reply.into_inner().entries.into_iter();
        Ok(entries.map(|entry| entry.snapshot.unwrap()).collect())
    }

    fn snapshot_count(&self) -> usize {
        let world = self.sim.world();
        world
            .shares
            .values()
            .map(|share| share.snapshots.len())
            .sum()
    }
}

#[tokio::test(start_paused = true)]
async fn one_name_is_one_snapshot_whatever_happens_sn_07() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    let first = world
        .snapshot("snapshot-1", &volume.volume_id)
        .await
        .unwrap();
    assert_eq!(first.size_bytes, 5 * GIB);
    assert_eq!(first.source_volume_id, volume.volume_id);
    let again = world
        .restarted()
        .snapshot("snapshot-1", &volume.volume_id)
        .await;
    assert_eq!(again.unwrap().snapshot_id, first.snapshot_id);
    // Where it cannot be looked for, none is taken.
    for effect in [
        Effect::Throttle {
            retry_after: Some(900),
        },
        Effect::Status {
            status: 500,
            code: "InternalError".into(),
            message: "x".into(),
        },
    ] {
        world.fault("GET", SHARES, 50, effect);
        let other = world.restarted();
        let outcome = other.snapshot("snapshot-2", &volume.volume_id).await;
        assert!(outcome.is_err());
        world.sim.clear_faults();
        assert_eq!(world.snapshot_count(), 1);
    }
    world.fault("PUT", SHARES, 1, Effect::ResetAfter);
    let lost = world.snapshot("snapshot-3", &volume.volume_id).await;
    assert!(lost.is_err());
    world.sim.clear_faults();
    world
        .restarted()
        .snapshot("snapshot-3", &volume.volume_id)
        .await
        .unwrap();
    assert_eq!(world.snapshot_count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_delete_takes_one_snapshot_and_never_the_share_sn_01() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    let first = world
        .snapshot("snapshot-1", &volume.volume_id)
        .await
        .unwrap();
    let second = world
        .snapshot("snapshot-2", &volume.volume_id)
        .await
        .unwrap();
    world.delete_snapshot(&first.snapshot_id).await.unwrap();
    world.delete_snapshot(&first.snapshot_id).await.unwrap();
    assert_eq!((world.shares().len(), world.snapshot_count()), (1, 1));
    let garbled = [
        volume.volume_id.clone(),
        format!("{}#", volume.volume_id),
        format!(
            "{}#yesterday#11111111-2222-3333-4444-555555555555",
            volume.volume_id
        ),
        "nothing".to_owned(),
    ];
    for id in garbled {
        let (done, requests) = world.requests_of(world.delete_snapshot(&id)).await;
        done.unwrap();
        assert_eq!(requests, Vec::<String>::new(), "{id}");
    }
    assert_eq!((world.shares().len(), world.snapshot_count()), (1, 1));
    assert_eq!(
        world.list("", "").await.unwrap()[0].snapshot_id,
        second.snapshot_id
    );
}

#[tokio::test(start_paused = true)]
async fn a_share_with_snapshots_is_not_deleted_sn_02() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    let taken = world
        .snapshot("snapshot-1", &volume.volume_id)
        .await
        .unwrap();
    let status = world.delete(&volume.volume_id).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    assert!(status.message().contains("1 snapshots"), "{status:?}");
    assert_eq!((world.shares().len(), world.snapshot_count()), (1, 1));
    world.delete_snapshot(&taken.snapshot_id).await.unwrap();
    world.delete(&volume.volume_id).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn size_and_source_are_those_of_the_moment_sn_11() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    let taken = world
        .snapshot("snapshot-1", &volume.volume_id)
        .await
        .unwrap();
    let listed = world.list(&taken.snapshot_id, "").await.unwrap();
    assert_eq!(listed, vec![taken.clone()]);
    assert_eq!(
        world.list("", &volume.volume_id).await.unwrap(),
        vec![taken]
    );
    for (snapshot, source) in [("nothing", ""), ("", "nothing"), ("", "rg#acct#gone###ns")] {
        assert_eq!(
            world.list(snapshot, source).await.unwrap(),
            Vec::new(),
            "{snapshot}{source}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_name_for_another_volume_is_refused() {
    let world = World::new();
    let one = world.volume("pvc-1", 5, &[]).await;
    let two = world.volume("pvc-2", 5, &[]).await;
    world.snapshot("snapshot-1", &one.volume_id).await.unwrap();
    let status = world
        .snapshot("snapshot-1", &two.volume_id)
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::AlreadyExists);
    let gone = world
        .snapshot("snapshot-9", "rg#acct1#gone###ns")
        .await
        .unwrap_err();
    assert!(gone.message().contains("does not exist"), "{gone:?}");
}
