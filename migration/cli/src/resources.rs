//! The resources that are read and written.

use azcsi_kube::objects::Collection;

const fn of(api_version: &'static str, plural: &'static str, kind: &'static str) -> Collection {
    Collection {
        api_version,
        plural,
        kind,
    }
}

/// PersistentVolumes.
pub const VOLUMES: Collection = of("v1", "persistentvolumes", "PersistentVolume");
/// PersistentVolumeClaims.
pub const CLAIMS: Collection = of("v1", "persistentvolumeclaims", "PersistentVolumeClaim");
/// Pods.
pub const PODS: Collection = of("v1", "pods", "Pod");
/// Nodes.
pub const NODES: Collection = of("v1", "nodes", "Node");
/// ConfigMaps.
pub const CONFIG_MAPS: Collection = of("v1", "configmaps", "ConfigMap");
/// Secrets.
pub const SECRETS: Collection = of("v1", "secrets", "Secret");
/// StorageClasses.
pub const CLASSES: Collection = of("storage.k8s.io/v1", "storageclasses", "StorageClass");
/// CSIDrivers.
pub const DRIVERS: Collection = of("storage.k8s.io/v1", "csidrivers", "CSIDriver");
/// CSINodes.
pub const CSI_NODES: Collection = of("storage.k8s.io/v1", "csinodes", "CSINode");
/// VolumeAttachments.
pub const ATTACHMENTS: Collection =
    of("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment");
/// Leases.
pub const LEASES: Collection = of("coordination.k8s.io/v1", "leases", "Lease");
/// Deployments.
pub const DEPLOYMENTS: Collection = of("apps/v1", "deployments", "Deployment");
/// StatefulSets.
pub const STATEFUL_SETS: Collection = of("apps/v1", "statefulsets", "StatefulSet");
/// DaemonSets.
pub const DAEMON_SETS: Collection = of("apps/v1", "daemonsets", "DaemonSet");
/// ReplicaSets.
pub const REPLICA_SETS: Collection = of("apps/v1", "replicasets", "ReplicaSet");
/// Jobs.
pub const JOBS: Collection = of("batch/v1", "jobs", "Job");
/// CronJobs.
pub const CRON_JOBS: Collection = of("batch/v1", "cronjobs", "CronJob");

/// Everything that has a pod template.
pub const WORKLOADS: [Collection; 6] = [
    DEPLOYMENTS,
    STATEFUL_SETS,
    DAEMON_SETS,
    REPLICA_SETS,
    JOBS,
    CRON_JOBS,
];

/// The annotation that says which plugin an object was of.
pub const CONVERTED_FROM: &str = "migrate.azcsi.dev/converted-from";
/// The annotation that names the journal.
pub const JOURNAL: &str = "migrate.azcsi.dev/journal";
/// The name of this tool in labels.
pub const TOOL: &str = "azcsi-migrate";
