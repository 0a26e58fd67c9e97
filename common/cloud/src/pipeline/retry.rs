//! When a request is sent again, and after which pause.
//!
//! Decided purely: facts in, [`Verdict`] out. The loop that acts on it is in `arm/client.rs`.

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};

/// How often and how patiently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Sendings of one request in all, without those that Azure refused because there were too many:
    /// they are bounded by the deadline alone, and the gate holds them back.
    pub tries: u32,
    /// Pause before the second sending; doubles each time.
    pub base: Duration,
    /// Longest pause.
    pub cap: Duration,
    /// Longest pause that Azure may ask for and get within the call, and never more than a quarter of
    /// the time that is left. A call that waits is cheaper for everybody than one that fails and is
    /// made anew; but a process that is asked to stop waits for its calls.
    pub obey: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            tries: 4,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(10),
            obey: Duration::from_secs(15),
        }
    }
}

/// How a sending ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No connection: Azure has not seen it.
    NotSent,
    /// No answer: Azure may have seen it.
    Lost,
    /// An answer.
    Answer {
        /// Its status.
        status: StatusCode,
        /// The pause that it asks for.
        retry_after: Option<Duration>,
    },
}

impl Outcome {
    /// Whether Azure may have done what was asked although this is no success.
    #[must_use]
    pub fn may_be_done(&self) -> bool {
        match self {
            Self::NotSent => false,
            Self::Lost => true,
            // 503 comes from before the work; a gateway's timeout and a defect do not.
            Self::Answer { status, .. } => matches!(status.as_u16(), 408 | 500 | 502 | 504),
        }
    }
}

impl Outcome {
    /// Whether Azure refused it because there were too many requests.
    #[must_use]
    pub fn is_throttled(&self) -> bool {
        matches!(self, Self::Answer { status, .. } if *status == StatusCode::TOO_MANY_REQUESTS)
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Take what came.
    Done,
    /// Send again after this pause.
    Again(Duration),
}

/// Whether sending twice is the same as sending once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeatable {
    /// It is.
    Yes,
    /// Only when Azure has not seen the first.
    OnlyIfUnseen,
}

/// One sending of a request.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// How many there were with it, from 1, without the throttled ones.
    pub tried: u32,
    /// Whether another one is harmless.
    pub repeatable: Repeatable,
    /// Time until the deadline.
    pub left: Duration,
    /// Between 0 and 1; spreads the pauses of many clients.
    pub jitter: f64,
}

impl Repeatable {
    /// By method: a POST is not, unless its action is known to be.
    #[must_use]
    pub fn by_method(method: &Method) -> Self {
        if *method == Method::POST {
            Self::OnlyIfUnseen
        } else {
            Self::Yes
        }
    }
}

impl RetryPolicy {
    /// Decides what follows the sending that ended with `outcome`.
    #[must_use]
    pub fn decide(&self, attempt: Attempt, outcome: Outcome) -> Verdict {
        let Attempt {
            tried,
            repeatable,
            left,
            jitter,
        } = attempt;
        if tried >= self.tries {
            return Verdict::Done;
        }
        let pause = match outcome {
            Outcome::NotSent => self.backoff(tried, jitter),
            Outcome::Lost if repeatable == Repeatable::Yes => self.backoff(tried, jitter),
            Outcome::Lost => return Verdict::Done,
            Outcome::Answer {
                status,
                retry_after,
            } => match (status.as_u16(), retry_after) {
                // Azure did nothing: any method may be sent again.
                (429 | 503, Some(pause)) if pause <= self.obey.min(left / 4) => {
                    pause.max(Duration::from_millis(100))
                }
                (429, _) | (503, Some(_)) => return Verdict::Done,
                (408 | 500 | 502 | 503 | 504, _) if repeatable == Repeatable::Yes => retry_after
                    .unwrap_or_default()
                    .max(self.backoff(tried, jitter)),
                _ => return Verdict::Done,
            },
        };
        if pause < left {
            Verdict::Again(pause)
        } else {
            Verdict::Done
        }
    }

    fn backoff(&self, tried: u32, jitter: f64) -> Duration {
        let doubled = self
            .base
            .saturating_mul(1 << tried.saturating_sub(1).min(16));
        doubled
            .min(self.cap)
            .mul_f64(0.7 + 0.6 * jitter.clamp(0.0, 1.0))
    }
}

/// The pause that an answer asks for, in any of the forms that Azure uses.
#[must_use]
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    for name in ["x-ms-retry-after-ms", "retry-after-ms"] {
        if let Some(millis) = text(name).and_then(|t| t.parse().ok()) {
            return Some(Duration::from_millis(millis));
        }
    }
    let value = text("retry-after")?;
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    // A date is taken against the answer's own date, so that no clock has to agree with Azure's.
    let until = httpdate::parse_http_date(value).ok()?;
    let now = httpdate::parse_http_date(text("date")?).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

/// A number between 0 and 1 that differs from try to try; spreads clients, proves nothing.
pub(crate) fn spread() -> f64 {
    let bytes = uuid::Uuid::new_v4().into_bytes();
    f64::from(u16::from_le_bytes([bytes[0], bytes[1]])) / f64::from(u16::MAX)
}

#[cfg(test)]
mod tests;
