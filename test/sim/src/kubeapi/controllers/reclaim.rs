//! Protection finalizers, the reclaim policy, and the disks that it deletes.

use serde_json::Value;

use super::{Log, View, object, text, uses};

const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";
const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
const PROVISIONER: &str = "external-provisioner.volume.kubernetes.io/finalizer";

pub(super) fn act(view: View<'_>, log: &mut Log) {
    for claim in view.all("PersistentVolumeClaim") {
        let (namespace, name) = (object::namespace(&claim), object::name(&claim));
        let used = view.all("Pod").iter().any(|pod| uses(pod, namespace, name));
        let going = object::is_being_deleted(&claim);
        if !going || !used {
            view.finalizer(&claim, CLAIM_PROTECTION, !going);
        }
    }
    for volume in view.all("PersistentVolume") {
        reclaim(view, &volume, log);
    }
}

fn reclaim(view: View<'_>, volume: &Value, log: &mut Log) {
    let going = object::is_being_deleted(volume);
    let deletes = text(volume, "/spec/persistentVolumeReclaimPolicy") == "Delete";
    let phase = text(volume, "/status/phase");
    if !going {
        let dynamic = volume
            .pointer("/metadata/annotations/pv.kubernetes.io~1provisioned-by")
            .is_some();
        view.finalizer(volume, VOLUME_PROTECTION, true);
        if let Some(volume) = view.get("PersistentVolume", "", object::name(volume)) {
            view.finalizer(&volume, PROVISIONER, deletes && dynamic);
        }
        if deletes && phase == "Released" {
            view.delete(volume);
        }
        return;
    }
    if phase == "Bound" {
        return;
    }
    let holds = |name: &str| {
        let list = volume
            .pointer("/metadata/finalizers")
            .and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|one| one == name))
    };
    // With its finalizer there, the provisioner deletes the disk before the object goes.
    if deletes && (holds(PROVISIONER) || phase == "Released") {
        let handle = volume
            .pointer("/spec/csi/volumeHandle")
            .or_else(|| volume.pointer("/spec/azureDisk/diskURI"));
        let handle = handle
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if !log.deleted.contains(&handle) {
            log.deleted.push(handle);
        }
    }
    view.finalizer(volume, VOLUME_PROTECTION, false);
    if let Some(volume) = view.get("PersistentVolume", "", object::name(volume)) {
        view.finalizer(&volume, PROVISIONER, false);
    }
}
