//! Whole lives: snapshots, restores, clones, growth, lists.

use azcsi_proto::csi::v1;
use tonic::{Code, Request};
use v1::controller_server::Controller as _;

use crate::world::{GIB, Outcome, World, create_request};

async fn snapshot(world: &World, name: &str, source: &str) -> Outcome<v1::Snapshot> {
    let request = v1::CreateSnapshotRequest {
        name: name.to_owned(),
        source_volume_id: source.to_owned(),
        ..Default::default()
    };
    Ok(world
        .controller
        .create_snapshot(Request::new(request))
        .await?
        .into_inner()
        .snapshot
        .unwrap())
}

fn from_snapshot(id: &str) -> Option<v1::VolumeContentSource> {
    use v1::volume_content_source::{SnapshotSource, Type};
    Some(v1::VolumeContentSource {
        r#type: Some(Type::Snapshot(SnapshotSource {
            snapshot_id: id.to_owned(),
        })),
    })
}

fn from_volume(id: &str) -> Option<v1::VolumeContentSource> {
    use v1::volume_content_source::{Type, VolumeSource};
    Some(v1::VolumeContentSource {
        r#type: Some(Type::Volume(VolumeSource {
            volume_id: id.to_owned(),
        })),
    })
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_belongs_to_its_source_sn_01() {
    let world = World::new();
    let one = world.volume("one", 4).await;
    let two = world.volume("two", 4).await;
    let taken = snapshot(&world, "snap", &one.volume_id).await.unwrap();
    let again = snapshot(&world, "snap", &one.volume_id).await.unwrap();
    assert_eq!(taken.snapshot_id, again.snapshot_id);
    assert_eq!(taken.size_bytes, 4 * GIB);
    assert_eq!(
        snapshot(&world, "snap", &two.volume_id)
            .await
            .unwrap_err()
            .code(),
        Code::AlreadyExists
    );
    assert_eq!(world.sim.world().snapshots.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_restored_volume_may_be_larger_and_says_that_it_must_grow() {
    let world = World::new();
    let source = world.volume("source", 4).await;
    let taken = snapshot(&world, "snap", &source.volume_id).await.unwrap();
    let mut request = create_request("restored", 10);
    request.volume_content_source = from_snapshot(&taken.snapshot_id);
    let restored = world.create(request).await.unwrap();
    assert_eq!(restored.capacity_bytes, 10 * GIB);
    assert!(restored.content_source.is_some());
    assert_eq!(restored.volume_context["resizeRequired"], "true");
    let mut small = create_request("small", 1);
    small.volume_content_source = from_snapshot(&taken.snapshot_id);
    if let Ok(volume) = world.create(small).await {
        assert!(
            volume.capacity_bytes >= 4 * GIB,
            "a restore never loses the end of the data"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_source_is_not_found() {
    let world = World::new();
    let gone = "/subscriptions/sub-1/resourceGroups/Rg/providers/Microsoft.Compute";
    for source in [
        from_snapshot("non-existing-snapshot-id"),
        from_snapshot(&format!("{gone}/snapshots/none")),
        from_volume("fake-vol-id"),
        from_volume(&format!("{gone}/disks/none")),
    ] {
        let mut request = create_request("pvc-1", 4);
        request.volume_content_source = source.clone();
        assert_eq!(
            world.create(request).await.unwrap_err().code(),
            Code::NotFound,
            "{source:?}"
        );
    }
    assert_eq!(world.sim.world().disks.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_clone_lies_in_the_zone_of_its_source() {
    let world = World::new();
    let source = world.volume("source", 4).await;
    let mut request = create_request("clone", 4);
    request.accessibility_requirements = None;
    request.volume_content_source = from_volume(&source.volume_id);
    let clone = world.create(request).await.unwrap();
    assert_eq!(clone.accessible_topology, source.accessible_topology);
    world.publish(&clone, "vm1").await.unwrap();
    world.assert_clean();
}

async fn expand(world: &World, id: &str, gib: i64) -> Outcome<v1::ControllerExpandVolumeResponse> {
    let request = v1::ControllerExpandVolumeRequest {
        volume_id: id.to_owned(),
        capacity_range: Some(v1::CapacityRange {
            required_bytes: gib * GIB,
            limit_bytes: 0,
        }),
        ..Default::default()
    };
    Ok(world
        .controller
        .controller_expand_volume(Request::new(request))
        .await?
        .into_inner())
}

#[tokio::test(start_paused = true)]
async fn a_disk_grows_while_it_is_used_and_never_shrinks_sn_16() {
    let world = World::new();
    let volume = world.volume("pvc-1", 4).await;
    world.publish(&volume, "vm1").await.unwrap();
    assert_eq!(
        expand(&world, &volume.volume_id, 8)
            .await
            .unwrap()
            .capacity_bytes,
        8 * GIB
    );
    assert_eq!(
        expand(&world, &volume.volume_id, 8)
            .await
            .unwrap()
            .capacity_bytes,
        8 * GIB
    );
    assert_eq!(
        expand(&world, &volume.volume_id, 5)
            .await
            .unwrap()
            .capacity_bytes,
        8 * GIB
    );
    assert_eq!(
        expand(&world, "fake-vol-id", 5).await.unwrap_err().code(),
        Code::NotFound
    );
    assert_eq!(
        expand(&world, &volume.volume_id, 70_000)
            .await
            .unwrap_err()
            .code(),
        Code::OutOfRange
    );
}

async fn list(world: &World, token: &str, most: i32) -> Outcome<v1::ListVolumesResponse> {
    let request = v1::ListVolumesRequest {
        max_entries: most,
        starting_token: token.to_owned(),
    };
    Ok(world
        .controller
        .list_volumes(Request::new(request))
        .await?
        .into_inner())
}

#[tokio::test(start_paused = true)]
async fn pages_survive_a_deletion_between_them_sn_19() {
    let world = World::new();
    for number in 0..7 {
        world.volume(&format!("pvc-{number}"), 1).await;
    }
    let first = list(&world, "", 3).await.unwrap();
    assert_eq!(first.entries.len(), 3);
    let last_seen = first.entries[2].volume.as_ref().unwrap().volume_id.clone();
    world.delete(&last_seen).await.unwrap();
    let mut seen: Vec<String> = Vec::new();
    let mut token = first.next_token.clone();
    while !token.is_empty() {
        let page = list(&world, &token, 2).await.unwrap();
        seen.extend(
            page.entries
                .iter()
                .map(|entry| entry.volume.as_ref().unwrap().volume_id.clone()),
        );
        token = page.next_token;
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
    for bad in ["invalid-token", "-1", "999999999999999999999"] {
        assert_eq!(
            list(&world, bad, 0).await.unwrap_err().code(),
            Code::Aborted,
            "{bad}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_says_on_which_nodes_a_volume_is() {
    let world = World::new();
    let volume = world.volume("pvc-1", 1).await;
    world.publish(&volume, "uni000001").await.unwrap();
    let page = list(&world, "", 0).await.unwrap();
    let entry = page.entries.into_iter().next().unwrap();
    assert_eq!(entry.volume.unwrap().volume_id, volume.volume_id);
    assert_eq!(entry.status.unwrap().published_node_ids, ["uni000001"]);
}

#[tokio::test(start_paused = true)]
async fn a_class_that_cannot_be_applied_changes_nothing_pr_29() {
    let world = World::new();
    let volume = world.volume("pvc-1", 4).await;
    let modify = |key: &str, value: &str| v1::ControllerModifyVolumeRequest {
        volume_id: volume.volume_id.clone(),
        mutable_parameters: [(key.to_owned(), value.to_owned())].into(),
        ..Default::default()
    };
    let call = async |request| {
        world
            .controller
            .controller_modify_volume(Request::new(request))
            .await
    };
    for (key, value) in [
        ("cachingMode", "None"),
        ("diskIOPSReadWrite", "5000"),
        ("nonsense", "1"),
    ] {
        let (outcome, requests) = world.requests_of(call(modify(key, value))).await;
        assert_eq!(outcome.unwrap_err().code(), Code::InvalidArgument, "{key}");
        assert!(
            !requests.iter().any(|class| class.starts_with("PATCH")),
            "{key}: {requests:?}"
        );
    }
    call(modify("skuName", "Premium_LRS")).await.unwrap();
    let disk = world.sim.world().disks.values().next().unwrap().clone();
    assert_eq!(disk.sku, "Premium_LRS");
    let (again, requests) = world
        .requests_of(call(modify("skuName", "Premium_LRS")))
        .await;
    again.unwrap();
    assert!(
        !requests.iter().any(|class| class.starts_with("PATCH")),
        "{requests:?}"
    );
}
