//! Claims and volumes: bound, lost, released; volumes provisioned for claims that have none.

use serde_json::{Value, json};

use super::{Log, View, object, text};

pub(super) fn act(view: View<'_>, log: &mut Log) {
    for claim in view.all("PersistentVolumeClaim") {
        if object::is_being_deleted(&claim) {
            continue;
        }
        match text(&claim, "/spec/volumeName") {
            "" => find(view, &claim, log),
            volume => hold(view, &claim, volume),
        }
    }
    for volume in view.all("PersistentVolume") {
        release(view, &volume);
    }
}

/// A claim that names its volume.
fn hold(view: View<'_>, claim: &Value, volume: &str) {
    let uid = text(claim, "/metadata/uid");
    let Some(volume) = view.get("PersistentVolume", "", volume) else {
        // A claim that was bound once lost its volume; another still waits for it.
        let was_bound = matches!(text(claim, "/status/phase"), "Bound" | "Lost");
        return view.phase(claim, if was_bound { "Lost" } else { "Pending" });
    };
    if !claimed_by(&volume, claim) {
        let lost = !text(&volume, "/spec/claimRef/uid").is_empty();
        return view.phase(claim, if lost { "Lost" } else { "Pending" });
    }
    if object::is_being_deleted(&volume) && text(&volume, "/status/phase") != "Bound" {
        return;
    }
    if text(&volume, "/spec/claimRef/uid") != uid {
        view.patch(&volume, &json!({"spec": {"claimRef": {"uid": uid}}}));
    }
    view.phase(&volume, "Bound");
    if text(claim, "/status/phase") != "Bound" {
        let capacity = &volume["spec"]["capacity"];
        view.patch(
            claim,
            &json!({
                "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
                "status": {"phase": "Bound", "capacity": capacity},
            }),
        );
    }
}

/// Whether a volume is set aside for this claim and for no other.
fn claimed_by(volume: &Value, claim: &Value) -> bool {
    let uid = text(volume, "/spec/claimRef/uid");
    text(volume, "/spec/claimRef/name") == object::name(claim)
        && text(volume, "/spec/claimRef/namespace") == object::namespace(claim)
        && (uid.is_empty() || uid == text(claim, "/metadata/uid"))
        && text(volume, "/spec/storageClassName") == text(claim, "/spec/storageClassName")
}

/// A claim without a volume: one that waits for it, or a new one.
fn find(view: View<'_>, claim: &Value, log: &mut Log) {
    let ready = view.all("PersistentVolume").into_iter().find(|volume| {
        claimed_by(volume, claim)
            && text(volume, "/spec/claimRef/uid").is_empty()
            && !object::is_being_deleted(volume)
    });
    if let Some(volume) = ready {
        view.patch(
            claim,
            &json!({"spec": {"volumeName": object::name(&volume)}}),
        );
        return;
    }
    let class = text(claim, "/spec/storageClassName");
    let Some(class) = view.get("StorageClass", "", class) else {
        return view.phase(claim, "Pending");
    };
    let uid = text(claim, "/metadata/uid");
    let name = format!("pvc-{uid}");
    if view.get("PersistentVolume", "", &name).is_none() {
        log.provisioned.push(name.clone());
        view.create("PersistentVolume", "", provisioned(&name, claim, &class));
    }
    view.patch(claim, &json!({"spec": {"volumeName": name}}));
}

fn provisioned(name: &str, claim: &Value, class: &Value) -> Value {
    let policy = match text(class, "/reclaimPolicy") {
        "" => "Delete",
        given => given,
    };
    json!({
        "metadata": {"name": name, "annotations": {
            "pv.kubernetes.io/provisioned-by": text(class, "/provisioner"),
        }},
        "spec": {
            "azureDisk": {
                "diskName": name,
                "diskURI": format!(
                    "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/{name}"
                ),
                "kind": "Managed", "cachingMode": "ReadOnly", "fsType": "ext4", "readOnly": false,
            },
            "accessModes": claim["spec"]["accessModes"],
            "capacity": claim["spec"]["resources"]["requests"],
            "storageClassName": text(claim, "/spec/storageClassName"),
            "persistentVolumeReclaimPolicy": policy,
            "volumeMode": "Filesystem",
            "claimRef": {"namespace": object::namespace(claim), "name": object::name(claim),
                "uid": text(claim, "/metadata/uid")},
        },
    })
}

/// A volume whose claim is gone.
fn release(view: View<'_>, volume: &Value) {
    let wanted = text(volume, "/spec/claimRef/uid");
    if wanted.is_empty() {
        return view.phase(volume, "Available");
    }
    let (namespace, name) = (
        text(volume, "/spec/claimRef/namespace"),
        text(volume, "/spec/claimRef/name"),
    );
    let claim = view.get("PersistentVolumeClaim", namespace, name);
    if claim.is_none_or(|claim| text(&claim, "/metadata/uid") != wanted) {
        view.phase(volume, "Released");
    }
}
