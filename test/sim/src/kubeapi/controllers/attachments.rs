//! A VolumeAttachment for every volume of a running pod, gone with the last of them.

use serde_json::json;

use super::{View, claims_of, object, text};

pub(super) fn act(view: View<'_>) {
    let mut wanted = Vec::new();
    for pod in view.all("Pod") {
        if text(&pod, "/status/phase") != "Running" {
            continue;
        }
        for claim in claims_of(&pod) {
            let claim = view.get("PersistentVolumeClaim", object::namespace(&pod), claim);
            let volume = claim.map(|claim| text(&claim, "/spec/volumeName").to_owned());
            wanted.extend(volume.filter(|name| !name.is_empty()));
        }
    }
    for attachment in view.all("VolumeAttachment") {
        let volume = text(&attachment, "/spec/source/persistentVolumeName").to_owned();
        if wanted.contains(&volume) {
            wanted.retain(|name| *name != volume);
        } else if view.get("PersistentVolume", "", &volume).is_some() {
            // Without its volume the attacher cannot tell what to detach.
            view.delete(&attachment);
        }
    }
    for volume in wanted {
        if view.get("PersistentVolume", "", &volume).is_some() {
            let body = json!({
                "metadata": {"name": format!("csi-{volume}")},
                "spec": {"attacher": "disk.csi.azure.com", "nodeName": "aks-1",
                    "source": {"persistentVolumeName": volume}},
                "status": {"attached": true},
            });
            view.create("VolumeAttachment", "", body);
        }
    }
}
