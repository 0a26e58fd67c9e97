//! The state of one simulated Azure: what exists, who owns it, and which operations run.
//!
//! Everything is kept under the lower-cased ARM id, because ids are case-insensitive; the spelling
//! that a resource was made with is kept beside it and is what answers show.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::lro::Operation;
use crate::network::model::Linked;
use crate::storage::model::{Account, Deleted, Share};
use crate::table::Table;

pub use crate::guids::{guid, guid_of, mix};

/// The form of an id that two spellings of it share.
#[must_use]
pub fn key(id: &str) -> String {
    id.trim_end_matches('/').to_ascii_lowercase()
}

/// The last segment of an id.
#[must_use]
pub fn leaf(id: &str) -> &str {
    id.trim_end_matches('/').rsplit('/').next().unwrap_or(id)
}

/// `East US 2` and `eastus2` are one region.
#[must_use]
pub fn region(text: &str) -> String {
    text.replace(' ', "").to_ascii_lowercase()
}

/// A resource group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    /// As it was made.
    pub name: String,
    /// Region.
    pub location: String,
}

/// A region.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Location {
    /// `eastus2`.
    pub name: String,
    /// `East US 2`.
    pub display_name: String,
    /// Availability zones; empty for a region without.
    pub zones: Vec<String>,
}

/// What a disk or snapshot was made from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The id of the source, as it was given.
    pub source: Option<String>,
    /// The source's unique id when it was used.
    pub source_unique_id: Option<String>,
    /// `creationData` as it is shown.
    pub shown: Map<String, Value>,
}

/// Where a resource stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Provisioning {
    /// Being made.
    Creating,
    /// Being changed.
    Updating,
    /// On its way out.
    Deleting,
    /// As wanted.
    Succeeded,
    /// The last operation failed.
    Failed,
}

impl Provisioning {
    /// As it stands in answers.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Creating => "Creating",
            Self::Updating => "Updating",
            Self::Deleting => "Deleting",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }
}

/// A copy in the background: its percentage rises from start to end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Copying {
    /// On the axis of the clock.
    pub from: Duration,
    /// On the axis of the clock.
    pub until: Duration,
}

impl Copying {
    /// Percentage that is done by `now`.
    #[must_use]
    pub fn percent(&self, now: Duration) -> f64 {
        if now >= self.until {
            return 100.0;
        }
        let whole = self.until.saturating_sub(self.from).as_secs_f64();
        let part = now.saturating_sub(self.from).as_secs_f64();
        (part / whole.max(0.001) * 1000.0).floor() / 10.0
    }
}

/// Owners that a disk still shows although they have changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lag {
    /// What it shows.
    pub owners: Vec<String>,
    /// Until when, on the axis of the clock.
    pub until: Duration,
}

/// A managed disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Disk {
    /// ARM id as made.
    pub id: String,
    /// Region.
    pub location: String,
    /// At most one for a zonal disk.
    pub zones: Vec<String>,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// SKU name.
    pub sku: String,
    /// Size.
    pub gib: u64,
    /// Bytes above the whole GiB, as an imported disk may have.
    #[serde(default)]
    pub odd_bytes: u64,
    /// Sharing limit.
    pub max_shares: u32,
    /// Provisioned IOPS.
    pub iops: u64,
    /// Provisioned throughput.
    pub mbps: u64,
    /// Performance tier above that of its size.
    pub tier: Option<String>,
    /// Where it came from.
    pub origin: Origin,
    /// Other properties, as given or by default.
    pub more: Map<String, Value>,
    /// Top-level `extendedLocation`.
    pub extended_location: Option<Value>,
    /// Ids of the machines it is attached to, as spelt by them.
    pub owners: Vec<String>,
    /// Owners shown for a while after they changed.
    pub lag: Option<Lag>,
    /// A SAS is out until then, on the axis of the clock.
    pub sas_until: Option<Duration>,
    /// Background copy of its contents.
    pub copying: Option<Copying>,
    /// Identity of this incarnation.
    pub unique_id: String,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it last changed hands, in milliseconds since 1970.
    pub owned_ms: Option<u64>,
    /// State of its last operation.
    pub provisioning: Provisioning,
    /// Instants of its performance changes in the last day, on the axis of the clock.
    pub performance_changes: Vec<Duration>,
    /// Its delete is a violation.
    #[serde(default)]
    pub guarded: bool,
}

