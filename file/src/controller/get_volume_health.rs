//! ControllerGetVolumeHealth: what is wrong with one share, seen from Azure.

use std::sync::Arc;

use azcsi_cloud::{Account, ProvisioningState, Share};
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::op::Op;
use azcsi_types::share_handle::{Plane, ShareHandle};

use super::Controller;
use super::error::ControllerError;
use super::record;

/// The RPC.
#[derive(Debug)]
pub struct GetVolumeHealth;

/// How bad it is (CSI, `VolumeHealthErrorType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Usable, but not at its best.
    Degraded,
    /// Out of reach.
    Inaccessible,
}

/// One condition. Reasons never change: people and programs match on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// How bad.
    pub severity: Severity,
    /// Stable word.
    pub reason: &'static str,
    /// What it is and what helps.
    pub message: &'static str,
}

/// What is wrong; at most one condition for each severity. `account` is absent where it was not read.
#[must_use]
pub fn conditions(share: &Share, account: Option<&Account>) -> Vec<Condition> {
    let mut found = Vec::new();
    let down = account.is_some_and(|account| {
        account.properties.status_of_primary.as_deref() == Some("unavailable")
    });
    if down {
        found.push(Condition {
            severity: Severity::Inaccessible,
            reason: "RegionUnavailable",
            message: "Azure says that the account's region is not available",
        });
    }
    let failed = account.is_some_and(|account| {
        account.properties.provisioning_state == Some(ProvisioningState::Failed)
    });
    if failed {
        found.push(Condition {
            severity: Severity::Degraded,
            reason: "AccountFailed",
            message: "the last change of the account failed: see the activity log of the resource",
        });
    } else if share.meta(record::COPY_STATE) == Some(record::COPYING) {
        found.push(Condition {
            severity: Severity::Degraded,
            reason: "CopyIncomplete",
            message: "the content is still being copied",
        });
    }
    found
}

impl Handler for GetVolumeHealth {
    type Ctx = Controller;
    type Wire = v1::ControllerGetVolumeHealthRequest;
    type WireReply = v1::ControllerGetVolumeHealthResponse;
    type Request = ShareHandle;
    type Reply = (ShareHandle, Vec<Condition>);
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerGetVolumeHealth;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<ShareHandle, ControllerError> {
        super::common::handle(wire.volume_id)
    }

    fn scope(_: &ShareHandle) -> Scope {
        Scope::Read
    }

    async fn run(
        ctx: Arc<Controller>,
        volume: ShareHandle,
        op: Op,
    ) -> Result<Self::Reply, ControllerError> {
        let at = ctx.locate(&op, volume.parts(), None).await?;
        // One that is gone is not found, as CSI wants it.
        let share = ctx.need_share(&op, &at).await?;
        ctx.need_directory(&op, &at, (volume.parts(), None)).await?;
        let account = match volume.parts().plane {
            Plane::Management => Some(ctx.account(&op, &at.account).await?),
            Plane::Key | Plane::Oauth => None,
        };
        let found = conditions(&share, account.as_ref());
        Ok((volume, found))
    }

    fn encode((volume, conditions): Self::Reply) -> Self::WireReply {
        let entry = |condition: Condition| v1::volume_health::VolumeHealthEntry {
            status: match condition.severity {
                Severity::Degraded => v1::VolumeHealthErrorType::Degraded,
                Severity::Inaccessible => v1::VolumeHealthErrorType::Inaccessible,
            }
            .into(),
            reason: condition.reason.to_owned(),
            message: condition.message.to_owned(),
        };
        v1::ControllerGetVolumeHealthResponse {
            volume_health: Some(v1::VolumeHealth {
                volume_id: volume.to_string(),
                health_statuses: conditions.into_iter().map(entry).collect(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use azcsi_cloud::{Account, Share};
    use serde_json::json;

    use super::conditions;
    use crate::controller::account::matching::tests::{made_for, want};
    use crate::controller::account::want::Exposure;

    #[test]
    fn each_condition_has_its_reason() {
        let reasons = |share: &Share, account: Option<&Account>| -> Vec<&'static str> {
            let found = conditions(share, account);
            found.iter().map(|one| one.reason).collect()
        };
        let share = |metadata| -> Share {
            serde_json::from_value(json!({"properties": {"metadata": metadata}})).unwrap()
        };
        let account = |key: &str, value: &str| -> Account {
            let mut all = made_for(&want(&[], Exposure::Public), "acct1");
            all["properties"][key] = json!(value);
            serde_json::from_value(all).unwrap()
        };
        let well = share(json!({}));
        assert!(reasons(&well, Some(&account("accessTier", "Hot"))).is_empty());
        let copying = share(json!({"copystate": "copying"}));
        assert_eq!(reasons(&copying, None), ["CopyIncomplete"]);
        let failed = account("provisioningState", "Failed");
        assert_eq!(reasons(&well, Some(&failed)), ["AccountFailed"]);
        let down = account("statusOfPrimary", "unavailable");
        assert_eq!(reasons(&well, Some(&down)), ["RegionUnavailable"]);
    }
}
