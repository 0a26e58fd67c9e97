//! CreateVolume: an empty disk, a copy of a disk, or a disk from a snapshot.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use azcsi_cloud::{Disk, DiskCreate};
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Measure, Method, Scope, validate};
use azcsi_types::access::Access;
use azcsi_types::disk_uri::{DiskUri, SnapshotUri};
use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;
use azcsi_types::size::{Bytes, CapacityRange, GiB};
use azcsi_types::topology::Place;

use super::Controller;
use super::common::{disk_guard, requirement, to_wire_places};
use super::create_plan::{self, Draft, SourceFacts, Wanted};
use super::error::ControllerError;
use crate::model::claim::Claim;
use crate::model::params::DiskParams;
use crate::model::topology::{self, Requirement, SkuZones, Spot};
use crate::model::volume_context::{self, NewVolume, Origin};
use crate::model::{names, performance, tags, template};

/// The RPC.
#[derive(Debug)]
pub struct CreateVolume;

/// What the volume is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A snapshot.
    Snapshot(SnapshotUri),
    /// A disk.
    Disk(DiskUri),
}

impl Source {
    const fn id(&self) -> &ResourceId {
        match self {
            Self::Snapshot(uri) => uri.id(),
            Self::Disk(uri) => uri.id(),
        }
    }
}

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    disk: DiskUri,
    /// The volume that the disk belongs to.
    owner: String,
    range: CapacityRange,
    params: DiskParams,
    /// The parameters as they were given, for the volume context.
    given: BTreeMap<String, String>,
    source: Option<Source>,
    wire_source: Option<v1::VolumeContentSource>,
    requirement: Requirement,
    fingerprint: String,
}

/// The reply.
#[derive(Clone, Debug)]
pub struct Reply {
    disk: DiskUri,
    size: Bytes,
    context: HashMap<String, String>,
    source: Option<v1::VolumeContentSource>,
    reach: Vec<Place>,
}

impl Handler for CreateVolume {
    type Ctx = Controller;
    type Wire = v1::CreateVolumeRequest;
    type WireReply = v1::CreateVolumeResponse;
    type Request = Request;
    type Reply = Reply;
    type Error = ControllerError;
    const METHOD: Method = Method::CreateVolume;

