//! CreateVolume: a share, or a directory in one; empty, or a copy.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Measure, Method, Scope, validate};
use azcsi_types::access::{Access, VolumeMode};
use azcsi_types::op::Op;
use azcsi_types::share::ShareName;
use azcsi_types::share_handle::{ShareHandle, ShareParts};
use azcsi_types::size::{Bytes, CapacityRange, GiB};

use super::Controller;
use super::common::{in_share_guard, share_guard, volume_guard};
use super::create_plan::{Draft, Existing, ShareOf};
use super::credentials::{self, Credentials};
use super::directory::{self, Wish};
use super::error::ControllerError;
use super::keys::Which;
use super::place::{Placed, Placing};
use super::source::{Found, Source};
use crate::model::folder::Folder;
use crate::model::names;
use crate::model::params::FileParams;
use crate::model::protocol::Protocol;
use crate::model::volume_context::{self, NewVolume};

/// The RPC.
#[derive(Debug)]
pub struct CreateVolume;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    name: String,
    share: ShareName,
    /// The directory that is the volume, where the share is not.
    directory: Option<Folder>,
    range: CapacityRange,
    params: FileParams,
    /// The parameters as they were given, for the volume context.
    given: BTreeMap<String, String>,
    source: Option<Source>,
    wire_source: Option<v1::VolumeContentSource>,
    secrets: Option<Credentials>,
    fingerprint: String,
}

