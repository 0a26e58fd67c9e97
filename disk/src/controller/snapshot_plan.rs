//! Full, incremental and cross-region snapshots: pure decisions.
//!
//! Azure copies only snapshots between regions, so a copy in another region takes two: one beside
//! the disk, then one made from it. Each call looks at both and takes the next step, and nothing but
//! what exists in Azure says which step that is. So a lost answer or a restart between any two steps
//! does no harm: the first snapshot is deleted only when the copy is complete, and once the copy is
//! complete the first one is never made again.

use azcsi_cloud::{
    CreationData, Disk, ExtendedLocation, Snapshot, SnapshotCreate, SnapshotCreateProperties, Tags,
};
use azcsi_types::disk_uri::{DISK_NAME_LIMIT, DiskUri, SnapshotUri};
use azcsi_types::keys::tag;
use azcsi_types::resource_id::ResourceId;
use azcsi_types::topology::Region;

use crate::model::names;
use crate::model::snapshot_params::SnapshotParams;
use crate::model::tags;

/// Prefix of the snapshot beside the disk, when the copy is in another region.
const LOCAL: &str = "local_";

/// The name of the snapshot beside the disk.
#[must_use]
pub fn local_name(name: &str) -> String {
    format!(
        "{LOCAL}{}",
        names::within(name, DISK_NAME_LIMIT - LOCAL.len())
    )
}

/// What is there, and what is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The disk.
    pub source: &'a DiskUri,
    /// The snapshot of the request's name.
    pub wanted: Option<&'a Snapshot>,
    /// The snapshot beside the disk, looked up only if the copy is to be in another region.
    pub local: Option<&'a Snapshot>,
    /// Whether the snapshot is to be in another region than the disk.
    pub remote: Remote,
}

/// Where the snapshot is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remote {
    /// In the region of the disk.
    No,
    /// In another one.
    Yes,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make the snapshot of the disk.
    Create,
    /// Make the snapshot beside the disk.
    CreateLocal,
    /// The snapshot beside the disk is not complete yet.
    AwaitLocal,
    /// Copy it to the other region.
    Copy,
    /// The copy is complete: delete the snapshot beside the disk.
    DeleteLocal,
    /// Nothing; the snapshot is as far as it is.
    Done,
    /// A snapshot of the name has another source.
    OtherSource,
}

/// Decides on the next step.
#[must_use]
pub fn step(facts: Facts<'_>) -> Step {
    match (facts.wanted, facts.remote) {
        (Some(there), _) if !is_of(there, facts.source) => Step::OtherSource,
        (Some(there), Remote::Yes) if there.is_ready() && facts.local.is_some() => {
            Step::DeleteLocal
        }
        (Some(_), _) => Step::Done,
        (None, Remote::No) => Step::Create,
        (None, Remote::Yes) => match facts.local {
            None => Step::CreateLocal,
            Some(local) if !is_of(local, facts.source) => Step::OtherSource,
            Some(local) if local.is_ready() => Step::Copy,
            Some(_) => Step::AwaitLocal,
        },
    }
}

/// Whether a snapshot is one of the disk: by its source, or, for a copy from another region, by its
/// tag.
#[must_use]
pub fn is_of(snapshot: &Snapshot, disk: &DiskUri) -> bool {
    source(snapshot).is_some_and(|source| source == *disk)
}

/// The disk that a snapshot is of, as far as it can be told.
#[must_use]
pub fn source(snapshot: &Snapshot) -> Option<DiskUri> {
    let direct = snapshot
        .properties
        .creation_data
        .source_resource_id
        .as_ref();
    let direct = direct.and_then(|id| DiskUri::try_from(id.clone()).ok());
    direct.or_else(|| {
        tags::find(&snapshot.tags, tag::SOURCE_VOLUME_ID)?
            .parse()
            .ok()
    })
}

/// The tags of a snapshot; custom ones win.
#[must_use]
pub fn own_tags(params: &SnapshotParams, source: &DiskUri) -> Tags {
    let mut all = Tags::from([
        (tag::CREATED_BY.to_owned(), tag::CREATED_BY_VALUE.to_owned()),
        (tag::SOURCE_VOLUME_ID.to_owned(), source.to_string()),
    ]);
    for (key, value) in [
        (tag::SNAPSHOT_NAME, &params.name),
        (tag::SNAPSHOT_NAMESPACE, &params.namespace),
    ] {
        if let Some(value) = value {
            all.insert(key.to_owned(), value.clone());
        }
    }
    for (key, value) in &params.tags {
        // The source is what a copy is recognised by; it is not a matter of taste.
        if !key.eq_ignore_ascii_case(tag::SOURCE_VOLUME_ID) {
            all.retain(|there, _| !there.eq_ignore_ascii_case(key));
            all.insert(key.clone(), value.clone());
        }
    }
    all
}

/// The body of a snapshot beside the disk.
#[must_use]
pub fn body(
    params: &SnapshotParams,
    source: &DiskUri,
    disk: &Disk,
    extended_location: Option<ExtendedLocation>,
) -> SnapshotCreate {
    let only_incremental = disk
        .sku()
        .is_some_and(|sku| sku.needs_incremental_snapshots());
    let mut creation_data = CreationData::copy(source.id().clone());
    creation_data.instant_access_duration_minutes = params.instant_access;
    SnapshotCreate {
        location: disk.location.clone(),
        extended_location,
        sku: None,
        tags: own_tags(params, source),
        properties: SnapshotCreateProperties {
            creation_data,
            incremental: params.incremental || only_incremental,
            network_access_policy: params.policy.map(str::to_owned),
            public_network_access: params.public.map(str::to_owned),
            data_access_auth_mode: params.access_mode.map(str::to_owned),
        },
    }
}

/// The body of the snapshot beside the disk that a copy is made from: always incremental, without
/// instant access, because Azure copies only complete incremental ones.
#[must_use]
pub fn local_body(params: &SnapshotParams, source: &DiskUri, disk: &Disk) -> SnapshotCreate {
    let params = SnapshotParams {
        incremental: true,
        instant_access: None,
        ..params.clone()
    };
    body(&params, source, disk, None)
}

/// The body of the copy in another region.
#[must_use]
pub fn copy_body(
    params: &SnapshotParams,
    source: &DiskUri,
    local: &ResourceId,
    region: &Region,
) -> SnapshotCreate {
    SnapshotCreate {
        location: region.to_string(),
        extended_location: None,
        sku: None,
        tags: own_tags(params, source),
        properties: SnapshotCreateProperties {
            creation_data: CreationData {
                create_option: "CopyStart".to_owned(),
                source_resource_id: Some(local.clone()),
                ..CreationData::default()
            },
            incremental: true,
            network_access_policy: params.policy.map(str::to_owned),
            public_network_access: params.public.map(str::to_owned),
            data_access_auth_mode: params.access_mode.map(str::to_owned),
        },
    }
}

/// Whether a snapshot may be deleted as the one beside the disk of another: by its source.
#[must_use]
pub fn is_local_of(local: &Snapshot, wanted: &SnapshotUri, source: Option<&DiskUri>) -> bool {
    local
        .id
        .name()
        .eq_ignore_ascii_case(&local_name(wanted.name()))
        && tags::find(&local.tags, tag::SOURCE_VOLUME_ID).is_some()
        && source.is_none_or(|source| is_of(local, source))
}

#[cfg(test)]
mod tests;
