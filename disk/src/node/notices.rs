//! What users are told about a node's work: refused stages, slow tools, settings that do not fit.

use std::future::Future;

use azcsi_types::fault::Fault;
use azcsi_types::node::NodeName;

use super::Node;
use super::error::NodeError;
use super::stage_request::Request;
use crate::notices::{self, Notice, Severity, Subject, Word};

/// What a failed stage is called, if users are told of it.
#[must_use]
pub fn word(error: &NodeError) -> Option<Word> {
    let (reason, remedy) = match error {
        NodeError::WrongDisk { .. } => (
            "WrongDisk",
            "see which disk Azure shows in that slot, and move the pod to attach the volume anew",
        ),
        NodeError::NotFormatted { .. } => ("FormatRefused", "nothing was written to the disk"),
        NodeError::Refused { .. } => ("StageRefused", ""),
        NodeError::NotReady { .. } => ("DeviceNotReady", "it is tried again by itself"),
        NodeError::LeftMounted { .. } => ("StageFailed", "it is tried again by itself"),
        NodeError::Step { source, .. } => match source.0.fault() {
            Fault::Internal | Fault::Precondition => ("StageFailed", ""),
            _ => return None,
        },
        _ => return None,
    };
    Some(Word { reason, remedy })
}

impl Node {
    /// Tells that a stage failed, if that is worth it.
    pub(super) fn tell_failure(&self, request: &Request, error: &NodeError) {
        if let Some(word) = word(error) {
            self.metrics.refused(word.reason);
            let text = notices::line(error, word.remedy);
            self.tell(self.told(request, Severity::Warning, word.reason, &text));
        }
    }

    /// Tells something about a device that works all the same.
    pub(super) fn tell_flaw(&self, request: &Request, reason: &'static str, text: &str) {
        tracing::warn!(volume = request.volume.as_str(), reason, "{text}");
        self.tell(self.told(request, Severity::Warning, reason, text));
    }

    /// Tells something about the node itself.
    pub(super) fn tell_of_node(&self, reason: &'static str, text: &str) {
        tracing::warn!(reason, "{text}");
        let node = self.config.node_id.parse::<NodeName>().ok();
        let notice = |name| Notice {
            subject: Subject::Node(name),
            severity: Severity::Warning,
            reason,
            text: text.to_owned(),
        };
        self.tell(node.into_iter().map(notice).collect());
    }

    /// Does `work`; users are told if it takes long.
    pub(super) async fn in_sight<T>(
        &self,
        request: &Request,
        (reason, doing): (&'static str, &str),
        work: impl Future<Output = T>,
    ) -> T {
        let slow = || {
            let text = format!(
                "{doing} volume '{}' takes longer than {} seconds; it goes on by itself",
                request.volume.as_str(),
                notices::SLOW.as_secs()
            );
            self.told(request, Severity::Normal, reason, &text)
        };
        notices::slowly(&*self.notices, slow, work).await
    }

    fn tell(&self, told: Vec<Notice>) {
        for notice in told {
            self.notices.tell(notice);
        }
    }

    fn told(
        &self,
        request: &Request,
        severity: Severity,
        reason: &'static str,
        text: &str,
    ) -> Vec<Notice> {
        let node = self.config.node_id.parse::<NodeName>().ok();
        let claim = request.context.claim.clone();
        let subjects = [
            claim.map(|(namespace, name)| Subject::Claim { namespace, name }),
            node.map(Subject::Node),
        ];
        let notice = |subject| Notice {
            subject,
            severity,
            reason,
            text: text.to_owned(),
        };
        subjects.into_iter().flatten().map(notice).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::word;
    use crate::node::error::NodeError;

    #[test]
    fn refusals_are_told_and_bad_requests_are_not() {
        let (volume, why) = (String::new, String::new);
        let reason = |error: &NodeError| word(error).map(|word| word.reason);
        for (error, told) in [
            (
                NodeError::NotFormatted {
                    volume: volume(),
                    why: why(),
                },
                Some("FormatRefused"),
            ),
            (
                NodeError::WrongDisk {
                    volume: volume(),
                    why: why(),
                },
                Some("WrongDisk"),
            ),
            (
                NodeError::NotReady {
                    volume: volume(),
                    why: why(),
                },
                Some("DeviceNotReady"),
            ),
            (NodeError::value("x", "y"), None),
            (
                NodeError::NotThere {
                    volume: volume(),
                    path: why(),
                },
                None,
            ),
        ] {
            assert_eq!(reason(&error), told, "{error:?}");
        }
    }
}
