//! Problems that users of other drivers reported, played through: disks, snapshots, ids and tags.

use azcsi_proto::csi::v1;
use azcsi_sim::faults::Effect;
use tonic::{Code, Request};
use v1::controller_server::Controller as _;

use crate::world::{GIB, Outcome, REGION, SUBSCRIPTION, World, create_request};

fn class(name: &str, gib: i64, parameters: &[(&str, &str)]) -> v1::CreateVolumeRequest {
    let pair = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    v1::CreateVolumeRequest {
        parameters: parameters.iter().map(pair).collect(),
        ..create_request(name, gib)
    }
}

async fn snapshot(
    world: &World,
    source: &str,
    parameters: &[(&str, &str)],
) -> Outcome<v1::Snapshot> {
    let pair = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    let request = v1::CreateSnapshotRequest {
        name: "snap".to_owned(),
        source_volume_id: source.to_owned(),
        parameters: parameters.iter().map(pair).collect(),
        ..Default::default()
    };
    let taken = world.controller.create_snapshot(Request::new(request));
    Ok(taken.await?.into_inner().snapshot.unwrap())
}

async fn expand(world: &World, id: &str, gib: i64) -> Outcome<i64> {
    let request = v1::ControllerExpandVolumeRequest {
        volume_id: id.to_owned(),
        capacity_range: Some(v1::CapacityRange {
            required_bytes: gib * GIB,
            limit_bytes: 0,
        }),
        ..Default::default()
    };
    let grown = world
        .controller
        .controller_expand_volume(Request::new(request));
    Ok(grown.await?.into_inner().capacity_bytes)
}

