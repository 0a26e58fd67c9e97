//! Every wire literal: parameter, context, tag, label and annotation keys.
//!
//! These strings are in PersistentVolumes, tags and labels of running clusters. None may change.

/// Name of the disk driver.
pub const DISK_DRIVER: &str = "disk.csi.azure.com";
/// Name of the file driver.
pub const FILE_DRIVER: &str = "file.csi.azure.com";

/// Topology key that every node of the disk driver carries: `topology.<driver>/zone`.
pub const DISK_TOPOLOGY_ZONE: &str = "topology.disk.csi.azure.com/zone";
/// Kubernetes' own zone label.
pub const TOPOLOGY_ZONE: &str = "topology.kubernetes.io/zone";
/// Kubernetes' own region label.
pub const TOPOLOGY_REGION: &str = "topology.kubernetes.io/region";
/// Label that carries the machine size.
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";

/// What external-provisioner adds to the parameters with `--extra-create-metadata`.
pub mod metadata {
    /// Name of the claim.
    pub const PVC_NAME: &str = "csi.storage.k8s.io/pvc/name";
    /// Namespace of the claim.
    pub const PVC_NAMESPACE: &str = "csi.storage.k8s.io/pvc/namespace";
    /// Name of the volume.
    pub const PV_NAME: &str = "csi.storage.k8s.io/pv/name";
    /// Name of the VolumeSnapshot.
    pub const SNAPSHOT_NAME: &str = "csi.storage.k8s.io/volumesnapshot/name";
    /// Namespace of the VolumeSnapshot.
    pub const SNAPSHOT_NAMESPACE: &str = "csi.storage.k8s.io/volumesnapshot/namespace";
    /// Name of the VolumeSnapshotContent.
    pub const SNAPSHOT_CONTENT_NAME: &str = "csi.storage.k8s.io/volumesnapshotcontent/name";
}

/// Tags on disks and snapshots; backup and billing tools read them.
pub mod tag {
    /// Marks what a driver of Kubernetes created.
    pub const CREATED_BY: &str = "k8s-azure-created-by";
    /// The value of [`CREATED_BY`].
    pub const CREATED_BY_VALUE: &str = "kubernetes-azure-dd";
    /// Name of the claim.
    pub const PVC_NAME: &str = "kubernetes.io-created-for-pvc-name";
    /// Namespace of the claim.
    pub const PVC_NAMESPACE: &str = "kubernetes.io-created-for-pvc-namespace";
    /// Name of the volume.
    pub const PV_NAME: &str = "kubernetes.io-created-for-pv-name";
    /// Name of the VolumeSnapshot.
    pub const SNAPSHOT_NAME: &str = "kubernetes.io-created-for-snapshot-name";
    /// Namespace of the VolumeSnapshot.
    pub const SNAPSHOT_NAMESPACE: &str = "kubernetes.io-created-for-snapshot-namespace";
    /// The disk that a snapshot was taken of.
    pub const SOURCE_VOLUME_ID: &str = "source_volume_id";
    /// Attach reads this one: the disk wants the write accelerator.
    pub const WRITE_ACCELERATOR: &str = "writeacceleratorenabled";
}

/// Keys of the volume context that CreateVolume writes and that later calls read.
pub mod volume_context {
    /// Size in GiB after rounding. Absent on static volumes.
    pub const REQUESTED_SIZE_GIB: &str = "requestedsizegib";
    /// `true` when the source was smaller than the volume, so that the filesystem has to grow.
    pub const RESIZE_REQUIRED: &str = "resizeRequired";
    /// Host caching.
    pub const CACHING_MODE: &str = "cachingMode";
    /// Always `Managed` when present.
    pub const KIND: &str = "kind";
    /// Filesystem wish of the StorageClass.
    pub const FS_TYPE: &str = "fstype";
    /// Partition of a disk that was imported with one.
    pub const PARTITION: &str = "partition";
    /// How many machines may hold the disk.
    pub const MAX_SHARES: &str = "maxshares";
    /// `true` when this driver created the disk empty; `false` when it was made from a copy, which is
    /// never formatted.
    pub const CREATED_EMPTY: &str = "createdEmpty";
    /// `true` on a static volume whose owner allows formatting a blank disk.
    pub const ALLOW_FORMAT: &str = "allowFormat";
    /// `true` when the owner allows formatting over content that is not a filesystem.
    pub const ALLOW_FORMAT_NON_BLANK: &str = "allowFormatNonBlank";
    /// `auto`, `always` or `never`: when to check the filesystem before the mount.
    pub const FSCK: &str = "fsck";
    /// `none`, `basic` or `advanced`.
    pub const PERF_PROFILE: &str = "perfprofile";
}

/// Keys of the publish context that ControllerPublishVolume writes and the node reads.
pub mod publish_context {
    /// The slot. Upper case: it is matched exactly by every node plugin ever shipped.
    pub const LUN: &str = "LUN";
    /// Normalised resource id of the disk.
    pub const DISK_URI: &str = "diskUri";
    /// `properties.uniqueId` of the disk.
    pub const DISK_UNIQUE_ID: &str = "diskUniqueId";
    /// Size in bytes.
    pub const DISK_SIZE_BYTES: &str = "diskSizeBytes";
}
