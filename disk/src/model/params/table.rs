//! The keys of the three kinds of classes, as people read them. The tables of `disk/README.md` are
//! made from these; tests hold them to what the parsers accept.

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key, or a pattern such as `device-setting/<path>`.
    pub name: &'static str,
    /// What it can be.
    pub values: Values,
    /// What its absence means; `None` when nothing is said to Azure.
    pub default: Option<&'static str>,
    /// What it does, in a sentence or two.
    pub meaning: &'static str,
    /// Keys that it needs, with values that go with the example.
    pub needs: &'static [(&'static str, &'static str)],
}

/// The values of a key.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// One of these words, whatever the case.
    Words(&'static [&'static str]),
    /// What this describes, and a value that is accepted.
    Text {
        /// The description.
        what: &'static str,
        /// The example.
        example: &'static str,
    },
}

const fn words(
    name: &'static str,
    words: &'static [&'static str],
    default: Option<&'static str>,
    meaning: &'static str,
) -> Key {
    Key {
        name,
        values: Values::Words(words),
        default,
        meaning,
        needs: &[],
    }
}

const fn text(
    name: &'static str,
    what: &'static str,
    example: &'static str,
    meaning: &'static str,
) -> Key {
    Key {
        name,
        values: Values::Text { what, example },
        default: None,
        meaning,
        needs: &[],
    }
}

impl Key {
    const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    const fn means(mut self, meaning: &'static str) -> Self {
        self.meaning = meaning;
        self
    }

    const fn with(mut self, needs: &'static [(&'static str, &'static str)]) -> Self {
        self.needs = needs;
        self
    }
}

const BOOL: &[&str] = &["true", "false"];
const SKUS: &[&str] = &[
    "Standard_LRS",
    "StandardSSD_LRS",
    "StandardSSD_ZRS",
    "Premium_LRS",
    "Premium_ZRS",
    "PremiumV2_LRS",
    "UltraSSD_LRS",
];
const POLICY: &[&str] = &["AllowAll", "AllowPrivate", "DenyAll"];
const PUBLIC: &[&str] = &["Enabled", "Disabled"];
const ACCESS_ID: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/diskAccesses/a";
const SET_ID: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/e";
const PREMIUM: &[(&str, &str)] = &[("skuName", "Premium_LRS")];
const ULTRA: &[(&str, &str)] = &[("skuName", "UltraSSD_LRS")];
const PRIVATE: &[(&str, &str)] = &[("networkAccessPolicy", "AllowPrivate")];
const WITH_ACCESS: &[(&str, &str)] = &[("diskAccessID", ACCESS_ID)];
const NO_EFFECT: &str = "Accepted, has no effect.";
const FROM_PROVISIONER: &str =
    "Written by external-provisioner with `--extra-create-metadata`; do not set it.";
const FROM_SNAPSHOTTER: &str =
    "Written by external-snapshotter with `--extra-create-metadata`; do not set it.";

const SKU_NAME: Key = words("skuName", SKUS, None, "The kind of disk.");
const SKU_ALIAS: Key = words(
    "storageAccountType",
    SKUS,
    None,
    "Another name of `skuName`; only one of them may be given.",
);
const IOPS: Key = text(
    "DiskIOPSReadWrite",
    "whole number",
    "500",
    "Provisioned IOPS; UltraSSD_LRS and PremiumV2_LRS only, within what the size allows.",
);
const MBPS: Key = text(
    "DiskMBpsReadWrite",
    "whole number",
    "100",
    "Provisioned throughput in MB/s; UltraSSD_LRS and PremiumV2_LRS only, within what the size allows.",
);
const BURSTING: Key = words(
    "enableBursting",
    BOOL,
    None,
    "On-demand bursting; Premium_LRS and Premium_ZRS only, not on shared disks.",
);
const TIER: Key = text(
    "tier",
    "`P1` to `P80`",
    "P30",
    "Performance tier; Premium_LRS and Premium_ZRS only.",
);
const SHARES: Key = text(
    "maxShares",
    "1 to 15",
    "2",
    "How many machines may hold the disk at once.",
);
const NETWORK: Key = words(
    "networkAccessPolicy",
    POLICY,
    None,
    "Who may export or import the content over the network. `AllowPrivate` needs `diskAccessID`.",
);
const PUBLIC_ACCESS: Key = words(
    "publicNetworkAccess",
    PUBLIC,
    None,
    "Whether that is possible from public networks.",
);
const ACCESS: Key = text(
    "diskAccessID",
    "resource id",
    ACCESS_ID,
    "The disk access resource; only with `networkAccessPolicy: AllowPrivate`.",
);
const TAGS: Key = text(
    "tags",
    "`key=value,...`",
    "team=a,cost=b",
    "Tags of the resource. At most 44; keys without `< > % & ? \\ /`.",
);
const DELIMITER: Key = text(
    "tagValueDelimiter",
    "text",
    ";",
    "What stands between two tags.",
)
.or(",");
const GROUP: Key = text("resourceGroup", "name", "other", "The resource group.");
const SUBSCRIPTION: Key = text(
    "subscriptionID",
    "id",
    "00000000-0000-0000-0000-000000000001",
    "The subscription.",
);

