//! Managed disks.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Call, Reply};
use crate::compute::{body, disk_rules, skus};
use crate::error::ArmError;
use crate::lro::{Start, Work, begin};
use crate::state::State;
use crate::world::{Copying, Disk, Lag, Origin, Provisioning, key, leaf, region};

/// Properties that are kept as they were given.
const PASSED: [&str; 10] = [
    "encryption",
    "networkAccessPolicy",
    "publicNetworkAccess",
    "diskAccessId",
    "burstingEnabled",
    "osType",
    "hyperVGeneration",
    "supportsHibernation",
    "dataAccessAuthMode",
    "optimizedForFrequentAttach",
];
const DAY: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let disk = state.world.disks.get(&key(&call.id));
    let disk = disk.ok_or_else(|| call.absent("disks"))?;
    Ok(Reply::ok(show(state, disk)))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let scope = call.scope();
    let found = state.world.disks.iter();
    let found = found.filter(|(key, _)| key.starts_with(&scope));
    Ok(call.page(state, found, |disk| show(state, disk)))
}

pub(crate) fn put(state: &mut State, call: &Call) -> Answer {
    if let Some(existing) = state.world.disks.get(&key(&call.id)).cloned() {
        same(&existing, &call.body)?;
        return change(state, call, &existing);
    }
    disk_rules::name(call.name(0))?;
    let disk = made(state, call)?;
    disk_rules::whole(&disk)?;
    crate::quotas::disk(state, None, &disk)?;
    if let Some(source) = &disk.origin.source_unique_id {
        state.marks.came_from(&disk.unique_id, source);
    }
    let takes = state.takes("disk.create");
    let (location, id) = (disk.location.clone(), disk.id.clone());
    let mut shown = call.body.clone();
    if let Some(fields) = shown
        .pointer_mut("/properties")
        .and_then(Value::as_object_mut)
    {
        fields.insert("provisioningState".into(), json!("Updating"));
        fields.insert("isArmResource".into(), json!(true));
    }
    state.world.disks.insert(key(&id), disk);
    let work = Work::Disk(Value::Null);
    let start = Start {
        family: "DiskOperations",
        target: &id,
        location: &location,
        work,
        takes,
    };
    let operation = begin(state, start);
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("sku");
        fields.insert("name".into(), json!(leaf(&id)));
        fields.insert("id".into(), json!(id));
        fields.insert("type".into(), json!("Microsoft.Compute/disks"));
    }
    Ok(Reply::accepted(operation, Some(shown)))
}

pub(crate) fn patch(state: &mut State, call: &Call) -> Answer {
    let existing = state.world.disks.get(&key(&call.id)).cloned();
    let existing = existing.ok_or_else(|| call.absent("disks"))?;
    change(state, call, &existing)
}

fn change(state: &mut State, call: &Call, existing: &Disk) -> Answer {
    let after = changed(state, existing, &call.body)?;
    disk_rules::whole(&after)?;
    crate::quotas::disk(state, Some(existing), &after)?;
    let takes = state.takes("disk.update");
    let unchanged = unlike(existing, &after) == 0;
    let takes = if unchanged { Duration::ZERO } else { takes };
    if state.faults.wants_old_answers() {
        state.remember(&key(&existing.id), show(state, existing));
    }
    if let Some(disk) = state.world.disks.get_mut(&key(&call.id)) {
        disk.provisioning = Provisioning::Updating;
    }
    let start = Start {
        family: "DiskOperations",
        target: &existing.id,
        location: &existing.location,
        work: Work::Disk(call.body.clone()),
        takes,
    };
    let operation = begin(state, start);
    let mut shown = show(state, &after);
    if let Some(state) = shown.pointer_mut("/properties/provisioningState") {
        *state = json!("Updating");
    }
    Ok(Reply::accepted(operation, Some(shown)))
}

/// How many settings differ that take time to change.
fn unlike(before: &Disk, after: &Disk) -> usize {
    let settings = [
        before.gib != after.gib,
        before.sku != after.sku,
        before.iops != after.iops || before.mbps != after.mbps,
        before.tags != after.tags || before.more != after.more,
        before.max_shares != after.max_shares || before.tier != after.tier,
    ];
    settings.iter().filter(|differs| **differs).count()
}