    fn decode(ctx: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let name = validate::name("name", wire.name)?;
        let access = validate::capabilities(wire.volume_capabilities)?;
        let range = validate::capacity_range(wire.capacity_range)?;
        let given = sorted(validate::map("parameters", wire.parameters)?);
        let mutable = sorted(validate::map(
            "mutable_parameters",
            wire.mutable_parameters,
        )?);
        let mut params = DiskParams::parse(given.clone(), mutable.clone())?;
        check(ctx, &params, &access)?;
        let source = source(wire.volume_content_source.clone())?;
        let requirement = requirement(wire.accessibility_requirements);
        let fingerprint = format!(
            "{name:?} {access:?} {range:?} {given:?} {mutable:?} {source:?} {requirement:?}"
        );
        let owner = params.claim.volume.clone().unwrap_or(name);
        params.claim = Claim {
            volume: Some(owner.clone()),
            ..params.claim
        };
        Ok(Request {
            disk: target(ctx, &params, &owner)?,
            owner,
            range,
            params,
            given,
            source,
            wire_source: wire.volume_content_source,
            requirement,
            fingerprint,
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![disk_guard(&request.disk)],
            fingerprint: request.fingerprint.clone(),
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<Reply, ControllerError> {
        if let Some(disk) = ctx.find_disk(&op, &request.disk).await? {
            return existing(&ctx, request, disk, &op).await;
        }
        create(&ctx, request, &op).await
    }

    fn encode(reply: Reply) -> Self::WireReply {
        v1::CreateVolumeResponse {
            volume: Some(v1::Volume {
                capacity_bytes: reply.size.as_i64(),
                volume_id: reply.disk.to_string(),
                volume_context: reply.context,
                content_source: reply.source,
                accessible_topology: to_wire_places(&reply.reach),
            }),
        }
    }

    fn measure(request: &Request) -> Option<Measure> {
        let operation = match request.source {
            None => "controller_create_volume",
            Some(Source::Snapshot(_)) => "controller_create_volume_from_snapshot",
            Some(Source::Disk(_)) => "controller_create_volume_from_volume",
        };
        Some(Measure {
            operation,
            sku: Some(request.params.sku.to_string()),
        })
    }
}

pub(super) fn sorted(map: HashMap<String, String>) -> BTreeMap<String, String> {
    map.into_iter().collect()
}

fn check(ctx: &Controller, params: &DiskParams, access: &[Access]) -> Result<(), ControllerError> {
    use azcsi_types::sku::DiskSku::{PremiumLrs, StandardLrs, StandardSsdLrs};
    for one in access {
        one.on_disk(params.shares)?;
    }
    if ctx.settings.stack {
        let known = matches!(params.sku, StandardLrs | PremiumLrs | StandardSsdLrs);
        if params.shares.is_shared() || !known {
            let text = "Azure Stack Hub offers Standard_LRS and Premium_LRS, and no shared disks";
            return Err(ControllerError::Refused(text.to_owned()));
        }
    }
    Ok(())
}

fn target(ctx: &Controller, params: &DiskParams, owner: &str) -> Result<DiskUri, ControllerError> {
    let wish = params.disk_name.as_deref();
    let name = wish.map_or_else(
        || owner.to_owned(),
        |wish| template::expand(wish, &params.claim),
    );
    let place = &params.placement;
    let home = &ctx.settings;
    let subscription = place.subscription.as_deref().unwrap_or(&home.subscription);
    let group = place
        .resource_group
        .as_deref()
        .unwrap_or(&home.resource_group);
    DiskUri::new(subscription, group, &names::derive(&name))
        .map_err(|error| ControllerError::Refused(error.to_string()))
}

fn source(wire: Option<v1::VolumeContentSource>) -> Result<Option<Source>, ControllerError> {
    use v1::volume_content_source::Type;
    match wire.map(|source| source.r#type) {
        None => Ok(None),
        Some(Some(Type::Snapshot(source))) => {
            let uri = super::common::snapshot_uri(source.snapshot_id)?;
            Ok(Some(Source::Snapshot(uri)))
        }
        Some(Some(Type::Volume(source))) => {
            let uri = super::common::disk_uri(source.volume_id)?;
            Ok(Some(Source::Disk(uri)))
        }
        Some(None) => Err(ControllerError::Refused(
            "volume_content_source names neither a snapshot nor a volume".to_owned(),
        )),
    }
}

/// A disk of the name exists: it is the volume, or it is in the way.
async fn existing(
    ctx: &Controller,
    request: Request,
    disk: Disk,
    op: &Op,
) -> Result<Reply, ControllerError> {
    let spot = create_plan::spot(&disk, &ctx.settings.location);
    let zones = zones(ctx, op, &request, &spot).await;
    let reach = topology::reach(&spot, request.params.sku, &zones);
    let wanted = Wanted {
        params: &request.params,
        range: request.range,
        source: request.source.as_ref().map(Source::id),
        requirement: &request.requirement,
        owner: &request.owner,
    };
    create_plan::compare(&disk, wanted, &reach).map_err(|difference| ControllerError::Differs {
        what: format!("disk {}", request.disk),
        difference,
    })?;
    let state = disk.properties.provisioning_state.as_ref();
    if state.is_some_and(|state| *state != azcsi_cloud::ProvisioningState::Succeeded) {
        // An earlier create is running or failed: the same body joins or repeats it.
        return create(ctx, request, op).await;
    }
    let copying = disk.properties.completion_percent;
    if copying.is_some_and(|percent| percent < 100.0) {
        // What it was made from is not looked up for this; it is no Premium v2 disk's kind.
        ctx.watch_conversion(&request.disk, Some("a copy"), &request.params);
    }
    let origin = match &request.source {
        None => Origin::Empty,
        // If the source is gone by now, asking for a needless resize does no harm.
        Some(source) => Origin::Source(
            source_facts(ctx, source, op)
                .await
                .map_or(GiB::default(), |facts| facts.size),
        ),
    };
    reply(request, &disk, origin, reach)
}

async fn create(ctx: &Controller, request: Request, op: &Op) -> Result<Reply, ControllerError> {
    let source = match &request.source {
        Some(source) => Some(source_facts(ctx, source, op).await?),
        None => None,
    };
    let (body, spot, zones) = plan(ctx, &request, source.as_ref(), op).await?;
    let azure = ctx.azure_as(request.params.user_agent.as_deref());
    let made = azure.disks().create(op, &request.disk, &body).await;
    let disk = match made {
        Ok(disk) => disk,
        Err(error) => return Err(not_made(ctx, op, &request.disk, error).await),
    };
    ctx.facts.put(&request.disk, &disk);
    if let Some(source) = &source {
        ctx.watch_conversion(&request.disk, source.sku.as_deref(), &request.params);
    }
    let origin = source.map_or(Origin::Empty, |source| Origin::Source(source.size));
    let reach = topology::reach(&spot, request.params.sku, &zones);
    reply(request, &disk, origin, reach)
}

/// An operation that fails can leave a disk behind. While there is one the caller has to come back,
/// or nobody would ever delete it.
async fn not_made(
    ctx: &Controller,
    op: &Op,
    uri: &DiskUri,
    error: azcsi_cloud::ArmError,
) -> ControllerError {
    if error.is_other_source() {
        return ControllerError::Differs {
            what: format!("disk {uri}"),
            difference: "it has another source".to_owned(),
        };
    }
    let doing = format!("creating disk {uri}");
    if error.is_from_operation() && !matches!(ctx.find_disk(op, uri).await, Ok(None)) {
        return ControllerError::HalfWay {
            doing,
            source: error,
        };
    }
    ControllerError::azure(doing, error)
}

async fn plan(
    ctx: &Controller,
    request: &Request,
    source: Option<&SourceFacts>,
    op: &Op,
) -> Result<(DiskCreate, Spot, SkuZones), ControllerError> {
    let params = &request.params;
    let size = create_plan::size(request.range, params, source.map(|source| source.size))?;
    if params.shares > params.sku.max_shares(size) {
        let most = params.sku.max_shares(size).get();
        return Err(ControllerError::Refused(format!(
            "parameter 'maxShares' is {}: a {} disk of {size} allows {most}",
            params.shares.get(),
            params.sku
        )));
    }
    let provisioned = performance::provision(params.sku, size, &params.performance)?;
    let requirement = within_reach(request, source)?;
    let wanted = params.placement.location.as_ref();
    let wanted = wanted.or_else(|| source.and_then(|source| source.region.as_ref()));
    let home = Spot {
        region: wanted.unwrap_or(&ctx.settings.location).clone(),
        zone: None,
    };
    let zones = zones(ctx, op, request, &home).await;
    let home = &ctx.settings.location;
    let spot = topology::pick(&requirement, wanted, home, (params.sku, &zones))?;
    let body = create_plan::body(Draft {
        params,
        size,
        spot: &spot,
        provisioned,
        source: source.map(|source| &source.id),
        tags: tags::of_disk(&params.claim, params.write_accelerator, &params.tags),
        extended_location: ctx.settings.extended_location.clone(),
    });
    Ok((body, spot, zones))
}

/// What the scheduler asks, narrowed to where the source can be copied to.
fn within_reach(
    request: &Request,
    source: Option<&SourceFacts>,
) -> Result<Requirement, ControllerError> {
    let zone = source.and_then(|source| source.zone.clone());
    let requirement = request.requirement.clone();
    match zone {
        Some(zone) if !request.params.sku.is_zone_redundant() => {
            if !topology::meets(&requirement, &[Place::Zonal(zone.clone())]) {
                return Err(ControllerError::NoRoom(format!(
                    "the source volume is in zone {zone}, which is not among the requested ones: a copy cannot leave its zone"
                )));
            }
            Ok(create_plan::narrowed(requirement, source))
        }
        _ => Ok(requirement),
    }
}

/// Zones of the SKU, asked for only where they matter.
async fn zones(ctx: &Controller, op: &Op, request: &Request, spot: &Spot) -> SkuZones {
    let asked =
        !request.requirement.requisite.is_empty() || !request.requirement.preferred.is_empty();
    let sku = request.params.sku;
    let matters = asked || sku.is_zone_redundant() || sku.has_provisioned_performance();
    if ctx.settings.stack || !matters {
        return SkuZones::default();
    }
    ctx.skus.zones(op, &spot.region, sku).await
}

async fn source_facts(
    ctx: &Controller,
    source: &Source,
    op: &Op,
) -> Result<SourceFacts, ControllerError> {
    let home = &ctx.settings.location;
    match source {
        Source::Disk(uri) => {
            let disk = ctx.need_disk(op, uri).await?;
            let spot = create_plan::spot(&disk, home);
            Ok(SourceFacts {
                id: uri.id().clone(),
                size: disk.copied_size().unwrap_or_default(),
                region: Some(spot.region),
                zone: spot.zone,
                sku: disk.sku.map(|sku| sku.name),
            })
        }
        Source::Snapshot(uri) => {
            let snapshot = ctx.need_snapshot(op, uri).await?;
            if let Some(error) = &snapshot.properties.copy_completion_error {
                return Err(ControllerError::State(format!(
                    "snapshot {uri} cannot be used: {} {}",
                    error.error_code, error.error_message
                )));
            }
            if !snapshot.is_ready() {
                let text = format!("snapshot {uri} is not ready yet");
                return Err(ControllerError::Going(text));
            }
            Ok(SourceFacts {
                id: uri.id().clone(),
                size: snapshot.size().unwrap_or_default(),
                region: snapshot.location.parse().ok(),
                zone: None,
                sku: snapshot.sku.map(|sku| sku.name),
            })
        }
    }
}

fn reply(
    request: Request,
    disk: &Disk,
    origin: Origin,
    reach: Vec<Place>,
) -> Result<Reply, ControllerError> {
    let uri = &request.disk;
    let size = disk.size().ok_or_else(|| {
        ControllerError::Going(format!(
            "disk {uri} is being created: its size is not known yet"
        ))
    })?;
    if !request.range.admits(size.bytes()) {
        return Err(ControllerError::Differs {
            what: format!("disk {uri}"),
            difference: format!("its size is {size}"),
        });
    }
    let params = &request.params;
    let context = volume_context::encode(
        &request.given,
        &NewVolume {
            size,
            origin,
            caching: params.caching.on(params.sku, size, params.shares),
            shares: params.shares,
        },
    );
    Ok(Reply {
        disk: request.disk,
        size: size.bytes(),
        context,
        source: request.wire_source,
        reach,
    })
}