/// A snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// ARM id as made.
    pub id: String,
    /// Region.
    pub location: String,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// SKU name.
    pub sku: String,
    /// Size of its source.
    pub gib: u64,
    /// Bytes of its source above the whole GiB.
    #[serde(default)]
    pub odd_bytes: u64,
    /// Whether it holds only what changed.
    pub incremental: bool,
    /// Family of the incremental snapshots of one disk.
    pub family: Option<String>,
    /// SKU of the disk it was taken of.
    pub source_sku: String,
    /// Where it came from.
    pub origin: Origin,
    /// Other properties.
    pub more: Map<String, Value>,
    /// Background copy of its contents.
    pub copying: Option<Copying>,
    /// A SAS is out until then.
    pub sas_until: Option<Duration>,
    /// Identity of this incarnation.
    pub unique_id: String,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// State of its last operation.
    pub provisioning: Provisioning,
}

/// Power state of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Power {
    /// Runs.
    Running,
    /// Off, with its host kept.
    Stopped,
    /// Off, without a host.
    Deallocated,
}

/// What sort of machine it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MachineKind {
    /// Alone.
    Standalone,
    /// In an availability set with this id.
    AvailabilitySet(String),
    /// In a flexible scale set with this id.
    Flex(String),
    /// Instance of the uniform scale set with this id.
    Instance {
        /// ARM id of the scale set.
        scale_set: String,
        /// Its number there.
        instance_id: String,
    },
}

/// One data disk in the model of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DataDisk {
    /// Slot.
    pub lun: u32,
    /// Name as given.
    pub name: String,
    /// ARM id as given.
    pub disk_id: String,
    /// `Attach`.
    pub create_option: String,
    /// Host caching.
    pub caching: String,
    /// `Detach` or `Delete`.
    pub delete_option: String,
    /// Write accelerator.
    pub write_accelerator: bool,
    /// Marked for detach.
    pub to_be_detached: bool,
    /// Marked for detach by force.
    pub force: bool,
    /// Whether the host really has it.
    pub attached: bool,
    /// Disk encryption set given at attach.
    pub encryption_set: Option<String>,
}

/// A virtual machine or a uniform scale set's instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// ARM id as made.
    pub id: String,
    /// What sort.
    pub kind: MachineKind,
    /// Region.
    pub location: String,
    /// Zone; none for a regional machine.
    pub zone: Option<String>,
    /// VM size.
    pub size: String,
    /// Host name.
    pub computer_name: String,
    /// Identity of this incarnation.
    pub vm_id: String,
    /// Number inside the ETag.
    pub etag: u64,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// Power state.
    pub power: Power,
    /// State of its last operation.
    pub provisioning: Provisioning,
    /// Fault domain.
    pub fault_domain: u32,
    /// Whether Ultra disks may be attached.
    pub ultra: bool,
    /// Data disks: what is wanted and what is there.
    pub data_disks: Vec<DataDisk>,
    /// The operation that runs on it.
    pub running: Option<String>,
    /// Number of the machine in the world.
    pub ordinal: u32,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
}

/// A scale set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScaleSet {
    /// ARM id as made.
    pub id: String,
    /// Region.
    pub location: String,
    /// Zones.
    pub zones: Vec<String>,
    /// VM size.
    pub size: String,
    /// Flexible orchestration or uniform.
    pub flexible: bool,
    /// Prefix of host names.
    pub prefix: String,
    /// Identity.
    pub unique_id: String,
}

/// A resource that the simulator keeps and shows, but whose settings have no effect here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// ARM id as made.
    pub id: String,
    /// The body, whole.
    pub body: Map<String, Value>,
}