pub(crate) fn delete(state: &mut State, call: &Call) -> Answer {
    let Some(disk) = state.world.disks.get(&key(&call.id)).cloned() else {
        return Ok(Reply::new(StatusCode::NO_CONTENT, None));
    };
    let name = leaf(&disk.id);
    if let Some(owner) = disk.owners.first() {
        let message = format!("Disk {name} is attached to VM {owner}.");
        return Err(ArmError::conflict("OperationNotAllowed", message));
    }
    if disk.sas_until.is_some_and(|until| until > state.now) {
        let message = format!(
            "There is an active shared access signature outstanding for disk {name}. Call EndGetAccess before deleting it."
        );
        return Err(ArmError::conflict("OperationNotAllowed", message));
    }
    let takes = state.takes("disk.delete");
    let start = Start {
        family: "DiskOperations",
        target: &disk.id,
        location: &disk.location,
        work: Work::DiskDelete,
        takes,
    };
    Ok(Reply::accepted(begin(state, start), None))
}

/// The delete ends. A disk that was attached meanwhile goes too, as it does in Azure.
pub(crate) fn remove(state: &mut State, target: &str) {
    let Some(disk) = state.world.disks.remove(target) else {
        return;
    };
    if disk.guarded {
        let about = format!("{} was not to be deleted", disk.id);
        state.violations.add("guardedDiskDeleted", about, state.now);
    }
    if !disk.owners.is_empty() {
        let about = format!(
            "{} was deleted while {} had it",
            disk.id,
            disk.owners.join(", ")
        );
        state
            .violations
            .add("deletedWhileAttached", about, state.now);
    }
}

/// What PUT of a disk that exists must not change.
fn same(disk: &Disk, wanted: &Value) -> Result<(), ArmError> {
    let not_allowed = |property: &str| {
        let message = format!("Changing property '{property}' is not allowed.");
        Err(ArmError::conflict("PropertyChangeNotAllowed", message).target(property))
    };
    let location = wanted.get("location").and_then(Value::as_str);
    if location.is_some_and(|location| region(location) != disk.location) {
        let message = format!(
            "The resource '{}' already exists in location '{}'. A resource with the same name cannot be created in location '{}'.",
            leaf(&disk.id),
            disk.location,
            location.unwrap_or_default()
        );
        return Err(ArmError::conflict("InvalidResourceLocation", message));
    }
    if wanted.get("zones").is_some() && body::zones(wanted)? != disk.zones {
        return not_allowed("zones");
    }
    let source = wanted
        .pointer("/properties/creationData/sourceResourceId")
        .and_then(Value::as_str);
    if source.is_some_and(|id| Some(key(id)) != disk.origin.source.as_deref().map(key)) {
        return not_allowed("creationData.sourceResourceId");
    }
    Ok(())
}

fn made(state: &mut State, call: &Call) -> Result<Disk, ArmError> {
    let wanted = &call.body;
    let location = crate::compute::placement::location(state, wanted)?;
    let properties = body::properties(wanted)?;
    let sku = sku(wanted)?.unwrap_or("Standard_LRS");
    let zones = body::zones(wanted)?;
    crate::compute::placement::zones(state, &location, sku, &zones)?;
    let (origin, source, hydrates) = origin(state, &location, &properties)?;
    let (gib, odd_bytes) = size(sku, &properties, source)?;
    let copying = hydration(state, sku, hydrates);
    let (iops, mbps) = disk_rules::base_performance(sku, gib);
    let disk = Disk {
        id: call.id.clone(),
        location,
        zones,
        tags: body::tags(wanted)?.unwrap_or_default(),
        sku: sku.to_owned(),
        gib,
        odd_bytes,
        max_shares: 1,
        iops,
        mbps,
        tier: None,
        origin,
        more: defaults(),
        extended_location: wanted.get("extendedLocation").cloned(),
        owners: Vec::new(),
        lag: None,
        sas_until: None,
        copying,
        unique_id: state.guid(),
        created_ms: state.wall_ms,
        owned_ms: None,
        provisioning: Provisioning::Updating,
        performance_changes: Vec::new(),
        guarded: false,
    };
    changed(state, &disk, &json!({"properties": properties}))
}

/// GiB, and bytes above them.
type Size = (u64, u64);

/// The size of a new disk. Without one of its own a copy has every byte of its source, and no more.
fn size(sku: &str, properties: &Map<String, Value>, source: Size) -> Result<Size, ArmError> {
    let named = body::number(properties, "diskSizeGB")?;
    let (gib, odd) = named.map_or(source, |gib| (gib, 0));
    let least = source.0 + u64::from(source.1 > 0 && named.is_some());
    if gib == 0 {
        return Err(ArmError::parameter(
            "diskSizeGB",
            "Required parameter 'diskSizeGB' is missing (null).",
        ));
    }
    if gib < least {
        let message = format!(
            "The value {gib} of parameter diskSizeGB is smaller than the source's size of {least} GiB."
        );
        return Err(ArmError::parameter("diskSizeGB", message));
    }
    disk_rules::size(sku, gib)?;
    Ok((gib, odd))
}

