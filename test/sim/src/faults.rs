//! Faults on request: a typed script of which requests, which of their occurrences, and what happens.
//!
//! The same script, started at the same point, has the same effect.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A list of faults, as it stands in a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// In the order in which they are looked at.
    pub faults: Vec<Fault>,
}

/// One fault.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Fault {
    /// Method; any when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// What the class of the request says after the method, such as `disks`,
    /// `virtualMachines/attachDetachDataDisks` or `operation`; any when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Pattern of the path's end with `*` for anything; any when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many matching requests pass first.
    #[serde(default)]
    pub skip: u32,
    /// How many are hit then; all when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// What happens.
    pub effect: Effect,
}

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "do",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Effect {
    /// It is refused and has no effect.
    Status {
        status: u16,
        code: String,
        message: String,
    },
    /// The answer comes later; it is applied at once.
    Latency { milliseconds: u64 },
    /// It is accepted, and its operation fails.
    FailAfterAccept { code: String, message: String },
    /// It is applied, and the client hears nothing for this long and is then cut off.
    Timeout { milliseconds: u64 },
    /// The connection is cut; nothing is applied.
    ResetBefore,
    /// It is applied; the connection is cut.
    ResetAfter,
    /// It is applied; half the body is answered.
    TruncatedBody,
    /// A load balancer's page; nothing is applied.
    HtmlBody { status: u16 },
    /// The operation is not known any more.
    LostPoll,
    /// Ids in the answer are spelt oddly.
    WrongCasing,
    /// The answer shows the resource as it was before its last change, if that is at most this old.
    StaleRead { seconds: u64 },
    /// 429.
    Throttle {
        #[serde(default)]
        retry_after: Option<u64>,
    },
    /// 401.
    TokenExpired,
    /// It is applied; then the machine is `Failed`.
    VmFailed,
    /// The machine vanishes first.
    VmGone,
    /// From now on, disks show old owners for this long after each change.
    ManagedByLag { seconds: u64 },
    /// Its operation is replaced by a newer one at once.
    Preempted,
    /// Its operation never ends.
    NeverEnds,
    /// Its operation ends this much later.
    Slow { milliseconds: u64 },
}

/// Faults at work.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    faults: Vec<(Fault, u32)>,
    owner_lag: Duration,
}

impl Faults {
    pub(crate) fn set(&mut self, script: Script) {
        self.faults
            .extend(script.faults.into_iter().map(|fault| (fault, 0)));
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Faults and how often each was met.
    pub(crate) fn list(&self) -> Vec<serde_json::Value> {
        let show = |(fault, seen): &(Fault, u32)| serde_json::json!({"fault": fault, "seen": seen});
        self.faults.iter().map(show).collect()
    }

    /// What happens to this request; each fault that matches counts it.
    pub(crate) fn on(&mut self, class: &str, path: &str) -> Vec<Effect> {
        let (method, kind) = class.split_once(' ').unwrap_or((class, ""));
        let mut effects = Vec::new();
        for (fault, seen) in &mut self.faults {
            let like = |wanted: &Option<String>, real: &str| {
                wanted
                    .as_ref()
                    .is_none_or(|wanted| wanted.eq_ignore_ascii_case(real))
            };
            let named = fault.name.as_ref().is_none_or(|name| {
                let pattern = format!("*{}", name.to_ascii_lowercase());
                glob(&pattern, &path.to_ascii_lowercase())
            });
            if !like(&fault.method, method) || !like(&fault.kind, kind) || !named {
                continue;
            }
            *seen += 1;
            let past = *seen > fault.skip;
            let before = fault
                .times
                .is_none_or(|times| *seen <= fault.skip.saturating_add(times));
            if past && before {
                effects.push(fault.effect.clone());
            }
        }
        for effect in &effects {
            if let Effect::ManagedByLag { seconds } = effect {
                self.owner_lag = Duration::from_secs(*seconds);
            }
        }
        effects
    }

    pub(crate) const fn owner_lag(&self) -> Duration {
        self.owner_lag
    }

    pub(crate) fn wants_old_answers(&self) -> bool {
        let stale = |(fault, _): &(Fault, u32)| matches!(fault.effect, Effect::StaleRead { .. });
        self.faults.iter().any(stale)
    }
}

/// Whether a text is one of this pattern; `*` stands for anything.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, matches) in [
            ("*pvc-1", "/a/disks/pvc-1", true),
            ("*pvc-1", "/a/disks/pvc-12", false),
            ("*pvc-*/begin", "/a/pvc-7/begin", true),
            ("abc", "abc", true),
            ("abc", "abcd", false),
        ] {
            assert_eq!(glob(pattern, text), matches, "{pattern} {text}");
        }
    }
}
