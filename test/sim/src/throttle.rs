//! Token buckets: ARM's own per subscription, and those of the compute provider per resource and per
//! subscription. Capacities and refills are the documented ones; the comments of `data` name them.

use std::collections::HashMap;
use std::time::Duration;

use http::StatusCode;
use serde_json::json;

use crate::error::ArmError;
use crate::stamp::stamp;
use crate::state::Profile;

/// Which buckets a request draws from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Policy {
    Arm,
    DiskGet,
    DiskWrite,
    DiskDelete,
    VmGet,
    VmList,
    VmPut,
    VmUpdate,
    VmDelete,
    SetGet,
    SetList,
    InstanceGet,
    InstanceUpdate,
    Poll,
    StorageRead,
    StorageWrite,
    StorageList,
    NetworkRead,
    NetworkWrite,
    DnsRead,
    DnsWrite,
}

/// Refill per minute and burst.
type Size = (u64, u64);

impl Policy {
    /// Name, limits per resource, limits per subscription.
    const fn limits(self) -> Option<(&'static str, Option<Size>, Size)> {
        Some(match self {
            Self::Arm
            | Self::StorageRead
            | Self::StorageWrite
            | Self::StorageList
            | Self::NetworkRead
            | Self::NetworkWrite
            | Self::DnsRead
            | Self::DnsWrite => return None,
            Self::DiskGet => ("LowCostGet3Min", None, (5000, 15_000)),
            Self::DiskWrite => ("CreateUpdateDisks3Min", None, (333, 1000)),
            Self::DiskDelete => ("DeleteDisks3Min", None, (333, 1000)),
            Self::VmGet => ("GetVMResource", Some((12, 36)), (8000, 24_000)),
            Self::VmList => ("ListVMs", None, (300, 900)),
            Self::VmPut => ("PutVMResource", Some((4, 12)), (500, 1500)),
            Self::VmUpdate => ("UpdateVMResource", Some((4, 12)), (500, 1500)),
            Self::VmDelete => ("DeleteVMResource", Some((4, 12)), (500, 1500)),
            Self::SetGet => ("GetVMScaleSetResource", Some((12, 36)), (800, 2400)),
            Self::SetList => ("HighCostGetVMScaleSetResource", Some((10, 30)), (360, 1080)),
            Self::InstanceGet => ("GetVMScaleSetVMResource", Some((12, 36)), (2000, 6000)),
            Self::InstanceUpdate => ("UpdateVMScaleSetVMResource", Some((4, 12)), (500, 1500)),
            Self::Poll => ("GetOperation", Some((15, 45)), (5000, 15_000)),
        })
    }
}

impl Policy {
    /// Windows of the storage and network providers, per subscription and region: what Azure calls
    /// them, refill per minute, burst. Storage: 800 reads in 5 minutes, 100 lists in 5 minutes,
    /// 10 writes in a second and 1200 in an hour. Network: 10,000 reads and 1,000 writes in 5
    /// minutes. Private DNS: 500 reads in 5 minutes.
    const fn windows(self) -> &'static [(&'static str, u64, u64)] {
        match self {
            Self::StorageRead => &[("Read_ObservationWindow_00:05:00", 160, 800)],
            Self::StorageList => &[("List_ObservationWindow_00:05:00", 20, 100)],
            Self::StorageWrite => &[
                ("Write_ObservationWindow_00:00:01", 600, 10),
                ("Write_ObservationWindow_01:00:00", 20, 1200),
            ],
            Self::NetworkRead => &[("Network_Read_00:05:00", 2000, 10_000)],
            Self::NetworkWrite => &[("Network_Write_00:05:00", 200, 1000)],
            Self::DnsRead => &[("PrivateDns_Read_00:05:00", 100, 500)],
            Self::DnsWrite => &[("PrivateDns_Write_00:05:00", 40, 200)],
            _ => &[],
        }
    }
}

/// A token is this many units, so that a refill per minute is a whole number per millisecond.
const TOKEN: u64 = 60_000;

#[derive(Debug)]
struct Bucket {
    units: u64,
    at: Duration,
}

/// All buckets of a world.
#[derive(Debug)]
pub(crate) struct Throttle {
    profile: Profile,
    buckets: HashMap<String, Bucket>,
}

/// What is left, for the headers.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Header name and value.
    pub(crate) arm: Option<(String, u64)>,
    /// Policy and tokens.
    pub(crate) compute: Vec<(String, u64)>,
}

impl Throttle {
    pub(crate) fn new(profile: Profile) -> Self {
        Self {
            profile,
            buckets: HashMap::new(),
        }
    }

