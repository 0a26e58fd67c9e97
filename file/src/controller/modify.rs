//! ControllerModifyVolume: IOPS and bandwidth of a share, as its VolumeAttributesClass wants them.

use std::sync::Arc;

use azcsi_cloud::{Share, ShareUpdate};
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::op::Op;
use azcsi_types::share_handle::ShareHandle;

use super::Controller;
use super::common::share_guard;
use super::create_volume::sorted;
use super::credentials::{self, Credentials};
use super::error::ControllerError;
use crate::model::mutable::MutableParams;

/// The RPC.
#[derive(Debug)]
pub struct Modify;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    volume: ShareHandle,
    wish: MutableParams,
    secrets: Option<Credentials>,
}

/// What is to be changed of a share; `None` if it is as it should be.
#[must_use]
pub fn plan(share: &Share, wish: MutableParams) -> Option<ShareUpdate> {
    let MutableParams { iops, bandwidth } = wish;
    let own = &share.properties;
    let change = ShareUpdate {
        provisioned_iops: iops.filter(|_| iops != own.provisioned_iops),
        provisioned_bandwidth_mibps: bandwidth
            .filter(|_| bandwidth != own.provisioned_bandwidth_mibps),
        ..ShareUpdate::default()
    };
    (change != ShareUpdate::default()).then_some(change)
}

impl Handler for Modify {
    type Ctx = Controller;
    type Wire = v1::ControllerModifyVolumeRequest;
    type WireReply = v1::ControllerModifyVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerModifyVolume;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let map = validate::map("mutable_parameters", wire.mutable_parameters)?;
        Ok(Request {
            wish: MutableParams::parse(sorted(map))?,
            volume: super::common::handle(id)?,
            secrets: credentials::read(wire.secrets)?,
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: vec![share_guard(&request.volume.parts().share)],
            fingerprint: format!("{} {:?}", request.volume.folded(), request.wish),
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<(), ControllerError> {
        let parts = request.volume.parts();
        // Also where nothing is to be changed: a volume that is gone is not found.
        let at = ctx.locate(&op, parts, request.secrets.as_ref()).await?;
        let share = ctx.need_share(&op, &at).await?;
        if parts.directory.is_some() && request.wish != MutableParams::default() {
            let text =
                "the volume is a directory in a share that others use: change the share itself";
            return Err(ControllerError::Refused(text.to_owned()));
        }
        let Some(change) = plan(&share, request.wish) else {
            return Ok(());
        };
        let error = match at.access.update(&op, &at.share, &change).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let what = format!("share {} of account {}", at.share, at.account.name());
        if error.is_downgrade_too_early() {
            return Err(ControllerError::Going(format!(
                "{what}: IOPS and bandwidth were raised less than a day ago and cannot be lowered yet: {}",
                error.message()
            )));
        }
        Err(ControllerError::azure(format!("changing {what}"), error))
    }

    fn encode((): ()) -> Self::WireReply {
        v1::ControllerModifyVolumeResponse {}
    }
}

#[cfg(test)]
mod tests {
    use azcsi_cloud::Share;
    use serde_json::json;

    use super::plan;
    use crate::model::mutable::MutableParams;

    #[test]
    fn only_what_differs_is_sent_pr_29() {
        let properties = json!({"provisionedIops": 4000, "provisionedBandwidthMibps": 200});
        let share: Share = serde_json::from_value(json!({"properties": properties})).unwrap();
        let wish = |iops, bandwidth| MutableParams { iops, bandwidth };
        assert_eq!(plan(&share, wish(Some(4000), Some(200))), None);
        assert_eq!(plan(&share, wish(None, None)), None);
        let change = plan(&share, wish(Some(5000), Some(200))).unwrap();
        assert_eq!(change.provisioned_iops, Some(5000));
        assert_eq!(change.provisioned_bandwidth_mibps, None);
    }
}