fn defaults() -> Map<String, Value> {
    let mut more = Map::new();
    more.insert(
        "encryption".into(),
        json!({"type": "EncryptionAtRestWithPlatformKey"}),
    );
    more.insert("networkAccessPolicy".into(), json!("AllowAll"));
    more.insert("publicNetworkAccess".into(), json!("Enabled"));
    more
}

fn sku(wanted: &Value) -> Result<Option<&'static str>, ArmError> {
    let Some(fields) = body::object(wanted, "sku")? else {
        return Ok(None);
    };
    let Some(name) = body::text(fields, "name")? else {
        return Ok(None);
    };
    let known = skus::sku(name);
    known.map(Some).ok_or_else(|| {
        let message = format!("The value '{name}' of parameter sku.name is not a disk type.");
        ArmError::parameter("sku.name", message)
    })
}

fn hydration(state: &mut State, sku: &str, hydrates: Option<()>) -> Option<Copying> {
    hydrates.filter(|()| skus::is_flexible(sku))?;
    let takes = state.takes("disk.hydrate");
    Some(Copying {
        from: state.now,
        until: state.now + takes,
    })
}

/// `creationData`: what the disk is made from, the least size, and whether contents are copied.
fn origin(
    state: &State,
    location: &str,
    properties: &Map<String, Value>,
) -> Result<(Origin, Size, Option<()>), ArmError> {
    let Some(Value::Object(data)) = properties.get("creationData") else {
        return Err(ArmError::parameter(
            "creationData",
            "Required parameter 'creationData' is missing (null).",
        ));
    };
    let mut origin = Origin {
        shown: data.clone(),
        ..Origin::default()
    };
    let option = body::text(data, "createOption")?.unwrap_or_default();
    if option == "Empty" {
        return Ok((origin, (0, 0), None));
    }
    if option != "Copy" {
        let message = format!("The value '{option}' of parameter createOption is not supported.");
        return Err(ArmError::parameter("createOption", message));
    }
    let source = body::text(data, "sourceResourceId")?.ok_or_else(|| {
        ArmError::parameter(
            "creationData.sourceResourceId",
            "Required parameter 'creationData.sourceResourceId' is missing (null).",
        )
    })?;
    let (size, unique, place, ready) = source_facts(state, source)?;
    if place != location {
        let message = format!(
            "Disk in location {location} cannot be made from source '{source}' in location {place}."
        );
        return Err(ArmError::parameter(
            "creationData.sourceResourceId",
            message,
        ));
    }
    if ready < 100.0 {
        let message = format!("The copy of '{source}' is still in progress: {ready} percent.");
        return Err(ArmError::conflict("OperationNotAllowed", message));
    }
    origin.source = Some(source.to_owned());
    origin.shown.insert("sourceUniqueId".into(), json!(unique));
    origin.source_unique_id = Some(unique);
    Ok((origin, size, Some(())))
}

type SourceFacts = (Size, String, String, f64);

/// Size in GiB and bytes above them, unique id, region, percentage of its own copy.
fn source_facts(state: &State, source: &str) -> Result<SourceFacts, ArmError> {
    let id = key(source);
    if let Some(disk) = state.world.disks.get(&id) {
        let ready = disk
            .copying
            .map_or(100.0, |copying| copying.percent(state.now));
        return Ok((
            (disk.gib, disk.odd_bytes),
            disk.unique_id.clone(),
            disk.location.clone(),
            ready,
        ));
    }
    if let Some(snapshot) = state.world.snapshots.get(&id) {
        let ready = snapshot
            .copying
            .map_or(100.0, |copying| copying.percent(state.now));
        let place = snapshot.location.clone();
        let size = (snapshot.gib, snapshot.odd_bytes);
        return Ok((size, snapshot.unique_id.clone(), place, ready));
    }
    let message = format!("Resource {source} is not found.");
    Err(ArmError::new(
        StatusCode::NOT_FOUND,
        "ResourceNotFound",
        message,
    ))
}

/// A disk after a body was merged into it.
fn changed(state: &State, disk: &Disk, wanted: &Value) -> Result<Disk, ArmError> {
    let mut after = disk.clone();
    let properties = body::properties(wanted)?;
    if let Some(tags) = body::tags(wanted)? {
        after.tags = tags;
    }
    if let Some(sku) = sku(wanted)? {
        convert(disk, sku)?;
        sku.clone_into(&mut after.sku);
    }
    if let Some(gib) = body::number(&properties, "diskSizeGB")? {
        let copying = disk.copying.map(|copying| copying.percent(state.now));
        disk_rules::resize(disk, gib, copying)?;
        if gib > disk.gib {
            after.odd_bytes = 0;
        }
        after.gib = gib;
    }
    if let Some(shares) = body::number(&properties, "maxShares")? {
        after.max_shares = u32::try_from(shares).unwrap_or(u32::MAX);
    }
    if let Some(tier) = body::text(&properties, "tier")? {
        after.tier = Some(tier.to_owned());
    }
    perform(state, &mut after, disk, &properties)?;
    for name in PASSED {
        if let Some(value) = properties.get(name) {
            after.more.insert(name.to_owned(), value.clone());
        }
    }
    Ok(after)
}