    fn take(&mut self, name: String, size: Size, now: Duration) -> Result<u64, u64> {
        let (refill, burst) = match self.profile {
            Profile::Stress => ((size.0 / 10).max(1), (size.1 / 10).max(1)),
            _ => size,
        };
        let full = burst * TOKEN;
        let bucket = self.buckets.entry(name).or_insert(Bucket {
            units: full,
            at: now,
        });
        let passed = u64::try_from(now.saturating_sub(bucket.at).as_millis()).unwrap_or(u64::MAX);
        bucket.units = bucket
            .units
            .saturating_add(passed.saturating_mul(refill))
            .min(full);
        bucket.at = now;
        if bucket.units < TOKEN {
            let ms = (TOKEN - bucket.units).div_ceil(refill);
            return Err(ms.div_ceil(1000).max(1));
        }
        bucket.units -= TOKEN;
        Ok(bucket.units / TOKEN)
    }

    /// ARM's own bucket of a caller.
    pub(crate) fn arm(
        &mut self,
        (method, subscription, caller): (&http::Method, &str, &str),
        now: Duration,
        left: &mut Left,
    ) -> Result<(), ArmError> {
        if self.profile == Profile::Instant {
            return Ok(());
        }
        let (class, size) = match *method {
            http::Method::GET | http::Method::HEAD => ("reads", (1500, 250)),
            http::Method::DELETE => ("deletes", (600, 200)),
            _ => ("writes", (600, 200)),
        };
        let name = format!("arm/{class}/{subscription}/{caller}");
        match self.take(name, size, now) {
            Ok(tokens) => {
                left.arm = Some((
                    format!("x-ms-ratelimit-remaining-subscription-{class}"),
                    tokens,
                ));
                Ok(())
            }
            Err(seconds) => {
                let message = format!(
                    "Number of {class} for subscription '{subscription}' exceeded the limit. Please try again after '{seconds}' seconds."
                );
                let status = StatusCode::TOO_MANY_REQUESTS;
                let mut error =
                    ArmError::new(status, "SubscriptionRequestsThrottled", message).gateway();
                error.retry_after = Some(seconds);
                Err(error)
            }
        }
    }

    /// The compute provider's buckets of a resource and of its subscription.
    pub(crate) fn compute(
        &mut self,
        policy: Policy,
        (resource, subscription): (&str, &str),
        (now, wall_ms): (Duration, u64),
        left: &mut Left,
    ) -> Result<(), ArmError> {
        let Some((name, own, shared)) = policy.limits() else {
            return Ok(());
        };
        if self.profile == Profile::Instant {
            return Ok(());
        }
        if let Some(size) = own {
            let bucket = format!("{name}/{resource}");
            let tokens = self
                .take(bucket, size, now)
                .map_err(|after| refused(name, size, wall_ms, after))?;
            left.compute
                .push((format!("Microsoft.Compute/{name}"), tokens));
        }
        let bucket = format!("{name}//{subscription}");
        let tokens = self
            .take(bucket, shared, now)
            .map_err(|after| refused(name, shared, wall_ms, after))?;
        left.compute
            .push((format!("Microsoft.Compute/{name}Subscription"), tokens));
        Ok(())
    }

    /// The windows of the storage and network providers.
    pub(crate) fn windows(
        &mut self,
        policy: Policy,
        (subscription, region): (&str, &str),
        now: Duration,
    ) -> Result<(), ArmError> {
        if self.profile == Profile::Instant {
            return Ok(());
        }
        for (name, refill, burst) in policy.windows() {
            let bucket = format!("{name}/{subscription}/{region}");
            if let Err(after) = self.take(bucket, (*refill, *burst), now) {
                return Err(window_full(name, after));
            }
        }
        Ok(())
    }
}

/// The storage provider's 429.
fn window_full(name: &str, after: u64) -> ArmError {
    let message = format!(
        "The request is being throttled as the limit has been reached for operation type - {name}. For more information, see - https://aka.ms/srpthrottlinglimits"
    );
    let mut error = ArmError::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message);
    error.retry_after = Some(after);
    error
}

/// The provider's 429: its real code is in the details, and its figures are JSON inside a text.
pub(crate) fn refused(name: &str, size: Size, wall_ms: u64, after: u64) -> ArmError {
    let message = "The server rejected the request because too many requests have been received for this subscription.";
    let mut error = ArmError::new(
        StatusCode::TOO_MANY_REQUESTS,
        "OperationNotAllowed",
        message,
    );
    let figures = json!({
        "operationGroup": name,
        "startTime": stamp(wall_ms.saturating_sub(60_000)),
        "endTime": stamp(wall_ms),
        "allowedRequestCount": size.1,
        "measuredRequestCount": size.1 + 1,
    });
    error.details.push(json!({
        "code": "TooManyRequests", "target": name, "message": figures.to_string(),
    }));
    error.retry_after = Some(after);
    error
}
