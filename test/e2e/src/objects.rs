//! Objects that cases make.

/// The common class. Growing a mounted ext filesystem needs a right that a sandbox may lack; the other
/// filesystems do not.
pub(crate) fn class() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    const RESOURCE: u64 = 1 << 24;
    let filesystem = match mask {
        Some(mask) if mask & RESOURCE != 0 => "ext4",
        _ => "xfs",
    };
    format!(
        "apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: managed-csi}}
provisioner: disk.csi.azure.com
parameters: {{skuName: StandardSSD_LRS, csi.storage.k8s.io/fstype: {filesystem}}}
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
"
    )
}

/// A claim of so many GiB; `more` is added to its spec.
pub(crate) fn claim(name: &str, size: &str, more: &str) -> String {
    format!(
        "apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: managed-csi
  resources: {{requests: {{storage: {size}}}}}
{more}
---
"
    )
}

/// A pod with a shell that has a claim mounted at /data.
pub(crate) fn pod(name: &str, claim: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: shell
      image: localhost/azcsi/busybox:e2e
      volumeMounts: [{{name: data, mountPath: /data}}]
  volumes: [{{name: data, persistentVolumeClaim: {{claimName: {claim}}}}}]
---
"
    )
}

/// A snapshot of a claim.
pub(crate) fn snapshot(name: &str, claim: &str) -> String {
    format!(
        "apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {{name: {name}}}
spec:
  volumeSnapshotClassName: csi-azuredisk-vsc
  source: {{persistentVolumeClaimName: {claim}}}
---
"
    )
}
