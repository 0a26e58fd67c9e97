//! How shares look on the management plane.

use serde_json::{Map, Value, json};

use crate::stamp::stamp;
use crate::state::State;
use crate::storage::model::{Account, Deleted, Share, ShareSnapshot};
use crate::storage::{share_life, share_limits as limits};

const KIND: &str = "Microsoft.Storage/storageAccounts/fileServices/shares";

/// A share as GET answers it.
pub(crate) fn show(state: &State, account: &Account, share: &Share) -> Value {
    whole(share, properties(state, account, share))
}

/// With how much it holds, when asked for.
pub(crate) fn with_stats(state: &State, account: &Account, share: &Share) -> Value {
    let mut fields = properties(state, account, share);
    fields.insert(
        "shareUsageBytes".into(),
        json!(state.contents.used(&share.contents)),
    );
    whole(share, fields)
}

fn whole(share: &Share, properties: Map<String, Value>) -> Value {
    json!({
        "id": share.id, "name": share.name, "type": KIND, "etag": share.etag,
        "properties": properties,
    })
}

fn properties(state: &State, account: &Account, share: &Share) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    set("accessTier", json!(share.tier));
    set("enabledProtocols", json!(share.protocol));
    set("lastModifiedTime", json!(stamp(share.modified_ms)));
    let (held, locked) = if lease(state, share) {
        ("leased", "locked")
    } else {
        ("available", "unlocked")
    };
    set("leaseState", json!(held));
    set("leaseStatus", json!(locked));
    set("shareQuota", json!(share.quota.value));
    if !share.metadata.is_empty() {
        set("metadata", json!(share.metadata));
    }
    if let Some(squash) = &share.root_squash {
        set("rootSquash", json!(squash));
    }
    if account.is_ssd() || account.is_v2() {
        let next = share_life::lowered_ms(state, share.quota);
        set("nextAllowedQuotaDowngradeTime", json!(stamp(next)));
    }
    if account.is_v2() {
        fields.append(&mut provisioned(state, account, share));
    }
    fields
}

/// What provisioned v2 shares have besides.
fn provisioned(state: &State, account: &Account, share: &Share) -> Map<String, Value> {
    let iops = share.iops.value;
    let burst = limits::burst(account, share.quota.value, iops);
    let credits = burst.saturating_sub(iops).saturating_mul(3600);
    let lowered = |figure| json!(stamp(share_life::lowered_ms(state, figure)));
    [
        ("provisionedIops", json!(iops)),
        ("provisionedBandwidthMibps", json!(share.mibps.value)),
        ("includedBurstIops", json!(burst)),
        ("maxBurstCreditsForIops", json!(credits)),
        (
            "nextAllowedProvisionedIopsDowngradeTime",
            lowered(share.iops),
        ),
        (
            "nextAllowedProvisionedBandwidthDowngradeTime",
            lowered(share.mibps),
        ),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

/// Whether someone has it leased.
pub(crate) fn lease(state: &State, share: &Share) -> bool {
    share
        .lease
        .as_ref()
        .is_some_and(|lease| lease.until.is_none_or(|until| until > state.now))
}

/// A snapshot of a share.
pub(crate) fn snapshot(
    state: &State,
    account: &Account,
    share: &Share,
    taken: &ShareSnapshot,
) -> Value {
    let mut then = share.clone();
    then.metadata.clone_from(&taken.metadata);
    then.quota.value = taken.quota;
    let mut fields = properties(state, account, &then);
    fields.insert("snapshotTime".into(), json!(taken.time));
    whole(&then, fields)
}

/// A share that was deleted, as lists show it.
pub(crate) fn deleted(state: &State, account: &Account, gone: &Deleted) -> Value {
    let mut fields = properties(state, account, &gone.share);
    let left = gone
        .until_ms
        .saturating_sub(state.wall_ms)
        .div_ceil(24 * 3600 * 1000);
    fields.insert("deleted".into(), json!(true));
    fields.insert("deletedTime".into(), json!(stamp(gone.deleted_ms)));
    fields.insert("remainingRetentionDays".into(), json!(left));
    fields.insert("version".into(), json!(gone.version));
    whole(&gone.share, fields)
}
