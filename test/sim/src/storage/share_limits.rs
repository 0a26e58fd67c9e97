//! How large and how fast shares may be, alone and together in their account.

use std::time::Duration;

use crate::state::State;
use crate::storage::model::{Account, Provisioned, Share};
use crate::storage::share_rules::{Refusal, Wanted};
use crate::world::key;

/// What was raised cannot be lowered for so long.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Least and most of one figure of a share.
type Range = (u64, u64);

/// The limits of an account and of each of its shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) gib: Range,
    pub(crate) iops: Range,
    pub(crate) mibps: Range,
    /// Shares, GiB, IOPS and MiB/s of the whole account; none where nothing is counted.
    pub(crate) account: Option<(u64, u64, u64, u64)>,
    /// Base and tenths per GiB of the recommended IOPS and MiB/s.
    pub(crate) base: (u64, u64),
    pub(crate) scalar: (f64, f64),
}

/// The limits that go with an account's SKU.
pub(crate) fn of(account: &Account) -> Limits {
    match (account.is_v2(), account.is_ssd()) {
        (true, true) => Limits {
            gib: (32, 262_144),
            iops: (3000, 102_400),
            mibps: (125, 10_340),
            account: Some((50, 262_144, 102_400, 10_340)),
            base: (3000, 125),
            scalar: (1.0, 0.1),
        },
        (true, false) => Limits {
            gib: (32, 262_144),
            iops: (500, 50_000),
            mibps: (60, 5120),
            account: Some((50, 4_194_304, 50_000, 5120)),
            base: (1000, 60),
            scalar: (0.2, 0.02),
        },
        (false, true) => Limits {
            gib: (100, 102_400),
            iops: (0, u64::MAX),
            mibps: (0, u64::MAX),
            account: Some((1024, 102_400, u64::MAX, u64::MAX)),
            base: (3000, 100),
            scalar: (1.0, 0.1),
        },
        (false, false) => Limits {
            gib: (1, if large(account) { 102_400 } else { 5120 }),
            iops: (0, u64::MAX),
            mibps: (0, u64::MAX),
            account: None,
            base: (0, 0),
            scalar: (0.0, 0.0),
        },
    }
}

fn large(account: &Account) -> bool {
    account.text("largeFileSharesState") == Some("Enabled")
}

/// What a share gets when nobody says how large.
pub(crate) fn default_quota(account: &Account) -> u64 {
    match (account.is_v2(), account.is_ssd()) {
        (true, _) => 1024,
        (false, true) => 102_400,
        (false, false) => of(account).gib.1,
    }
}

/// IOPS and MiB/s that go with a size.
pub(crate) fn recommended(account: &Account, gib: u64) -> (u64, u64) {
    let limits = of(account);
    let size = u32::try_from(gib).map_or(f64::MAX, f64::from);
    let more = |scalar: f64| whole(size * scalar);
    if account.is_v2() {
        return (
            (limits.base.0 + more(limits.scalar.0)).clamp(limits.iops.0, limits.iops.1),
            (limits.base.1 + more(limits.scalar.1)).clamp(limits.mibps.0, limits.mibps.1),
        );
    }
    if account.is_ssd() {
        return ((3000 + gib).min(102_400), 100 + more(0.04) + more(0.06));
    }
    (0, 0)
}

/// Burst IOPS of a share with so many.
pub(crate) fn burst(account: &Account, gib: u64, iops: u64) -> u64 {
    let times = if account.is_v2() {
        iops.saturating_mul(3)
    } else {
        gib.saturating_mul(3)
    };
    let floor = if account.is_ssd() { 10_000 } else { 5000 };
    times
        .max(floor)
        .min(if account.is_ssd() { 102_400 } else { 50_000 })
}

