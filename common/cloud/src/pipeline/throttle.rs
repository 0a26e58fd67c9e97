//! The gate that keeps requests back while Azure has asked for a pause.
//!
//! Azure counts per machine, per provider and subscription, and per subscription and verb. A pause
//! is kept for exactly the count that ran out, so that one busy machine does not stop all others.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use azcsi_types::clock::Clock;
use http::{HeaderMap, Method};

use crate::arm::error::ArmError;
use crate::environment::ApiFamily;

/// What Azure counts a request as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// GET and HEAD.
    Read,
    /// PUT, PATCH and POST.
    Write,
    /// DELETE.
    Delete,
}

impl Verb {
    /// The class of a method.
    #[must_use]
    pub fn of(method: &Method) -> Self {
        match *method {
            Method::GET | Method::HEAD => Self::Read,
            Method::DELETE => Self::Delete,
            _ => Self::Write,
        }
    }
}

/// A count that Azure keeps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// Of one resource.
    Resource(String, Verb),
    /// Of one kind of resource in a subscription.
    Family(String, ApiFamily, Verb),
    /// Of a subscription.
    Subscription(String, Verb),
}

/// The counts that one request goes against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buckets {
    /// Folded id of the resource.
    pub resource: String,
    /// Folded subscription.
    pub subscription: String,
    /// Kind of resource.
    pub family: ApiFamily,
    /// Class of the method.
    pub verb: Verb,
}

impl Buckets {
    fn all(&self) -> [Bucket; 3] {
        [
            Bucket::Resource(self.resource.clone(), self.verb),
            Bucket::Family(self.subscription.clone(), self.family, self.verb),
            Bucket::Subscription(self.subscription.clone(), self.verb),
        ]
    }

    /// The count that a throttled answer is about.
    #[must_use]
    pub fn exhausted(&self, error: &ArmError) -> Bucket {
        let [resource, family, subscription] = self.all();
        if error.has_code("SubscriptionRequestsThrottled") {
            return subscription;
        }
        let named = error.details().iter().find_map(|d| d.target.as_deref());
        let named = named.unwrap_or_default().to_ascii_lowercase();
        if named.ends_with("resource") {
            resource
        } else if named.contains("subscription") {
            family
        } else if self.verb == Verb::Write && self.family.is_machine() {
            // Machines run out of their own twelve long before their subscription does.
            resource
        } else {
            family
        }
    }
}

/// One remaining count, as a header tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remaining {
    /// Policy, such as `Microsoft.Compute/UpdateVMResource`, or the end of the header's name.
    pub policy: String,
    /// What is left of it.
    pub count: u64,
}

/// Decides whether a request may leave, and learns from answers.
pub trait Governor: fmt::Debug + Send + Sync {
    /// How long the request has to wait; zero to go at once.
    fn admit(&self, buckets: &Buckets) -> Duration;
    /// An answer with its remaining counts came back.
    fn observe(&self, buckets: &Buckets, remaining: &[Remaining]);
    /// An answer said that there were too many requests.
    fn refused(&self, buckets: &Buckets, error: &ArmError);
}

/// The default governor: holds back until the pause that Azure asked for is over.
pub struct Gate {
    clock: std::sync::Arc<dyn Clock>,
    until: Mutex<HashMap<Bucket, Duration>>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

/// Pause when Azure names none.
const UNNAMED_PAUSE: Duration = Duration::from_secs(10);

impl Gate {
    /// An open gate.
    #[must_use]
    pub fn new(clock: std::sync::Arc<dyn Clock>) -> Self {
        Self {
            clock,
            until: Mutex::default(),
        }
    }
}

impl Governor for Gate {
    fn admit(&self, buckets: &Buckets) -> Duration {
        let now = self.clock.now();
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        if until.is_empty() {
            return Duration::ZERO;
        }
        until.retain(|_, instant| *instant > now);
        let waits = buckets.all();
        let last = waits.iter().filter_map(|bucket| until.get(bucket)).max();
        last.map_or(Duration::ZERO, |instant| instant.saturating_sub(now))
    }

    fn observe(&self, _buckets: &Buckets, _remaining: &[Remaining]) {}

    fn refused(&self, buckets: &Buckets, error: &ArmError) {
        let pause = error.retry_after().filter(|pause| !pause.is_zero());
        let pause =
            pause.unwrap_or_else(|| UNNAMED_PAUSE.mul_f64(0.75 + 0.5 * super::retry::spread()));
        let instant = self.clock.now().saturating_add(pause);
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = until.entry(buckets.exhausted(error)).or_default();
        *entry = instant.max(*entry);
    }
}

/// Every remaining count of an answer: the header may be repeated, and may hold a list.
#[must_use]
pub fn remaining(headers: &HeaderMap) -> Vec<Remaining> {
    const PREFIX: &str = "x-ms-ratelimit-remaining-";
    let mut found = Vec::new();
    for (name, value) in headers {
        let Some(kind) = name.as_str().strip_prefix(PREFIX) else {
            continue;
        };
        for part in value.to_str().unwrap_or_default().split(',') {
            let (policy, count) = part.rsplit_once(';').unwrap_or((kind, part));
            if let Ok(count) = count.trim().parse() {
                let policy = policy.trim().to_owned();
                found.push(Remaining { policy, count });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
