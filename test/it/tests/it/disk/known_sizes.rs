//! Problems that users of other drivers reported, played through: sizes of copies, quotas, spellings
//! of ids, and what a new process has to ask.

use azcsi_proto::csi::v1;
use azcsi_sim::Quotas;
use tonic::{Code, Request};
use v1::controller_server::Controller as _;
use v1::volume_content_source::{SnapshotSource, Type, VolumeSource};

use crate::world::{GIB, NODES, Outcome, Unusual, World, create_request};

const MIB: i64 = 1 << 20;

fn limited(quotas: Quotas) -> World {
    World::with(Unusual {
        quotas,
        ..Unusual::default()
    })
}

async fn snapshot(world: &World, name: &str, source: &str) -> Outcome<v1::Snapshot> {
    let request = v1::CreateSnapshotRequest {
        name: name.to_owned(),
        source_volume_id: source.to_owned(),
        ..Default::default()
    };
    let taken = world.controller.create_snapshot(Request::new(request));
    Ok(taken.await?.into_inner().snapshot.unwrap())
}

fn copy(name: &str, gib: i64, source: Type) -> v1::CreateVolumeRequest {
    v1::CreateVolumeRequest {
        volume_content_source: Some(v1::VolumeContentSource {
            r#type: Some(source),
        }),
        ..create_request(name, gib)
    }
}

fn of_snapshot(id: &str) -> Type {
    Type::Snapshot(SnapshotSource {
        snapshot_id: id.to_owned(),
    })
}

