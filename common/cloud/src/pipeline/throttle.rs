//! The gate that keeps requests back while Azure has asked for a pause.
//!
//! Azure counts per machine, per provider and subscription, and per subscription and verb. A pause
//! is kept for exactly the count that ran out, so that one busy machine does not stop all others.
//!
//! Those that wait for the end of a pause do not leave together, or they would use up in one moment
//! what Azure has refilled, and most of them would be refused again. They stand in a line, first come
//! first served, and how fast it moves is learned: each success a little faster, a refusal slower.

mod line;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azcsi_types::clock::Clock;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Method};

use self::line::Line;
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

/// How long a request may be held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// By a pause that Azure asks for: while it lasts nothing moves, and the caller had better know.
    pub pause: Duration,
    /// By a pause and by those that came before.
    pub line: Duration,
}

/// Decides when a request may leave, and learns from answers.
pub trait Governor: fmt::Debug + Send + Sync {
    /// Waits until the request may leave. A wait that is known to need more patience is not begun, and
    /// told instead.
    fn pass<'a>(
        &'a self,
        buckets: &'a Buckets,
        patience: Patience,
    ) -> BoxFuture<'a, Result<(), Duration>>;
    /// Whether requests of this kind have to stand in line at the moment.
    fn has_line(&self, buckets: &Buckets) -> bool;
    /// An answer with its remaining counts came back, and it was no refusal.
    fn observe(&self, buckets: &Buckets, remaining: &[Remaining]);
    /// An answer said that there were too many requests.
    fn refused(&self, buckets: &Buckets, error: &ArmError);
}

/// The default governor: holds back until the pause that Azure asked for is over, then lets pass one
/// after the other.
pub struct Gate {
    clock: Arc<dyn Clock>,
    lines: Mutex<HashMap<Bucket, Arc<Line>>>,
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
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            lines: Mutex::default(),
        }
    }

    /// The lines that a request has to pass, that of its resource first: one that waits there is not
    /// in the way of others.
    fn lines_of(&self, buckets: &Buckets) -> Vec<Arc<Line>> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return Vec::new();
        }
        let now = self.clock.now();
        lines.retain(|_, line| line.is_there(now));
        let all = buckets.all();
        all.iter().filter_map(|b| lines.get(b).cloned()).collect()
    }
}

impl Governor for Gate {
    fn pass<'a>(
        &'a self,
        buckets: &'a Buckets,
        patience: Patience,
    ) -> BoxFuture<'a, Result<(), Duration>> {
        Box::pin(async move {
            for line in self.lines_of(buckets) {
                line.pass(&*self.clock, patience).await?;
            }
            Ok(())
        })
    }

    fn has_line(&self, buckets: &Buckets) -> bool {
        !self.lines_of(buckets).is_empty()
    }

    fn observe(&self, buckets: &Buckets, _remaining: &[Remaining]) {
        for line in self.lines_of(buckets) {
            line.succeeded();
        }
    }

    fn refused(&self, buckets: &Buckets, error: &ArmError) {
        let pause = error.retry_after().filter(|pause| !pause.is_zero());
        let pause =
            pause.unwrap_or_else(|| UNNAMED_PAUSE.mul_f64(0.75 + 0.5 * super::retry::spread()));
        let now = self.clock.now();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let line = lines.entry(buckets.exhausted(error)).or_default();
        line.refused(now, now.saturating_add(pause));
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