/// The next whole number; figures here are far below where this could matter.
fn whole(number: f64) -> u64 {
    let mut low = 0_u64;
    let mut high = 1 << 40;
    while low < high {
        let middle = u64::midpoint(low, high);
        let near = u32::try_from(middle).map_or(f64::MAX, f64::from);
        if near + 1e-9 >= number {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The figures of a share after a request: checked against its ranges and the day's rule.
pub(crate) fn figures(
    account: &Account,
    before: Option<&Share>,
    wanted: &Wanted,
    now: Duration,
) -> Result<[Provisioned; 3], Refusal> {
    let none = Provisioned::default();
    let (had, iops, mibps) = before.map_or((none, none, none), |share| {
        (share.quota, share.iops, share.mibps)
    });
    let quota = wanted.quota.or(before.map(|_| had.value));
    let quota = quota.unwrap_or_else(|| default_quota(account));
    let (advised_iops, advised_mibps) = recommended(account, quota);
    // Only provisioned v2 lets speeds be chosen; elsewhere they follow from the size.
    let choose = |asked: Option<u64>, has: Provisioned, advised: u64| {
        let chosen = asked.or(before.map(|_| has.value));
        chosen.filter(|_| account.is_v2()).unwrap_or(advised)
    };
    let chosen = [
        quota,
        choose(wanted.iops, iops, advised_iops),
        choose(wanted.mibps, mibps, advised_mibps),
    ];
    ranges(account, chosen)?;
    let [quota, fast, wide] = chosen;
    let sized = account.is_v2() || account.is_ssd();
    let rules = [
        (had, quota, sized, "ContainerQuotaDowngradeNotAllowed"),
        (
            iops,
            fast,
            account.is_v2(),
            "FileShareProvisionedIopsDowngradeNotAllowed",
        ),
        (
            mibps,
            wide,
            account.is_v2(),
            "FileShareProvisionedBandwidthDowngradeNotAllowed",
        ),
    ];
    let [one, two, three] =
        rules.map(|(had, value, bound, code)| step(had, value, (now, bound), code));
    Ok([one?, two?, three?])
}

/// Each figure is within its range.
fn ranges(account: &Account, [quota, iops, mibps]: [u64; 3]) -> Result<(), Refusal> {
    let limits = of(account);
    let size = if account.is_v2() {
        "FileShareProvisionedStorageInvalid"
    } else {
        "InvalidHeaderValue"
    };
    for (value, range, code, header) in [
        (quota, limits.gib, size, "x-ms-share-quota"),
        (
            iops,
            limits.iops,
            "FileShareProvisionedIopsInvalid",
            "x-ms-share-provisioned-iops",
        ),
        (
            mibps,
            limits.mibps,
            "FileShareProvisionedBandwidthInvalid",
            "x-ms-share-provisioned-bandwidth-mibps",
        ),
    ] {
        if !within(value, range) {
            return Err(Refusal::bad(code, RANGE).about(header, value));
        }
    }
    Ok(())
}

const RANGE: &str = "The value for one of the HTTP headers is not in the correct format.";

const fn within(value: u64, range: Range) -> bool {
    value >= range.0 && value <= range.1
}

fn step(
    had: Provisioned,
    value: u64,
    (now, bound): (Duration, bool),
    code: &'static str,
) -> Result<Provisioned, Refusal> {
    if value == had.value {
        return Ok(had);
    }
    if value > had.value {
        return Ok(Provisioned { value, raised: now });
    }
    if bound && now < had.raised + DAY {
        return Err(Refusal::conflict(
            code,
            "The requested provisioned value cannot be decreased within 24 hours after the last increase.",
        ));
    }
    Ok(Provisioned {
        value,
        raised: had.raised,
    })
}

/// When a figure may be lowered, on the axis of the clock.
pub(crate) fn lowered_from(figure: Provisioned) -> Duration {
    figure.raised + DAY
}

/// What an account holds: shares, GiB, IOPS, MiB/s of the live ones and of the deleted ones.
pub(crate) fn held(state: &State, account: &str) -> ([u64; 4], [u64; 4]) {
    let below = format!("{}/", key(account));
    let sum = |total: &mut [u64; 4], share: &Share| {
        let more = [1, share.quota.value, share.iops.value, share.mibps.value];
        for (sum, more) in total.iter_mut().zip(more) {
            *sum = sum.saturating_add(more);
        }
    };
    let (mut live, mut deleted) = ([0; 4], [0; 4]);
    for (_, share) in state
        .world
        .shares
        .range(below.clone()..)
        .take_while(|(key, _)| key.starts_with(&below))
    {
        sum(&mut live, share);
    }
    let gone = state.world.deleted_shares.range(below.clone()..);
    for (_, gone) in gone.take_while(|(key, _)| key.starts_with(&below)) {
        sum(&mut deleted, &gone.share);
    }
    (live, deleted)
}

/// Whether the account has room for a share with these figures in place of `before`.
pub(crate) fn room(
    state: &State,
    account: &Account,
    before: Option<&Share>,
    after: &[Provisioned; 3],
) -> Result<(), Refusal> {
    let Some((shares, gib, iops, mibps)) = of(account).account else {
        return Ok(());
    };
    let (live, deleted) = held(state, &account.id);
    let old = before.map_or([0; 4], |share| {
        [1, share.quota.value, share.iops.value, share.mibps.value]
    });
    let [quota, speed, band] = after.map(|figure| figure.value);
    let new = [1, quota, speed, band];
    let rules = [
        (shares, "TotalSharesCountExceedsAccountLimit", "share count"),
        (
            gib,
            "TotalSharesProvisionedCapacityExceedsAccountLimit",
            "provisioned capacity",
        ),
        (
            iops,
            "TotalSharesProvisionedIopsExceedsAccountLimit",
            "provisioned IOPS",
        ),
        (
            mibps,
            "TotalSharesProvisionedBandwidthExceedsAccountLimit",
            "provisioned bandwidth",
        ),
    ];
    for (index, (most, code, what)) in rules.into_iter().enumerate() {
        let at = |figures: &[u64; 4]| figures.get(index).copied().unwrap_or_default();
        let total = at(&live)
            .saturating_add(at(&deleted))
            .saturating_sub(at(&old))
            .saturating_add(at(&new));
        if total > most && at(&new) > at(&old) {
            let message =
                format!("The total {what} of the shares exceeds the account maximum {what} limit.");
            return Err(Refusal::conflict(code, &message));
        }
    }
    Ok(())
}
