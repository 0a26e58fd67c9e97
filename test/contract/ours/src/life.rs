//! Every call, with every field that the drivers can send.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use azcsi_cloud::{
    AttachDisk, Azure, CreationData, DataDiskChanges, DetachDisk, DetachOption, Disk, DiskCreate,
    DiskCreateProperties, DiskSkuRef, DiskUpdate, DiskUpdateProperties, Encryption, GroupScope,
    SnapshotCreate, SnapshotCreateProperties, SnapshotUpdate, Tags,
};
use azcsi_rpc::SystemClock;
use azcsi_types::clock::Deadline;
use azcsi_types::disk_uri::{DiskUri, SnapshotUri};
use azcsi_types::lun::Lun;
use azcsi_types::node::VmRef;
use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;
use azcsi_types::sku::Caching;

const LIMIT: Duration = Duration::from_secs(60);

/// The client and where it works.
#[derive(Debug)]
pub(crate) struct Life {
    azure: Azure,
    clock: Arc<SystemClock>,
    subscription: String,
    group: String,
}

impl Life {
    pub(crate) fn new(
        azure: Azure,
        clock: Arc<SystemClock>,
        subscription: &str,
        group: &str,
    ) -> Self {
        Self {
            azure,
            clock,
            subscription: subscription.to_owned(),
            group: group.to_owned(),
        }
    }

    fn op(&self) -> Op {
        let deadline = Deadline::after(self.clock.as_ref(), LIMIT);
        Op::start("00000000-0000-4000-8000-000000000c0d", deadline)
    }

    fn disk(&self, name: &str) -> anyhow::Result<DiskUri> {
        Ok(DiskUri::new(&self.subscription, &self.group, name)?)
    }

    fn scopes(&self) -> [GroupScope; 2] {
        [
            GroupScope::ResourceGroup {
                subscription: self.subscription.clone(),
                resource_group: self.group.clone(),
            },
            GroupScope::Subscription {
                subscription: self.subscription.clone(),
            },
        ]
    }

    /// All of it.
    pub(crate) async fn all(&self, location: &str) -> anyhow::Result<()> {
        let (a, b) = (self.disk("o-a")?, self.disk("o-b")?);
        self.disks(location, &a, &b).await.context("disks")?;
        self.snapshots(location, &a).await.context("snapshots")?;
        let solo = VmRef::machine(&self.subscription, &self.group, "solo-0")?;
        let instance = VmRef::instance(&self.subscription, &self.group, "uni", "0")?;
        for vm in [&solo, &instance] {
            self.machine(vm, &a, &b)
                .await
                .with_context(|| vm.id().to_string())?;
        }
        self.lists(location).await.context("lists")?;
        // For the list that the model check reads later.
        let left = self.disk("o-left")?;
        self.azure
            .disks()
            .create(&self.op(), &left, &v2(location))
            .await?;
        for disk in [&a, &b] {
            self.azure.disks().delete(&self.op(), disk).await?;
        }
        let gone = self.azure.disks().get(&self.op(), &a).await;
        ensure!(
            gone.is_err_and(|error| error.is_not_found()),
            "a deleted disk is not absent"
        );
        Ok(())
    }

    async fn disks(&self, location: &str, a: &DiskUri, b: &DiskUri) -> anyhow::Result<()> {
        let disks = self.azure.disks();
        let made = disks.create(&self.op(), a, &empty(location)).await?;
        ensure!(
            made.properties.disk_size_gb == Some(1024),
            "the disk has another size: {made:?}"
        );
        disks.create(&self.op(), b, &copy(location, a)).await?;
        disks
            .create(&self.op(), &self.disk("o-v2")?, &v2(location))
            .await?;
        let change = DiskUpdate {
            sku: None,
            tags: Some(tags("changed")),
            properties: DiskUpdateProperties {
                disk_size_gb: Some(2048),
                tier: Some("P50".to_owned()),
                bursting_enabled: Some(false),
                network_access_policy: Some("DenyAll".to_owned()),
                public_network_access: Some("Disabled".to_owned()),
                ..DiskUpdateProperties::default()
            },
        };
        let changed: Disk = disks.update(&self.op(), a, &change).await?;
        ensure!(changed.tags == tags("changed"), "the tags: {changed:?}");
        let faster = DiskUpdate {
            properties: DiskUpdateProperties {
                disk_iops_read_write: Some(4000),
                disk_mbps_read_write: Some(200),
                ..DiskUpdateProperties::default()
            },
            ..DiskUpdate::default()
        };
        let v2 = self.disk("o-v2")?;
        disks.update(&self.op(), &v2, &faster).await?;
        Ok(disks.delete(&self.op(), &v2).await?)
    }