/// One simulated Azure.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct World {
    /// Directory tenant.
    pub tenant: String,
    /// Subscriptions by lower-cased id.
    pub subscriptions: BTreeMap<String, String>,
    /// Regions by name.
    pub locations: BTreeMap<String, Location>,
    /// Resource groups.
    pub groups: BTreeMap<String, Group>,
    /// Disks.
    #[serde(default)]
    pub disks: Table<Disk>,
    /// Snapshots.
    #[serde(default)]
    pub snapshots: Table<Snapshot>,
    /// Virtual machines and instances.
    #[serde(default)]
    pub machines: Table<Machine>,
    /// Scale sets.
    #[serde(default)]
    pub scale_sets: Table<ScaleSet>,
    /// Disk encryption sets.
    pub encryption_sets: BTreeMap<String, Kept>,
    /// Disk accesses.
    pub disk_accesses: BTreeMap<String, Kept>,
    /// Storage accounts.
    #[serde(default)]
    pub accounts: Table<Account>,
    /// File shares that are there.
    #[serde(default)]
    pub shares: Table<Share>,
    /// Deleted shares that can still be restored, by the key of the share and their version.
    #[serde(default)]
    pub deleted_shares: Table<Deleted>,
    /// Networks, subnets, private endpoints and private DNS: by ARM id.
    #[serde(default)]
    pub network: Table<Linked>,
    /// What the data plane knows of files beyond their contents.
    #[serde(default)]
    pub file_facts: Table<crate::files::facts::Facts>,
    /// Long-running operations by their guid.
    #[serde(default)]
    pub operations: Table<Operation>,
    /// Numbers drawn so far: the same requests draw the same ones.
    pub drawn: u64,
}

impl World {
    /// A world of one subscription, one group and one region with three zones, without machines.
    #[must_use]
    pub fn new(subscription: &str, group: &str, location: &str) -> Self {
        let mut world = Self {
            tenant: "72f00000-0000-4000-8000-000000000001".to_owned(),
            ..Self::default()
        };
        world
            .subscriptions
            .insert(subscription.to_ascii_lowercase(), subscription.to_owned());
        for name in [location, "eastus2", "westus2", "westeurope"] {
            world.add_location(name, &["1", "2", "3"]);
        }
        world.add_location("northcentralus", &[]);
        world.add_group(subscription, group, location);
        world
    }

    /// Adds a region.
    pub fn add_location(&mut self, name: &str, zones: &[&str]) {
        let place = Location {
            name: region(name),
            display_name: name.to_owned(),
            zones: zones.iter().map(|zone| (*zone).to_owned()).collect(),
        };
        self.locations.entry(region(name)).or_insert(place);
    }

    /// Adds a resource group.
    pub fn add_group(&mut self, subscription: &str, name: &str, location: &str) {
        let id = format!("/subscriptions/{subscription}/resourceGroups/{name}");
        let group = Group {
            name: name.to_owned(),
            location: region(location),
        };
        self.groups.insert(key(&id), group);
    }

    /// Adds a machine; its ARM id says what its name is.
    pub fn add_machine(&mut self, mut machine: Machine) {
        machine.ordinal = u32::try_from(self.machines.len()).unwrap_or(u32::MAX);
        self.machines.insert(key(&machine.id), machine);
    }

    /// Adds a scale set.
    pub fn add_scale_set(&mut self, set: ScaleSet) {
        self.scale_sets.insert(key(&set.id), set);
    }
}

impl Machine {
    /// A running machine without data disks.
    #[must_use]
    pub fn new(id: &str, kind: MachineKind, location: &str, size: &str) -> Self {
        Self {
            id: id.to_owned(),
            kind,
            location: region(location),
            zone: None,
            size: size.to_owned(),
            computer_name: leaf(id).to_owned(),
            vm_id: guid_of(id),
            etag: 1,
            tags: BTreeMap::new(),
            power: Power::Running,
            provisioning: Provisioning::Succeeded,
            fault_domain: 0,
            ultra: true,
            data_disks: Vec::new(),
            running: None,
            ordinal: 0,
            created_ms: 0,
        }
    }

    /// In this zone.
    #[must_use]
    pub fn zoned(mut self, zone: Option<&str>) -> Self {
        self.zone = zone.map(str::to_owned);
        self
    }

    /// With this host name.
    #[must_use]
    pub fn named(mut self, computer_name: &str) -> Self {
        computer_name.clone_into(&mut self.computer_name);
        self
    }

    /// The name that answers show.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.kind {
            MachineKind::Instance {
                scale_set,
                instance_id,
            } => format!("{}_{instance_id}", leaf(scale_set)),
            _ => leaf(&self.id).to_owned(),
        }
    }

    /// The ETag as it stands in the header.
    #[must_use]
    pub fn etag(&self) -> String {
        format!("\"{}\"", self.etag)
    }
}
