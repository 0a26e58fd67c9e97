//! ControllerExpandVolume: a larger share. It is never made smaller.

use std::sync::Arc;

use azcsi_cloud::ShareUpdate;
use azcsi_proto::csi::v1;
use azcsi_rpc::validate::Invalid;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::op::Op;
use azcsi_types::share_handle::ShareHandle;
use azcsi_types::size::{Bytes, CapacityRange, GiB};

use super::Controller;
use super::common::{Located, share_guard};
use super::credentials::{self, Credentials};
use super::error::ControllerError;

/// The RPC.
#[derive(Debug)]
pub struct Expand;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    volume: ShareHandle,
    range: CapacityRange,
    secrets: Option<Credentials>,
}

/// What an expansion does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// The share is large enough.
    Enough(GiB),
    /// It has to grow.
    Grow(GiB),
}

/// What an expansion does with a share of a size.
///
/// # Errors
/// If the share is larger than it may be, or cannot be made so small a step larger.
pub fn plan(size: GiB, range: CapacityRange) -> Result<Plan, String> {
    let wanted = range.required().unwrap_or_default().ceil();
    let (plan, result) = if size >= wanted {
        (Plan::Enough(size), size)
    } else {
        (Plan::Grow(wanted), wanted)
    };
    if range.limit().is_some_and(|limit| result.bytes() > limit) {
        return Err(format!(
            "a share of {result} is larger than limit_bytes allows"
        ));
    }
    Ok(plan)
}

impl Handler for Expand {
    type Ctx = Controller;
    type Wire = v1::ControllerExpandVolumeRequest;
    type WireReply = v1::ControllerExpandVolumeResponse;
    type Request = Request;
    type Reply = Bytes;
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerExpandVolume;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        if wire.capacity_range.is_none() {
            return Err(Invalid::Missing("capacity_range").into());
        }
        let range = validate::capacity_range(wire.capacity_range)?;
        if range.required().is_none() {
            return Err(Invalid::Missing("capacity_range.required_bytes").into());
        }
        Ok(Request {
            volume: id.parse::<ShareHandle>()?,
            range,
            secrets: credentials::read(wire.secrets)?,
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![share_guard(&request.volume.parts().share)],
            fingerprint: format!("{} {:?}", request.volume.folded(), request.range),
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<Bytes, ControllerError> {
        let parts = request.volume.parts();
        if parts.disk.is_some() {
            let text = "the volume is a disk file on a share: its filesystem cannot grow";
            return Err(ControllerError::State(text.to_owned()));
        }
        let at = ctx.locate(&op, parts, request.secrets.as_ref()).await?;
        if super::directory::own(parts).is_some() {
            return grow_directory(&ctx, &op, &request, &at).await;
        }
        let share = ctx.need_share(&op, &at).await?;
        let size = share.quota().unwrap_or_default();
        let wanted = match plan(size, request.range).map_err(ControllerError::Range)? {
            Plan::Enough(size) => return Ok(size.bytes()),
            Plan::Grow(wanted) => wanted,
        };
        let change = ShareUpdate {
            share_quota: Some(wanted.get()),
            ..ShareUpdate::default()
        };
        match at.access.update(&op, &at.share, &change).await {
            Ok(()) => Ok(wanted.bytes()),
            Err(error) => Err(failed(&at, wanted, error)),
        }
    }

    fn encode(size: Bytes) -> Self::WireReply {
        v1::ControllerExpandVolumeResponse {
            capacity_bytes: size.as_i64(),
            node_expansion_required: false,
        }
    }
}

/// A volume that is a directory: its share has to be as large, and its record says how large it is.
async fn grow_directory(
    ctx: &Controller,
    op: &Op,
    request: &Request,
    at: &Located,
) -> Result<Bytes, ControllerError> {
    let (parts, secrets) = (request.volume.parts(), request.secrets.as_ref());
    ctx.need_share(op, at).await?;
    let record = ctx.need_directory(op, at, (parts, secrets)).await?;
    let Some((mut record, (path, _))) = record.zip(super::directory::own(parts)) else {
        return Err(ControllerError::Absent {
            what: format!("volume {}", request.volume),
        });
    };
    if record.deleting {
        let text = format!("volume {} is being deleted", request.volume);
        return Err(ControllerError::Going(text));
    }
    match plan(record.size, request.range).map_err(ControllerError::Range)? {
        Plan::Enough(size) => return Ok(size.bytes()),
        Plan::Grow(wanted) => record.size = wanted,
    }
    ctx.grow_share(op, at, record.size).await?;
    let target = super::directory::at(at, path)?;
    let files = ctx.files_of(op, at, secrets).await?;
    let noted = files
        .set_directory_metadata(op, &target, &record.metadata())
        .await;
    // The share may have grown: nothing final is said of what is half done.
    noted.map_err(|error| {
        ControllerError::azure(format!("noting the size of {target}"), error)
            .half_way(format!("growing {target}"))
    })?;
    Ok(record.size.bytes())
}

/// Sizes that no share of the account can have are final; everything else is tried again.
pub(super) fn failed(at: &Located, wanted: GiB, error: azcsi_cloud::ArmError) -> ControllerError {
    let sizes = [
        "FileShareProvisionedStorageInvalid",
        "ShareSizeLimitReached",
        "InvalidShareQuota",
    ];
    let account = at.account.name();
    if sizes.iter().any(|code| error.has_code(code)) {
        let text = error.message();
        return ControllerError::Range(format!(
            "share {} of account {account} cannot have {wanted}: {text}",
            at.share
        ));
    }
    let doing = format!("growing share {} of {account} to {wanted}", at.share);
    ControllerError::azure(doing, error)
}

#[cfg(test)]
mod tests {
    use azcsi_types::size::{CapacityRange, GiB};

    use super::{Plan, plan};

    #[test]
    fn a_share_grows_and_never_shrinks() {
        let gib = 1_i64 << 30;
        for (required, limit, expected) in [
            (20 * gib, 0, Ok(Plan::Grow(GiB::new(20)))),
            (10 * gib + 1, 0, Ok(Plan::Grow(GiB::new(11)))),
            (10 * gib, 0, Ok(Plan::Enough(GiB::new(10)))),
            (5 * gib, 0, Ok(Plan::Enough(GiB::new(10)))),
            (5 * gib, 6 * gib, Err(())),
            (10 * gib + 1, 10 * gib + 2, Err(())),
        ] {
            let range = CapacityRange::from_wire(required, limit).unwrap();
            assert_eq!(plan(GiB::new(10), range).map_err(drop), expected);
        }
    }
}