async fn modify(world: &World, id: &str, sku: &str) -> Outcome<()> {
    let request = v1::ControllerModifyVolumeRequest {
        volume_id: id.to_owned(),
        mutable_parameters: [("skuName".to_owned(), sku.to_owned())].into(),
        ..Default::default()
    };
    let modified = world
        .controller
        .controller_modify_volume(Request::new(request));
    modified.await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn ids_are_the_same_disk_in_any_case_id_02() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    world.fault("GET", "virtualMachines", 9, Effect::WrongCasing);
    world.fault(
        "POST",
        "virtualMachines/attachDetachDataDisks",
        9,
        Effect::WrongCasing,
    );
    let lun = world.publish(&volume, "vm1").await.unwrap();
    let mut shouted = volume.clone();
    shouted.volume_id = volume
        .volume_id
        .replace("resourceGroups/Rg", "RESOURCEGROUPS/RG");
    assert_eq!(world.publish(&shouted, "vm1").await.unwrap(), lun);
    let id = volume.volume_id.to_lowercase();
    world.unpublish(&id, "vm1").await.unwrap();
    assert!(world.disks_on("vm1").is_empty());
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn tags_are_stored_byte_for_byte_or_refused_id_11() {
    let long = format!("{}=v", "k".repeat(513));
    let many: Vec<String> = (0..51).map(|n| format!("k{n}=v")).collect();
    for (tags, delimiter, kept) in [
        ("a.b=c", ",", Some(("a.b", "c"))),
        ("Env=Dev/Test", ",", Some(("Env", "Dev/Test"))),
        ("k=a,b", ";", Some(("k", "a,b"))),
        ("k=a=b", ",", Some(("k", "a=b"))),
        ("a/b=c", ",", None),
        (&long, ",", None),
        (&many.join(","), ",", None),
    ] {
        let world = World::new();
        let pairs = [("tags", tags), ("tagValueDelimiter", delimiter)];
        let made = world.create(class("d", 4, &pairs)).await;
        match kept {
            Some((key, value)) => {
                made.unwrap();
                let azure = world.sim.world();
                let disk = azure.disks.values().next().unwrap();
                assert_eq!(disk.tags[key], value);
            }
            None => {
                let code = made.unwrap_err().code();
                assert_eq!(code, Code::InvalidArgument, "{tags:.40}");
                assert!(world.sim.world().disks.is_empty());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn long_names_stay_different_and_a_taken_one_is_refused_id_14() {
    let world = World::new();
    let claim = "N".repeat(200);
    let template = [
        ("diskName", "${pvc.metadata.name}"),
        ("csi.storage.k8s.io/pvc/name", claim.as_str()),
    ];
    let first = world.create(class("pvc-1", 4, &template)).await.unwrap();
    let name = first.volume_id.rsplit('/').next().unwrap();
    assert!(name.len() <= 80, "{name}");
    // Another namespace, the same claim: the same disk name, but another owner.
    let second = world
        .create(class("pvc-2", 4, &template))
        .await
        .unwrap_err();
    assert_eq!(second.code(), Code::AlreadyExists, "{second:?}");
    assert_eq!(world.sim.world().disks.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_offered_in_the_zone_is_exhausted_pr_07() {
    let world = World::new();
    let mut request = class("d", 4, &[("skuName", "UltraSSD_LRS")]);
    let requirement = request.accessibility_requirements.as_mut().unwrap();
    for term in requirement
        .requisite
        .iter_mut()
        .chain(&mut requirement.preferred)
    {
        let zone = term.segments.values_mut().next().unwrap();
        "eastus2-9".clone_into(zone);
    }
    let refused = world.create(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    for word in ["UltraSSD_LRS", "eastus2-9"] {
        assert!(refused.message().contains(word), "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn caching_follows_kind_and_size_whatever_the_class_says_pr_08() {
    for (sku, gib, wish, caching) in [
        ("PremiumV2_LRS", 4, None, "None"),
        ("Premium_LRS", 8192, Some("ReadOnly"), "None"),
        ("Premium_LRS", 64, None, "ReadOnly"),
    ] {
        let world = World::new();
        let mut pairs = vec![("skuName", sku)];
        pairs.extend(wish.map(|wish| ("cachingMode", wish)));
        let volume = world.create(class("d", gib, &pairs)).await.unwrap();
        world.publish(&volume, "vm1").await.unwrap();
        let azure = world.sim.world();
        let machine = azure.machines.values().find(|m| m.computer_name == "vm1");
        assert_eq!(
            machine.unwrap().data_disks[0].caching,
            caching,
            "{sku} {gib}"
        );
    }
    let world = World::new();
    let pairs = [("skuName", "PremiumV2_LRS"), ("cachingMode", "ReadOnly")];
    let refused = world.create(class("d", 4, &pairs)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}

#[tokio::test(start_paused = true)]
async fn zone_redundant_disks_are_reached_from_the_zones_that_the_region_has_pr_11() {
    let world = World::new();
    let volume = world
        .create(class("d", 4, &[("skuName", "Premium_ZRS")]))
        .await
        .unwrap();
    let zones: Vec<&str> = volume
        .accessible_topology
        .iter()
        .map(|term| term.segments["topology.disk.csi.azure.com/zone"].as_str())
        .collect();
    assert_eq!(zones, ["eastus2-1", "eastus2-2", "eastus2-3", ""]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_names_action_and_scope_pr_13() {
    let world = World::new();
    let message = "The client has permission to perform action 'Microsoft.Compute/disks/write' on \
                   scope '/d', however the linked subscription lacks \
                   'Microsoft.Compute/diskEncryptionSets/read' on '/des'.";
    let effect = Effect::Status {
        status: 403,
        code: "LinkedAuthorizationFailed".to_owned(),
        message: message.to_owned(),
    };
    world.fault("PUT", "disks", 1, effect);
    let refused = world.create(create_request("d", 4)).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
    for word in [
        "LinkedAuthorizationFailed",
        "diskEncryptionSets/read",
        "'/des'",
    ] {
        assert!(refused.message().contains(word), "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_in_another_group_is_restored_listed_and_deleted_sn_04() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    world.sim.change(|azure| {
        azure.add_group(SUBSCRIPTION, "other", REGION);
    });
    let taken = snapshot(&world, &volume.volume_id, &[("resourceGroup", "other")])
        .await
        .unwrap();
    assert!(taken.snapshot_id.contains("/other/"), "{taken:?}");
    assert!(taken.ready_to_use);
    let mut restore = create_request("restored", 4);
    restore.volume_content_source = Some(v1::VolumeContentSource {
        r#type: Some(v1::volume_content_source::Type::Snapshot(
            v1::volume_content_source::SnapshotSource {
                snapshot_id: taken.snapshot_id.clone(),
            },
        )),
    });
    world.create(restore).await.unwrap();
    let request = v1::ListSnapshotsRequest {
        snapshot_id: taken.snapshot_id.clone(),
        ..Default::default()
    };
    let listed = world.controller.list_snapshots(Request::new(request));
    assert_eq!(listed.await.unwrap().into_inner().entries.len(), 1);
    let request = v1::DeleteSnapshotRequest {
        snapshot_id: taken.snapshot_id,
        ..Default::default()
    };
    world
        .controller
        .delete_snapshot(Request::new(request))
        .await
        .unwrap();
    assert!(world.sim.world().snapshots.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_keeps_the_size_of_its_time_sn_11() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    snapshot(&world, &volume.volume_id, &[]).await.unwrap();
    expand(&world, &volume.volume_id, 16).await.unwrap();
    let again = snapshot(&world, &volume.volume_id, &[]).await.unwrap();
    assert_eq!(again.size_bytes, 4 * GIB);
}

#[tokio::test(start_paused = true)]
async fn tags_and_policies_of_a_snapshot_class_are_applied_sn_13() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    let pairs = [
        ("tags", "a=1;b=2,3"),
        ("tagValueDelimiter", ";"),
        ("networkAccessPolicy", "DenyAll"),
        ("csi.storage.k8s.io/volumesnapshot/name", "nightly"),
        ("csi.storage.k8s.io/volumesnapshot/namespace", "app"),
    ];
    snapshot(&world, &volume.volume_id, &pairs).await.unwrap();
    let azure = world.sim.world();
    let taken = azure.snapshots.values().next().unwrap();
    for (key, value) in [
        ("a", "1"),
        ("b", "2,3"),
        ("kubernetes.io-created-for-snapshot-name", "nightly"),
        ("kubernetes.io-created-for-snapshot-namespace", "app"),
    ] {
        assert_eq!(taken.tags[key], value);
    }
    assert_eq!(taken.more["networkAccessPolicy"], "DenyAll");
    let refused = snapshot(&world, &volume.volume_id, &[("no", "x")]).await;
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test(start_paused = true)]
async fn every_spelling_of_a_handle_grows_sn_17() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    let id = &volume.volume_id;
    let spellings = [
        id.clone(),
        id.to_lowercase(),
        id.replace("resourceGroups", "resourcegroups"),
        id.replace("/subscriptions/", "/Subscriptions/"),
    ];
    for (id, gib) in spellings.iter().zip(5..) {
        assert_eq!(expand(&world, id, gib).await.unwrap(), gib * GIB, "{id}");
    }
    assert_eq!(world.sim.world().disks.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_is_being_converted_is_not_converted_again_sn_20() {
    let world = World::with(crate::world::Unusual {
        profile: azcsi_sim::Profile::Azure,
        ..Default::default()
    });
    let volume = world
        .create(class("d", 64, &[("skuName", "Premium_LRS")]))
        .await
        .unwrap();
    modify(&world, &volume.volume_id, "PremiumV2_LRS")
        .await
        .unwrap();
    let again = modify(&world, &volume.volume_id, "Premium_LRS")
        .await
        .unwrap_err();
    assert_eq!(again.code(), Code::Aborted, "{again:?}");
    modify(&world, &volume.volume_id, "PremiumV2_LRS")
        .await
        .unwrap();
}
