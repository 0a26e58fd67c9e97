//! Problems that users of other drivers reported, played through: attach and detach.

use std::time::Duration;

use azcsi_disk::controller::ports::NodeState;
use azcsi_sim::faults::Effect;
use tokio::time::{Instant, sleep};
use tonic::Code;

use crate::world::{NODES, Unusual, World};

const WRITE: &str = "virtualMachines/attachDetachDataDisks";

fn writes(requests: &[String]) -> usize {
    let is_write = |class: &&String| class.ends_with("attachDetachDataDisks");
    requests.iter().filter(is_write).count()
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_is_on_its_node_already_is_found_and_not_moved_ad_05() {
    for node in NODES {
        let world = World::new();
        let volume = world.volume("d", 4).await;
        let lun = world.publish(&volume, node).await.unwrap();
        // Another process, which remembers nothing of it.
        let next = world.restarted();
        let (again, requests) = next.requests_of(next.publish(&volume, node)).await;
        assert_eq!(again.unwrap(), lun, "{node}");
        assert_eq!(writes(&requests), 0, "{node}: {requests:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_detach_from_a_vanished_machine_ends_when_the_disk_has_moved_on_ad_07() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    world.publish(&volume, "vm1").await.unwrap();
    world.sim.change(|azure| {
        let gone = |machine: &azcsi_sim::world::Machine| machine.computer_name == "vm1";
        azure.machines.retain(|_, machine| !gone(machine));
        let id = azure
            .machines
            .values()
            .find(|m| m.computer_name == "flex_1");
        let owner = id.unwrap().id.clone();
        let disk = azure
            .disks
            .values_mut()
            .find(|disk| disk.id.ends_with("/d"));
        disk.unwrap().owners = vec![owner];
    });
    let (left, requests) = world
        .requests_of(world.unpublish(&volume.volume_id, "vm1"))
        .await;
    left.unwrap();
    let reads = requests
        .iter()
        .filter(|class| *class == "GET disks")
        .count();
    assert!(reads <= 1, "{requests:?}");
    assert_eq!(writes(&requests), 1, "one try at the machine: {requests:?}");
}

#[tokio::test(start_paused = true)]
async fn an_ordinary_detach_reads_no_disk_ad_07() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    world.publish(&volume, "vm1").await.unwrap();
    let (left, requests) = world
        .requests_of(world.unpublish(&volume.volume_id, "vm1"))
        .await;
    left.unwrap();
    assert!(
        !requests.iter().any(|class| class == "GET disks"),
        "{requests:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn every_shape_of_a_missing_machine_ends_the_detach_ad_08() {
    let shapes = [
        (404, "ResourceNotFound", "The Resource was not found."),
        (404, "ParentResourceNotFound", "The parent was not found."),
        (404, "NotFound", "The entity was not found."),
        (
            400,
            "InvalidParameter",
            "The provided instanceId 7 is not an active Virtual Machine Scale Set VM instanceId.",
        ),
    ];
    for (status, code, message) in shapes {
        for node in ["uni000000", "vm1"] {
            let world = World::new();
            let volume = world.volume("d", 4).await;
            world.publish(&volume, node).await.unwrap();
            world.sim.change(|azure| {
                azure.machines.retain(|_, m| m.computer_name != node);
                azure
                    .disks
                    .values_mut()
                    .for_each(|disk| disk.owners.clear());
            });
            let effect = Effect::Status {
                status,
                code: code.to_owned(),
                message: message.to_owned(),
            };
            world.fault("POST", WRITE, 1, effect);
            for to in [node, ""] {
                let left = world.unpublish(&volume.volume_id, to).await;
                left.unwrap_or_else(|error| panic!("{code} {node} '{to}': {error:?}"));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_node_takes_a_disk_in_the_write_that_frees_a_slot_ad_13() {
    let world = World::new();
    let mut volumes = Vec::new();
    for number in 0..9 {
        volumes.push(world.volume(&format!("d{number}"), 4).await);
    }
    for volume in &volumes[..8] {
        world.publish(volume, "vm1").await.unwrap();
    }
    let (old, new) = (&volumes[0], &volumes[8]);
    let (left, came) = tokio::join!(
        world.unpublish(&old.volume_id, "vm1"),
        world.publish(new, "vm1")
    );
    left.unwrap();
    if came.is_err() {
        world.publish(new, "vm1").await.unwrap();
    }
    assert!(world.disks_on("vm1").contains_key("d8"));
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_failed_machine_is_worked_on_before_it_is_believed_ad_14() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    world.fault("POST", WRITE, 1, Effect::VmFailed);
    let first = world.publish(&volume, "vm1").await;
    world.sim.clear_faults();
    let lun = match first {
        Ok(lun) => lun,
        Err(_) => world.publish(&volume, "vm1").await.unwrap(),
    };
    world.sim.settle();
    assert_eq!(world.disks_on("vm1")["d"], u32::from(lun.get()));
    let azure = world.sim.world();
    let disk = azure.disks.values().next().unwrap();
    assert_eq!(disk.owners.len(), 1, "it is really there");
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn after_throttling_the_next_call_attaches_anew_ad_20() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    let throttle = Effect::Throttle {
        retry_after: Some(500),
    };
    world.fault("POST", WRITE, 1, throttle);
    let refused = world.publish(&volume, "vm1").await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    sleep(Duration::from_secs(501)).await;
    let (came, requests) = world.requests_of(world.publish(&volume, "vm1")).await;
    came.unwrap();
    assert_eq!(writes(&requests), 1, "{requests:?}");
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn slots_of_other_disks_count_and_the_call_says_so_ad_22() {
    let world = World::new();
    world.sim.change(|azure| {
        let machine = azure
            .machines
            .values_mut()
            .find(|m| m.computer_name == "vm1");
        machine.unwrap().size = "Standard_D2s_v5".to_owned();
    });
    let mut refused = None;
    for number in 0..5 {
        let volume = world.volume(&format!("d{number}"), 4).await;
        refused = world.publish(&volume, "vm1").await.err();
    }
    let refused = refused.unwrap();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert!(refused.message().contains("allows 4"), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_machine_of_the_same_name_takes_the_place_of_the_old_one_ad_25() {
    let world = World::new();
    let first = world.volume("first", 4).await;
    world.publish(&first, "uni000001").await.unwrap();
    // The instance is made anew under another number, with the same host name.
    let machine = world.sim.change(|azure| {
        let old = azure
            .machines
            .iter()
            .find(|(_, m)| m.computer_name == "uni000001");
        let (key, mut machine) = old.map(|(k, m)| (k.clone(), m.clone())).unwrap();
        azure.machines.remove(&key);
        machine.id = machine
            .id
            .replace("/virtualMachines/1", "/virtualMachines/7");
        machine.data_disks.clear();
        if let azcsi_sim::world::MachineKind::Instance { instance_id, .. } = &mut machine.kind {
            *instance_id = "7".to_owned();
        }
        azure
            .disks
            .values_mut()
            .for_each(|disk| disk.owners.clear());
        azure.add_machine(machine.clone());
        machine
    });
    let vm = machine.id.parse().unwrap();
    world
        .kubernetes
        .machines
        .lock()
        .unwrap()
        .insert("uni000001".to_owned(), vm);
    let lun = world.publish(&first, "uni000001").await.unwrap();
    assert_eq!(world.disks_on("uni000001")["first"], u32::from(lun.get()));
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_fenced_node_lets_go_without_its_guest_ad_26() {
    let world = World::new();
    let volume = world.volume("d", 4).await;
    world.publish(&volume, "vm1").await.unwrap();
    world.kubernetes.set_state("vm1", NodeState::OutOfService);
    world.fault("POST", WRITE, 1, Effect::NeverEnds);
    let begin = Instant::now();
    while world.unpublish(&volume.volume_id, "vm1").await.is_err() {
        assert!(begin.elapsed() < Duration::from_secs(3600), "it never ends");
        sleep(Duration::from_secs(10)).await;
    }
    world.sim.settle();
    assert!(world.disks_on("vm1").is_empty());
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_azure_lost_does_not_hold_an_attach_for_ever_ad_28() {
    let world = World::with(Unusual::default());
    let volume = world.volume("d", 4).await;
    world.fault("POST", WRITE, 1, Effect::NeverEnds);
    let begin = Instant::now();
    while world.publish(&volume, "vm1").await.is_err() {
        world.sim.clear_faults();
        assert!(begin.elapsed() < Duration::from_secs(3600), "it never ends");
        sleep(Duration::from_secs(10)).await;
    }
    world.sim.settle();
    assert!(world.disks_on("vm1").contains_key("d"));
}