/// The parameters of a StorageClass.
pub const STORAGE_CLASS: &[Key] = &[
    SKU_NAME.or("StandardSSD_LRS"),
    SKU_ALIAS,
    words("cachingMode", &["None", "ReadOnly", "ReadWrite"], Some("ReadOnly"), "Host caching. Kinds and sizes that cannot be cached get `None`; `PremiumV2_LRS` refuses another wish."),
    text("location", "region", "westeurope", "The region. Absent, that of the cloud configuration."),
    GROUP.means("The resource group. Absent, that of the cloud configuration."),
    SUBSCRIPTION.means("The subscription. Absent, that of the cloud configuration."),
    text("diskName", "name or template", "disk-${pvc.metadata.name}", "Name of the disk. May hold `${pvc.metadata.name}`, `${pvc.metadata.namespace}` and `${pv.metadata.name}`. Absent, the name of the volume."),
    IOPS.with(ULTRA),
    MBPS.with(ULTRA),
    words("logicalSectorSize", &["512", "4096"], None, "Sector size in bytes; UltraSSD_LRS and PremiumV2_LRS only.").with(ULTRA),
    BURSTING.with(PREMIUM),
    words("enablePerformancePlus", BOOL, None, "Performance plus; Premium and Standard kinds only."),
    TIER.with(PREMIUM),
    SHARES.or("1"),
    words("writeAcceleratorEnabled", BOOL, Some("false"), "Attach with the write accelerator; not on shared disks. What is not `true` means false."),
    text("diskEncryptionSetID", "resource id", SET_ID, "Encryption with the keys of this disk encryption set."),
    words("diskEncryptionType", &["EncryptionAtRestWithCustomerKey", "EncryptionAtRestWithPlatformAndCustomerKeys", "EncryptionAtRestWithPlatformKey"], None, "Kind of encryption; needs `diskEncryptionSetID`. Absent with a set, `EncryptionAtRestWithCustomerKey`.").with(&[("diskEncryptionSetID", SET_ID)]),
    NETWORK.or("DenyAll").with(WITH_ACCESS),
    PUBLIC_ACCESS.or("Disabled"),
    ACCESS.with(PRIVATE),
    TAGS.means("Tags of the disk. At most 44; keys without `< > % & ? \\ /`; values may hold the templates of `diskName`."),
    DELIMITER,
    text("fsType", "filesystem", "xfs", "Filesystem. Wins over `csi.storage.k8s.io/fstype`; the node reads it."),
    words("fsck", &["auto", "always", "never"], Some("auto"), "When an ext filesystem is checked before the mount: as its superblock says, each time, or not at all. The node reads it."),
    words("perfProfile", &["none", "basic", "advanced"], Some("none"), "Queue settings of the device: none, those that follow from disk and machine, or those of `device-setting/<path>`. Needs `--enable-perf-optimization`.").with(&[("device-setting/queue/nr_requests", "8")]),
    text("device-setting/<path>", "text", "8", "A setting below `/sys/block/<device>/`; only with `perfProfile: advanced`.").with(&[("perfProfile", "advanced")]),
    text("kind", "text", "Managed", "Accepted; the volume context always says `Managed`."),
    text("zoned", "text", "true", NO_EFFECT),
    text("enableAsyncAttach", "text", "true", NO_EFFECT),
    text(
        "userAgent",
        "text",
        "x",
        "`User-Agent` of the requests that make the disk, in place of the driver's own.",
    ),
    text(
        "attachDiskInitialDelay",
        "milliseconds",
        "0",
        "How long an attach of this volume waits for others to go with it, at most a minute. It slows this volume only.",
    ),
    text("csi.storage.k8s.io/pvc/name", "text", "x", FROM_PROVISIONER),
    text("csi.storage.k8s.io/pvc/namespace", "text", "x", FROM_PROVISIONER),
    text("csi.storage.k8s.io/pv/name", "text", "x", FROM_PROVISIONER),
];

/// The parameters of a VolumeAttributesClass. What is absent stays as it is.
pub const VOLUME_ATTRIBUTES_CLASS: &[Key] = &[
    SKU_NAME,
    SKU_ALIAS,
    IOPS,
    MBPS,
    BURSTING,
    TIER,
    SHARES,
    NETWORK.with(WITH_ACCESS),
    PUBLIC_ACCESS,
    ACCESS.with(PRIVATE),
    TAGS.means("Tags to add or replace; values cannot hold templates."),
    DELIMITER,
];

/// The parameters of a VolumeSnapshotClass.
pub const VOLUME_SNAPSHOT_CLASS: &[Key] = &[
    words(
        "incremental",
        BOOL,
        Some("true"),
        "Whether only changes are kept. What is not exactly `false` means true.",
    ),
    GROUP.means("The resource group. Absent, that of the disk."),
    SUBSCRIPTION.means("The subscription. Absent, that of the disk."),
    text(
        "location",
        "region",
        "westeurope",
        "The region. Absent, that of the disk.",
    ),
    NETWORK.means("Who may export the content over the network."),
    PUBLIC_ACCESS,
    words(
        "dataAccessAuthMode",
        &["None", "AzureActiveDirectory"],
        None,
        "Whether an export also needs a login.",
    ),
    text(
        "instantAccessDurationMinutes",
        "60 to 300",
        "60",
        "For how many minutes instant access is offered.",
    ),
    TAGS,
    DELIMITER,
    text(
        "userAgent",
        "text",
        "x",
        "`User-Agent` of the requests that make the snapshot, in place of the driver's own.",
    ),
    text(
        "csi.storage.k8s.io/volumesnapshot/name",
        "text",
        "x",
        FROM_SNAPSHOTTER,
    ),
    text(
        "csi.storage.k8s.io/volumesnapshot/namespace",
        "text",
        "x",
        FROM_SNAPSHOTTER,
    ),
    text(
        "csi.storage.k8s.io/volumesnapshotcontent/name",
        "text",
        "x",
        FROM_SNAPSHOTTER,
    ),
];

#[cfg(test)]
mod tests;
