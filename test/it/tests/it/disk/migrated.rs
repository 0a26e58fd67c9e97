//! Volumes of the in-tree plugin as Kubernetes shows them to the driver: translated, under the handle
//! and with the attributes that the translation gives them.

use azcsi_migration::persistent_volume::{from_csi, to_csi};
use azcsi_migration::{Mode, storage_class};
use azcsi_proto::csi::v1;
use serde_json::{Value, json};
use tonic::Code;

use crate::world::{World, create_request, shared_block};

/// An in-tree volume of a disk.
fn in_tree(uri: &str, source: &Value) -> Value {
    let mut disk = json!({"diskName": "d", "diskURI": uri});
    for (key, value) in source.as_object().unwrap() {
        disk[key.as_str()] = value.clone();
    }
    json!({
        "metadata": {"name": "pv-1", "labels": {
            "failure-domain.beta.kubernetes.io/zone": "eastus2-1",
            "failure-domain.beta.kubernetes.io/region": "eastus2",
        }},
        "spec": {"azureDisk": disk, "accessModes": ["ReadWriteOnce"]},
    })
}

/// The volume as the driver gets to see it.
fn migrated(uri: &str, source: &Value) -> v1::Volume {
    let csi = to_csi(Mode::Compat, &in_tree(uri, source)).unwrap();
    let attributes = csi["spec"]["csi"]["volumeAttributes"].as_object().unwrap();
    v1::Volume {
        volume_id: csi["spec"]["csi"]["volumeHandle"]
            .as_str()
            .unwrap()
            .to_owned(),
        volume_context: attributes
            .iter()
            .map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned()))
            .collect(),
        ..v1::Volume::default()
    }
}

fn caching_on(world: &World, node: &str) -> String {
    let azure = world.sim.world();
    let machine = azure
        .machines
        .values()
        .find(|machine| machine.computer_name == node);
    machine.unwrap().data_disks[0].caching.clone()
}

#[tokio::test(start_paused = true)]
async fn a_migrated_volume_attaches_and_detaches_whatever_the_case_of_its_id_pk_11() {
    for spelling in [str::to_owned, str::to_lowercase, str::to_uppercase] {
        let world = World::new();
        let disk = world.volume("kubernetes-dynamic-pvc-1", 8).await;
        let volume = migrated(&spelling(&disk.volume_id), &json!({"kind": "managed"}));
        let lun = world.publish(&volume, "vm1").await.unwrap();
        assert_eq!(
            world.publish(&disk, "vm1").await.unwrap(),
            lun,
            "the same attachment"
        );
        world.unpublish(&volume.volume_id, "vm1").await.unwrap();
        assert!(world.disks_on("vm1").is_empty());
        world.assert_clean();
    }
}

#[tokio::test(start_paused = true)]
async fn the_cache_mode_of_the_in_tree_source_is_kept() {
    for (source, wanted) in [
        (json!({"cachingMode": "None"}), "None"),
        (
            json!({"cachingMode": "ReadOnly", "fsType": "xfs"}),
            "ReadOnly",
        ),
        (
            json!({"cachingMode": "ReadWrite", "readOnly": true}),
            "ReadWrite",
        ),
        (json!({"cachingMode": ""}), "ReadOnly"),
        (json!({}), "ReadOnly"),
    ] {
        let world = World::new();
        let disk = world.volume("pvc-1", 8).await;
        let volume = migrated(&disk.volume_id, &source);
        world.publish(&volume, "vm1").await.unwrap();
        assert_eq!(caching_on(&world, "vm1"), wanted, "{source}");
        world.assert_clean();
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_mode_that_does_not_exist_is_the_callers_mistake() {
    let world = World::new();
    let disk = world.volume("pvc-1", 8).await;
    let volume = migrated(&disk.volume_id, &json!({"cachingMode": "Sometimes"}));
    let error = world.publish(&volume, "vm1").await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
}

/// The in-tree source has no place for the number of shares. The driver then lets nobody in twice; the
/// permanent conversion writes the number down, and both machines get the disk.
#[tokio::test(start_paused = true)]
async fn a_shared_disk_is_shared_once_its_conversion_says_so() {
    use v1::controller_server::Controller as _;
    let world = World::new();
    let mut request = create_request("shared", 256);
    request.parameters = [
        ("skuName", "Premium_LRS"),
        ("maxShares", "2"),
        ("cachingMode", "None"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    request.volume_capabilities = vec![shared_block()];
    let disk = world.create(request).await.unwrap();
    let mut volume = migrated(&disk.volume_id, &json!({"cachingMode": "None"}));
    let publish = |volume: &v1::Volume, node: &str| {
        let mut request = World::publish_request(volume, node);
        request.volume_capability = Some(shared_block());
        world
            .controller
            .controller_publish_volume(tonic::Request::new(request))
    };
    let error = publish(&volume, "vm1").await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    let shares = ("maxShares".to_owned(), "2".to_owned());
    volume.volume_context.extend([shares]);
    for node in ["vm1", "flex_1"] {
        publish(&volume, node).await.unwrap();
        assert!(world.disks_on(node).contains_key("shared"), "{node}");
    }
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_migrated_volume_grows_and_goes_sn_17() {
    use v1::controller_server::Controller as _;
    let world = World::new();
    let disk = world.volume("pvc-1", 8).await;
    let volume = migrated(&disk.volume_id.to_lowercase(), &json!({"fsType": "ext4"}));
    let request = v1::ControllerExpandVolumeRequest {
        volume_id: volume.volume_id.clone(),
        capacity_range: Some(v1::CapacityRange {
            required_bytes: 16 << 30,
            limit_bytes: 0,
        }),
        ..Default::default()
    };
    let reply = world
        .controller
        .controller_expand_volume(tonic::Request::new(request))
        .await;
    assert_eq!(reply.unwrap().into_inner().capacity_bytes, 16 << 30);
    world.delete(&volume.volume_id).await.unwrap();
    assert!(!world.has_disk("pvc-1"));
    world.assert_clean();
}

/// What an external provisioner does for a class of the in-tree plugin: it translates the class,
/// creates, and stores the volume in its in-tree form.
#[tokio::test(start_paused = true)]
async fn a_volume_of_an_in_tree_class_is_made_and_translates_back_id_18() {
    let world = World::new();
    let class = json!({
        "provisioner": "kubernetes.io/azure-disk",
        "parameters": {"storageaccounttype": "StandardSSD_LRS", "kind": "managed",
            "cachingmode": "None", "zoned": "true"},
    });
    let class = storage_class::to_csi(Mode::Compat, &class).unwrap();
    let mut request = create_request("pvc-1", 8);
    request.parameters = class["parameters"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned()))
        .collect();
    let made = world.create(request).await.unwrap();
    let csi = json!({"metadata": {"name": "pvc-1"}, "spec": {"csi": {
        "driver": "disk.csi.azure.com", "volumeHandle": made.volume_id,
        "volumeAttributes": made.volume_context,
    }}});
    let stored = from_csi(Mode::Compat, &csi).unwrap();
    assert_eq!(stored["spec"]["azureDisk"]["cachingMode"], "None");
    assert_eq!(stored["spec"]["azureDisk"]["diskName"], "pvc-1");
}