    async fn snapshots(&self, location: &str, of: &DiskUri) -> anyhow::Result<()> {
        let snapshots = self.azure.snapshots();
        let uri = SnapshotUri::new(&self.subscription, &self.group, "o-snap")?;
        let wanted = SnapshotCreate {
            location: location.to_owned(),
            extended_location: None,
            sku: Some(DiskSkuRef {
                name: "Standard_LRS".to_owned(),
            }),
            tags: tags("snapshot"),
            properties: SnapshotCreateProperties {
                creation_data: CreationData::copy(of.id().clone()),
                incremental: true,
                network_access_policy: Some("DenyAll".to_owned()),
                public_network_access: Some("Disabled".to_owned()),
                data_access_auth_mode: Some("AzureActiveDirectory".to_owned()),
            },
        };
        snapshots.create(&self.op(), &uri, &wanted).await?;
        let change = SnapshotUpdate {
            tags: Some(tags("changed")),
        };
        snapshots.update(&self.op(), &uri, &change).await?;
        ensure!(
            snapshots.get(&self.op(), &uri).await?.is_ready(),
            "the snapshot is not ready"
        );
        for scope in self.scopes() {
            snapshots.list(&self.op(), &scope).await?;
        }
        Ok(snapshots.delete(&self.op(), &uri).await?)
    }

    async fn machine(&self, vm: &VmRef, a: &DiskUri, b: &DiskUri) -> anyhow::Result<()> {
        let vms = self.azure.vms();
        let mut first = AttachDisk::new(a.clone());
        first.lun = Some(Lun::try_from(5)?);
        first.caching = Some(Caching::ReadOnly);
        first.delete_option = Some("Detach".to_owned());
        first.write_accelerator_enabled = Some(false);
        let attach = DataDiskChanges {
            attach: vec![first],
            detach: Vec::new(),
        };
        let profile = vms.attach_detach(&self.op(), vm, &attach).await?;
        ensure!(profile.data_disks.find(a).is_some(), "it is not attached");

        let read = vms.get_with_instance_view(&self.op(), vm).await?;
        let mut list = read.data_disks().clone();
        list.attach(&AttachDisk::new(b.clone()), Lun::try_from(6)?);
        list.detach(&leaving(a, None));
        let version = read.etag.as_ref();
        vms.update_data_disks(&self.op(), vm, &list, version)
            .await?;
        vms.refresh(&self.op(), vm).await?;

        let detach = DataDiskChanges {
            attach: Vec::new(),
            detach: vec![leaving(b, Some(DetachOption::ForceDetach))],
        };
        vms.attach_detach(&self.op(), vm, &detach).await?;
        let left = vms.get(&self.op(), vm).await?;
        ensure!(left.data_disks().entries().is_empty(), "disks are left");
        Ok(())
    }

    async fn lists(&self, location: &str) -> anyhow::Result<()> {
        for scope in self.scopes() {
            ensure!(
                !self
                    .azure
                    .disks()
                    .list(&self.op(), &scope)
                    .await?
                    .is_empty(),
                "no disks"
            );
            ensure!(
                !self.azure.vms().list(&self.op(), &scope).await?.is_empty(),
                "no machines"
            );
            self.azure.scale_sets().list(&self.op(), &scope).await?;
        }
        let set = format!(
            "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Compute/virtualMachineScaleSets/uni",
            self.subscription, self.group
        );
        let set: ResourceId = set.parse()?;
        self.azure.scale_sets().get(&self.op(), &set).await?;
        self.azure.scale_sets().instances(&self.op(), &set).await?;
        self.azure.skus().list(&self.op(), location).await?;
        Ok(())
    }
}

fn tags(value: &str) -> Tags {
    BTreeMap::from([("k8s-azure-created-by".to_owned(), value.to_owned())])
}

fn leaving(disk: &DiskUri, detach_option: Option<DetachOption>) -> DetachDisk {
    DetachDisk {
        disk_id: disk.clone(),
        detach_option,
    }
}

fn base(location: &str, sku: &str, properties: DiskCreateProperties) -> DiskCreate {
    DiskCreate {
        location: location.to_owned(),
        extended_location: None,
        sku: DiskSkuRef {
            name: sku.to_owned(),
        },
        zones: vec!["1".to_owned()],
        tags: tags("kubernetes-azure-dd"),
        properties,
    }
}

fn empty(location: &str) -> DiskCreate {
    let properties = DiskCreateProperties {
        creation_data: CreationData {
            performance_plus: Some(true),
            ..CreationData::empty()
        },
        disk_size_gb: Some(1024),
        tier: Some("P40".to_owned()),
        bursting_enabled: Some(true),
        encryption: Some(Encryption {
            kind: Some("EncryptionAtRestWithPlatformKey".to_owned()),
            disk_encryption_set_id: None,
        }),
        network_access_policy: Some("DenyAll".to_owned()),
        public_network_access: Some("Disabled".to_owned()),
        ..DiskCreateProperties::default()
    };
    base(location, "Premium_LRS", properties)
}

fn copy(location: &str, of: &DiskUri) -> DiskCreate {
    let properties = DiskCreateProperties {
        creation_data: CreationData::copy(of.id().clone()),
        disk_size_gb: Some(1024),
        ..DiskCreateProperties::default()
    };
    base(location, "Premium_LRS", properties)
}

fn v2(location: &str) -> DiskCreate {
    let properties = DiskCreateProperties {
        creation_data: CreationData {
            logical_sector_size: Some(512),
            ..CreationData::empty()
        },
        disk_size_gb: Some(16),
        disk_iops_read_write: Some(3500),
        disk_mbps_read_write: Some(150),
        max_shares: Some(2),
        ..DiskCreateProperties::default()
    };
    base(location, "PremiumV2_LRS", properties)
}
