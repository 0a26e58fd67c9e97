//! What users should see without reading logs: things that are refused, or that take long.
//!
//! Controller and node tell it here; where it becomes an Event of Kubernetes is in
//! [`crate::kubernetes`]. Telling never waits and never fails: a notice that cannot be delivered is
//! lost, and the call that it is about goes on.

use std::fmt::Debug;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use azcsi_types::disk_uri::DiskUri;
use azcsi_types::fault::{Faulty, REPORT_LIMIT, report};
use azcsi_types::node::NodeName;

/// After this time something takes long.
pub const SLOW: Duration = Duration::from_secs(60);

/// What a notice is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A volume: its claim if it is bound, else its PersistentVolume.
    Volume(DiskUri),
    /// A claim, where only its name is known.
    Claim {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A node.
    Node(NodeName),
}

/// How serious a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// For information.
    Normal,
    /// It needs a look.
    Warning,
}

/// One notice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notice {
    /// What it is about.
    pub subject: Subject,
    /// How serious it is.
    pub severity: Severity,
    /// One word in CamelCase, for machines.
    pub reason: &'static str,
    /// One line for people.
    pub text: String,
}

/// Where notices go.
pub trait Notices: Debug + Send + Sync + 'static {
    /// Passes a notice on, without waiting.
    fn tell(&self, notice: Notice);
}

/// Without Kubernetes nobody is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Notices for Silent {
    fn tell(&self, _: Notice) {}
}

/// What an error is called and what can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The reason.
    pub reason: &'static str,
    /// The remedy, as a sentence without a full stop; empty if there is none.
    pub remedy: &'static str,
}

/// One line about a failure: what failed, on what, Azure's own words, and the remedy at the end,
/// which is never cut off.
#[must_use]
pub fn line(error: &dyn Faulty, remedy: &str) -> String {
    let mut text = report(error);
    if remedy.is_empty() {
        return text;
    }
    let room = REPORT_LIMIT.saturating_sub(remedy.len() + 2);
    let mut end = text.len().min(room);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    format!("{text}; {remedy}")
}

/// Waits for `work`, and tells once if it takes longer than [`SLOW`].
pub async fn slowly<T>(
    notices: &dyn Notices,
    notice: impl FnOnce() -> Vec<Notice>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = tokio::time::sleep(SLOW) => {}
    }
    for notice in notice() {
        notices.tell(notice);
    }
    work.await
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use azcsi_types::fault::{Fault, Faulty, REPORT_LIMIT};

    use super::{Notice, Notices, SLOW, Severity, Subject, line, slowly};

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Words(String);

    impl Faulty for Words {
        fn fault(&self) -> Fault {
            Fault::Internal
        }
    }

    #[derive(Debug, Default)]
    struct Told(Mutex<Vec<Notice>>);

    impl Notices for Told {
        fn tell(&self, notice: Notice) {
            self.0.lock().unwrap().push(notice);
        }
    }

    fn notice() -> Notice {
        Notice {
            subject: Subject::Node("n".parse().unwrap()),
            severity: Severity::Normal,
            reason: "Slow",
            text: String::new(),
        }
    }

    #[test]
    fn the_remedy_is_never_cut_off() {
        let short = line(&Words("no".to_owned()), "do this");
        assert_eq!(short, "no; do this");
        assert_eq!(line(&Words("no".to_owned()), ""), "no");
        let long = line(&Words("ä".repeat(2000)), "do this");
        assert!(long.len() <= REPORT_LIMIT && long.ends_with("; do this"));
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_takes_long_is_told_and_once() {
        let told = Told::default();
        for (takes, count) in [(SLOW / 2, 0), (SLOW * 5, 1)] {
            let work = tokio::time::sleep(takes);
            slowly(&told, || vec![notice()], work).await;
            assert_eq!(told.0.lock().unwrap().len(), count, "{takes:?}");
        }
        let work = tokio::time::sleep(Duration::ZERO);
        slowly(&super::Silent, || vec![notice()], work).await;
    }
}
