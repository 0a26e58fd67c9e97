//! `fileServices/default/usages`: limits and use of accounts with provisioned billing.

use serde_json::{Value, json};

use crate::call::{Answer, Call, Reply};
use crate::error::ArmError;
use crate::state::State;
use crate::storage::accounts::ready;
use crate::storage::model::Account;
use crate::storage::share_limits as limits;

pub(crate) fn get(state: &mut State, call: &Call) -> Answer {
    let account = ready(state, call)?;
    Ok(Reply::ok(show(state, account)?))
}

pub(crate) fn list(state: &mut State, call: &Call) -> Answer {
    let account = ready(state, call)?;
    Ok(Reply::ok(json!({"value": [show(state, account)?]})))
}

fn show(state: &State, account: &Account) -> Result<Value, ArmError> {
    let allowed = limits::of(account);
    let Some((shares, gib, iops, mibps)) = allowed.account.filter(|_| account.is_v2()) else {
        return Err(ArmError::bad_request(
            "FeatureNotSupportedForAccount",
            "File service usage is not supported for the account.",
        ));
    };
    let (live, deleted) = limits::held(state, &account.id);
    let used = |[count, gib, iops, mibps]: [u64; 4]| {
        json!({
            "fileShareCount": count, "provisionedStorageGiB": gib,
            "provisionedIOPS": iops, "provisionedBandwidthMiBPerSec": mibps,
        })
    };
    Ok(json!({
        "id": format!("{}/fileServices/default/usages/default", account.id),
        "name": "default",
        "type": "Microsoft.Storage/storageAccounts/fileServices/usages",
        "properties": {
            "storageAccountLimits": {
                "maxFileShares": shares, "maxProvisionedStorageGiB": gib,
                "maxProvisionedIOPS": iops, "maxProvisionedBandwidthMiBPerSec": mibps,
            },
            "fileShareLimits": {
                "minProvisionedStorageGiB": allowed.gib.0, "maxProvisionedStorageGiB": allowed.gib.1,
                "minProvisionedIOPS": allowed.iops.0, "maxProvisionedIOPS": allowed.iops.1,
                "minProvisionedBandwidthMiBPerSec": allowed.mibps.0,
                "maxProvisionedBandwidthMiBPerSec": allowed.mibps.1,
            },
            "fileShareRecommendations": {
                "baseIOPS": allowed.base.0, "ioScalar": allowed.scalar.0,
                "baseBandwidthMiBPerSec": allowed.base.1, "bandwidthScalar": allowed.scalar.1,
            },
            "burstingConstants": {
                "burstFloorIOPS": if account.is_ssd() { 10_000 } else { 5000 },
                "burstIOScalar": 3.0, "burstTimeframeSeconds": 3600,
            },
            "storageAccountUsage": {"liveShares": used(live), "softDeletedShares": used(deleted)},
        },
    }))
}