fn convert(disk: &Disk, sku: &str) -> Result<(), ArmError> {
    if sku == disk.sku {
        return Ok(());
    }
    if skus::is_zone_redundant(sku) != skus::is_zone_redundant(&disk.sku) {
        let message = format!(
            "The disk type cannot be changed from {} to {sku}.",
            disk.sku
        );
        return Err(ArmError::parameter("sku.name", message));
    }
    if disk.owners.is_empty() {
        return Ok(());
    }
    let message = format!(
        "The disk type of {} cannot be changed while it is attached to a running VM.",
        leaf(&disk.id)
    );
    Err(ArmError::conflict("OperationNotAllowed", message))
}

fn perform(
    state: &State,
    after: &mut Disk,
    before: &Disk,
    properties: &Map<String, Value>,
) -> Result<(), ArmError> {
    let iops = body::number(properties, "diskIOPSReadWrite")?;
    let mbps = body::number(properties, "diskMBpsReadWrite")?;
    if !skus::is_flexible(&after.sku) {
        let tier = after.tier.clone();
        let size = tier.and_then(|tier| skus::tier_named(&after.sku, &tier));
        (after.iops, after.mbps) = size.map_or_else(
            || disk_rules::base_performance(&after.sku, after.gib),
            |tier| (tier.iops, tier.mbps),
        );
        return Ok(());
    }
    if after.sku != before.sku {
        (after.iops, after.mbps) = disk_rules::base_performance(&after.sku, after.gib);
    }
    after.iops = iops.unwrap_or(after.iops);
    after.mbps = mbps.unwrap_or(after.mbps);
    let faster = (after.iops, after.mbps) != (before.iops, before.mbps);
    if !faster || before.provisioning == Provisioning::Updating {
        return Ok(());
    }
    let day_ago = state.now.checked_sub(DAY);
    after
        .performance_changes
        .retain(|at| day_ago.is_none_or(|ago| *at > ago));
    if after.performance_changes.len() >= 4 {
        return Err(ArmError::conflict(
            "OperationNotAllowed",
            "The performance of this disk was changed four times in the last 24 hours. Try again later.",
        ));
    }
    after.performance_changes.push(state.now);
    Ok(())
}

/// PUT or PATCH ends: what was asked holds now, on whatever the disk has become meanwhile.
pub(crate) fn finish(state: &mut State, target: &str, wanted: &Value) -> Option<Value> {
    let mut disk = state.world.disks.get(target)?.clone();
    let before = disk.gib;
    disk.provisioning = Provisioning::Succeeded;
    if !wanted.is_null()
        && let Ok(after) = changed(state, &disk, wanted)
    {
        if after.sku != disk.sku {
            // A disk that becomes one of the newer kinds is copied in the background.
            let copies = (!skus::is_flexible(&disk.sku)).then_some(());
            let copying = hydration(state, &after.sku, copies);
            disk = Disk { copying, ..after };
        } else {
            disk = after;
        }
    }
    if disk.gib != before
        && let Some(link) = &state.knobs.link
    {
        for owner in &disk.owners {
            link.resized(owner, &disk.id, disk.gib);
        }
    }
    state.world.disks.insert(target.to_owned(), disk.clone());
    Some(show(state, &disk))
}

/// Owners change; what the disk shows may lag behind.
pub(crate) fn owned(state: &mut State, target: &str, owners: Vec<String>) {
    let lag = state.faults.owner_lag().max(state.knobs.managed_by_lag);
    let (now, wall_ms) = (state.now, state.wall_ms);
    if let Some(disk) = state.world.disks.get(target).cloned() {
        state.remember(target, show(state, &disk));
    }
    if let Some(disk) = state.world.disks.get_mut(target) {
        let before = std::mem::replace(&mut disk.owners, owners);
        disk.owned_ms = Some(wall_ms);
        disk.lag = (!lag.is_zero()).then(|| Lag {
            owners: before,
            until: now + lag,
        });
    }
}

/// A disk as it is shown.
pub(crate) fn show(state: &State, disk: &Disk) -> Value {
    crate::compute::catalogue::disk(state, disk)
}
