//! What users would be told.

use std::sync::Mutex;

use azcsi_disk::notices::{Notice, Notices, Subject};

/// Keeps every notice.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<Vec<Notice>>);

impl Notices for Told {
    fn tell(&self, notice: Notice) {
        self.0.lock().unwrap().push(notice);
    }
}

impl Told {
    /// Everything so far.
    pub(crate) fn all(&self) -> Vec<Notice> {
        self.0.lock().unwrap().clone()
    }

    /// The texts with this reason, about volumes.
    pub(crate) fn of_volumes(&self, reason: &str) -> Vec<String> {
        let all = self.all().into_iter();
        let wanted = all.filter(|notice| {
            notice.reason == reason && matches!(notice.subject, Subject::Volume(_))
        });
        wanted.map(|notice| notice.text).collect()
    }

    /// The nodes that a notice with this reason is about.
    pub(crate) fn nodes(&self, reason: &str) -> Vec<String> {
        let all = self.all().into_iter();
        let node = |notice: Notice| match notice.subject {
            Subject::Node(name) if notice.reason == reason => Some(name.to_string()),
            _ => None,
        };
        all.filter_map(node).collect()
    }
}