/// The reply.
#[derive(Clone, Debug)]
pub struct Reply {
    volume: ShareHandle,
    size: Bytes,
    context: HashMap<String, String>,
    source: Option<v1::VolumeContentSource>,
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
        let mutable = validate::map("mutable_parameters", wire.mutable_parameters)?;
        let mutable = sorted(mutable);
        let params = FileParams::parse(given.clone(), mutable.clone())?;
        check(ctx, &params, &access)?;
        let source = Source::read(wire.volume_content_source.clone())?;
        if params.folder.per_volume && source.is_some() {
            let text = "parameter 'folderPerVolume': such volumes are made empty, not of a snapshot or another volume";
            return Err(ControllerError::Refused(text.to_owned()));
        }
        let secrets = credentials::read(wire.secrets)?;
        let account = secrets.as_ref().map(|own| &own.account);
        let fingerprint =
            format!("{name:?} {range:?} {given:?} {mutable:?} {source:?} {account:?}");
        Ok(Request {
            share: share_name(&params, &name)?,
            directory: directory::named(&params, &name)?,
            name,
            range,
            params,
            given,
            source,
            wire_source: wire.volume_content_source,
            secrets,
            fingerprint,
        })
    }

    fn scope(request: &Request) -> Scope {
        let share = match request.params.share.name {
            None => share_guard(&request.share),
            Some(_) => in_share_guard(&request.share),
        };
        let mut guards = vec![volume_guard(&request.name), share];
        if let Some(source) = &request.source {
            guards.push(in_share_guard(&source.parts().share));
        }
        Scope::Operation {
            guards,
            fingerprint: request.fingerprint.clone(),
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<Reply, ControllerError> {
        let secrets = request.secrets.as_ref();
        let found = match &request.source {
            Some(source) => Some(ctx.find_source(&op, source, secrets).await?),
            None => None,
        };
        let placing = placing(&ctx, &request, found.as_ref())?;
        let mut placed = Box::pin(ctx.place(&op, &placing)).await?;
        if let Some(directory) = &request.directory {
            let wish = Wish {
                volume: &request.name,
                directory,
                range: request.range,
                on_delete: request.params.folder.on_delete,
            };
            let size = ctx
                .make_volume_directory(&op, &placed.at, &wish, secrets)
                .await?;
            placed.existing = Existing::Complete(size);
        }
        let share = &placed.at.share;
        let account = placed.at.account.name();
        let rest = Box::pin(finish(&ctx, &op, &request, (found.as_ref(), &placed))).await;
        rest.map_err(|error| error.half_way(format!("share {share} of {account}: the volume")))?;
        reply(&ctx, request, &placed)
    }

    fn encode(reply: Reply) -> Self::WireReply {
        v1::CreateVolumeResponse {
            volume: Some(v1::Volume {
                capacity_bytes: reply.size.as_i64(),
                volume_id: reply.volume.to_string(),
                volume_context: reply.context,
                content_source: reply.source,
                accessible_topology: Vec::new(),
            }),
        }
    }

    fn measure(request: &Request) -> Option<Measure> {
        let operation = match request.source {
            None => "controller_create_volume",
            Some(Source::Snapshot(_)) => "controller_create_volume_from_snapshot",
            Some(Source::Volume(_)) => "controller_create_volume_from_volume",
        };
        Some(Measure {
            operation,
            sku: request.params.account.sku.map(|sku| sku.to_string()),
        })
    }
}

pub(super) fn sorted(map: HashMap<String, String>) -> BTreeMap<String, String> {
    map.into_iter().collect()
}

/// What does not depend on anything that is there.
fn check(ctx: &Controller, params: &FileParams, access: &[Access]) -> Result<(), ControllerError> {
    if access.iter().any(|one| one.volume == VolumeMode::Block) {
        let text = "a file share has no block device: use volumeMode Filesystem";
        return Err(ControllerError::Refused(text.to_owned()));
    }
    let account = &params.account;
    let elsewhere = account
        .subscription
        .as_deref()
        .is_some_and(|subscription| !subscription.eq_ignore_ascii_case(&ctx.settings.subscription));
    if elsewhere && account.resource_group.is_none() {
        let text = "parameter 'subscriptionID' names another subscription than the cluster's: set resourceGroup as well";
        return Err(ControllerError::Refused(text.to_owned()));
    }
    Ok(())
}

fn share_name(params: &FileParams, volume: &str) -> Result<ShareName, ControllerError> {
    if let Some(template) = &params.share.name {
        let name = params.claim.expand(template);
        return name
            .parse()
            .map_err(|error| ControllerError::Refused(format!("parameter 'shareName': {error}")));
    }
    let base = names::Base {
        volume,
        prefix: params.share.prefix.as_deref(),
        protocol: params.share.protocol,
        vhd: false,
    };
    names::derive(&base)
        .ok_or_else(|| ControllerError::Refused(format!("no share can be named for '{volume}'")))
}

fn placing(
    ctx: &Controller,
    request: &Request,
    found: Option<&Found>,
) -> Result<Placing, ControllerError> {
    let protocol = request.params.share.protocol;
    let range = match found {
        Some(found) => found.check(request.range, protocol)?,
        // A limit is the volume's, not that of the share which it has with others.
        None if request.directory.is_some() => request.range.without_limit(),
        None => request.range,
    };
    Ok(Placing {
        share: request.share.clone(),
        draft: Draft {
            params: request.params.share.clone(),
            range,
            driver: ctx.settings.driver.clone(),
            volume: request.name.clone(),
            copy_of: request.source.as_ref().map(Source::folded),
            of: match request.directory {
                None => ShareOf::Volume,
                Some(_) => ShareOf::Many,
            },
        },
        params: request.params.clone(),
        prefer: found.map(|found| found.at.account.clone()),
        secrets: request.secrets.clone(),
    })
}

/// What a volume needs beside its share.
async fn finish(
    ctx: &Controller,
    op: &Op,
    request: &Request,
    (found, placed): (Option<&Found>, &Placed),
) -> Result<(), ControllerError> {
    if let (Some(found), Existing::Copying(_)) = (found, placed.existing) {
        let secrets = request.secrets.as_ref();
        ctx.copy_content(op, (found, &placed.at), secrets).await?;
    }
    store_key(ctx, op, request, placed).await
}

/// Puts the account's key where the node will look for it, if the class asks for that.
async fn store_key(
    ctx: &Controller,
    op: &Op,
    request: &Request,
    placed: &Placed,
) -> Result<(), ControllerError> {
    let port = &ctx.ports.secrets;
    let wanted = request.params.secret.store && request.secrets.is_none();
    let Ok(account) = placed.at.account.account() else {
        return Ok(());
    };
    if !wanted || !port.available() {
        return Ok(());
    }
    let secret = ctx.secret_for(&request.params, &account);
    let known = (secret.clone(), placed.at.account.folded());
    let write = async {
        let which = match request.params.secret.latest {
            true => Which::Latest,
            false => Which::First,
        };
        let key = ctx.keys.of_azure(op, &placed.at.account, which).await?;
        port.write(op, &secret, (&account, &key)).await?;
        Ok::<(), ControllerError>(())
    };
    ctx.written.get_or_fetch(&known, write).await
}

fn reply(ctx: &Controller, request: Request, placed: &Placed) -> Result<Reply, ControllerError> {
    let params = &request.params;
    let volume = ShareHandle::new(parts(ctx, &request, placed)?)?;
    let private = params.network.reach == Some(crate::model::params::Reach::PrivateEndpoint);
    let account = placed.at.account.name().to_ascii_lowercase();
    let suffix = ctx.suffix(&params.network);
    // Also where the id says it: a driver that does not read that finds it here.
    let folder = match (&request.directory, &params.folder.path) {
        (Some(directory), _) => Some(directory.to_string()),
        (None, Some(path)) => Some(params.claim.expand(path.as_str())),
        (None, None) => None,
    };
    let context = volume_context::encode(
        &request.given,
        &NewVolume {
            nfs: params.share.protocol == Protocol::Nfs,
            server: private.then(|| format!("{account}.privatelink.file.{suffix}")),
            disk_name: None,
            folder,
            secret_namespace: namespace(params).to_owned(),
        },
    );
    Ok(Reply {
        volume,
        size: size(placed.existing).bytes(),
        context,
        source: request.wire_source,
    })
}

fn namespace(params: &FileParams) -> &str {
    let said = params.secret.namespace.as_deref();
    said.or(params.claim.namespace.as_deref())
        .unwrap_or("default")
}

const fn size(existing: Existing) -> GiB {
    match existing {
        Existing::Complete(size) | Existing::Copying(size) => size,
    }
}

/// What the volume's id says: where the share is, and how it is managed.
fn parts(
    ctx: &Controller,
    request: &Request,
    placed: &Placed,
) -> Result<ShareParts, ControllerError> {
    let id = &placed.at.account;
    let params = &request.params;
    let account = id
        .account()
        .map_err(|error| ControllerError::Refused(error.to_string()))?;
    let elsewhere = !id
        .subscription()
        .eq_ignore_ascii_case(&ctx.settings.subscription);
    Ok(ShareParts {
        resource_group: Some(id.resource_group().to_owned()),
        // A key that comes with each request names its account itself.
        account: Some(account),
        share: placed.at.share.clone(),
        directory: request.directory.as_ref().map(ToString::to_string),
        disk: None,
        unique: params.share.name.is_some().then(|| request.name.clone()),
        plane: match params.data_plane {
            None => azcsi_types::share_handle::Plane::Management,
            Some(crate::model::params::DataPlane::Key) => azcsi_types::share_handle::Plane::Key,
            Some(crate::model::params::DataPlane::Oauth) => azcsi_types::share_handle::Plane::Oauth,
        },
        suffix: params.network.suffix.clone(),
        namespace: Some(namespace(params).to_owned()),
        subscription: elsewhere.then(|| id.subscription().to_owned()),
    })
}