fn of_volume(id: &str) -> Type {
    Type::Volume(VolumeSource {
        volume_id: id.to_owned(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_an_odd_number_of_bytes_is_large_enough_sn_05() {
    let world = World::new();
    let volume = world.volume("imported", 10).await;
    world.sim.change(|azure| {
        let key = azure.disks.keys().next().unwrap().clone();
        azure.disks.get_mut(&key).unwrap().odd_bytes = MIB.unsigned_abs();
    });
    let taken = snapshot(&world, "snap", &volume.volume_id).await.unwrap();
    assert_eq!(taken.size_bytes, 11 * GIB, "what a restore needs");
    let sources = [
        of_snapshot(&taken.snapshot_id),
        of_volume(&volume.volume_id),
    ];
    for (number, source) in sources.into_iter().enumerate() {
        for asked in [9, 10, 11, 12] {
            let name = format!("copy-{number}-{asked}");
            let made = world
                .create(copy(&name, asked, source.clone()))
                .await
                .unwrap();
            assert_eq!(made.capacity_bytes, asked.max(11) * GIB, "{name}");
            let again = world
                .create(copy(&name, asked, source.clone()))
                .await
                .unwrap();
            assert_eq!(again, made);
        }
        let mut exact = copy(&format!("exact-{number}"), 10, source);
        exact.capacity_range.as_mut().unwrap().limit_bytes = 10 * GIB;
        let refused = world.create(exact).await.unwrap_err();
        assert_eq!(refused.code(), Code::OutOfRange, "{refused:?}");
    }
    let large = world.volume("large", 100).await;
    let refused = world
        .create(copy("small", 40, of_volume(&large.volume_id)))
        .await;
    assert_eq!(refused.unwrap_err().code(), Code::OutOfRange);
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_is_used_up_is_exhausted_and_leaves_nothing() {
    let world = limited("disks=2,snapshots=1".parse().unwrap());
    let first = world.volume("d1", 4).await;
    world.volume("d2", 4).await;
    let refused = world.create(create_request("d3", 4)).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert!(refused.message().contains("quota"), "{refused:?}");
    assert_eq!(world.sim.world().disks.len(), 2);
    world.volume("d1", 4).await;
    snapshot(&world, "s1", &first.volume_id).await.unwrap();
    let refused = snapshot(&world, "s2", &first.volume_id).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert_eq!(world.sim.world().snapshots.len(), 1);
    world.delete(&first.volume_id).await.unwrap();
    world.volume("d3", 4).await;
}

#[tokio::test(start_paused = true)]
async fn a_growth_beyond_the_quota_names_it_and_keeps_the_size() {
    let world = limited("gib=100".parse().unwrap());
    let mut request = create_request("d", 64);
    let sku = ("skuName".to_owned(), "PremiumV2_LRS".to_owned());
    request.parameters.extend([sku]);
    let volume = world.create(request).await.unwrap();
    let grow = |gib: i64| v1::ControllerExpandVolumeRequest {
        volume_id: volume.volume_id.clone(),
        capacity_range: Some(v1::CapacityRange {
            required_bytes: gib * GIB,
            limit_bytes: 0,
        }),
        ..Default::default()
    };
    let grown = world
        .controller
        .controller_expand_volume(Request::new(grow(128)));
    let refused = grown.await.unwrap_err();
    // CSI has no "exhausted" for a growth: it is tried again until there is room.
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    assert!(refused.message().contains("quota"), "{refused:?}");
    let grown = world
        .controller
        .controller_expand_volume(Request::new(grow(100)));
    assert_eq!(grown.await.unwrap().into_inner().capacity_bytes, 100 * GIB);
}

/// An id with its fixed words spelt in another way; its names stay.
fn respelt(id: &str, spell: fn(&str) -> String) -> String {
    let parts = id.split('/').enumerate();
    let parts = parts.map(|(at, part)| match at {
        // A provider's name is a fixed word too.
        1 | 3 | 5 | 6 | 7 => spell(part),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

fn mixed(word: &str) -> String {
    let letters = word.chars().enumerate();
    let turned = letters.map(|(at, letter)| match at % 2 {
        0 => letter.to_ascii_lowercase(),
        _ => letter.to_ascii_uppercase(),
    });
    turned.collect()
}

/// Every source in Azure has the usual fixed words, and its name as it was.
fn sources_are_spelt_as_usual(world: &World) {
    let azure = world.sim.world();
    let sources: Vec<&str> = azure
        .disks
        .values()
        .filter_map(|disk| disk.origin.source.as_deref())
        .collect();
    assert_eq!(sources.len(), 2);
    for source in sources {
        assert!(source.contains("/resourceGroups/"), "{source}");
        assert!(source.contains("/providers/Microsoft.Compute/"), "{source}");
        assert!(
            source.ends_with("/Data") || source.ends_with("/Snap"),
            "{source}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn fixed_words_of_an_id_have_any_case_and_azure_sees_the_usual_one_id_01() {
    let spellings: [fn(&str) -> String; 3] = [str::to_lowercase, str::to_uppercase, mixed];
    for (number, spell) in spellings.into_iter().enumerate() {
        let world = World::new();
        let volume = world.volume("Data", 4).await;
        let id = respelt(&volume.volume_id, spell);
        let taken = snapshot(&world, "Snap", &id).await.unwrap();
        let before = world.sim.requests(0).last().map_or(0, |last| last.number);
        let restored = copy(
            "restored",
            4,
            of_snapshot(&respelt(&taken.snapshot_id, spell)),
        );
        world.create(restored).await.unwrap();
        let clone = world
            .create(copy("clone", 4, of_volume(&id)))
            .await
            .unwrap();
        assert!(clone.volume_id.ends_with("/clone"), "{clone:?}");
        let requests = world.sim.requests(before);
        let disks = requests
            .iter()
            .filter(|request| request.path.contains("providers"));
        for request in disks.filter(|request| !request.class.ends_with("operation")) {
            for word in ["/subscriptions/", "/providers/Microsoft.Compute/"] {
                assert!(request.path.contains(word), "{number}: {}", request.path);
            }
        }
        sources_are_spelt_as_usual(&world);
        world.delete(&id).await.unwrap();
        assert!(
            !world
                .sim
                .world()
                .disks
                .values()
                .any(|disk| disk.id == volume.volume_id)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_disk_goes_whatever_became_of_its_volume_and_claim_pr_16() {
    // The volume, the claim, or both are gone from Kubernetes when the provisioner asks: the delete
    // needs none of them, and may be repeated by whoever sees the finalizer next.
    let world = World::new();
    let volume = world.volume("d", 4).await;
    let (first, second) = tokio::join!(
        world.delete(&volume.volume_id),
        world.delete(&volume.volume_id)
    );
    first.unwrap();
    second.unwrap();
    world.delete(&volume.volume_id).await.unwrap();
    assert!(world.sim.world().disks.is_empty());
    let next = world.restarted();
    next.delete(&volume.volume_id).await.unwrap();
    next.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_new_process_reads_each_machine_once_sc_08() {
    let world = World::new();
    let mut attached = Vec::new();
    for number in 0..12 {
        let node = NODES[number % NODES.len()];
        let volume = world.volume(&format!("d{number}"), 4).await;
        let lun = world.publish(&volume, node).await.unwrap();
        attached.push((volume, node, lun));
    }
    let next = world.restarted();
    let again = attached.iter().map(|(volume, node, lun)| {
        let next = &next;
        async move { assert_eq!(next.publish(volume, node).await.unwrap(), *lun) }
    });
    let work = futures_util::future::join_all(again);
    let (_, requests) = next.requests_of(work).await;
    let machines = |class: &&String| class.starts_with("GET") && class.contains("irtualMachine");
    let reads = requests.iter().filter(machines).count();
    assert!(reads <= NODES.len(), "{requests:?}");
    let writes = requests.iter().filter(|class| !class.starts_with("GET"));
    assert_eq!(writes.count(), 0, "{requests:?}");
}
