//! Events that users see with `kubectl describe`.
//!
//! The same event about the same object is counted up instead of being written again, as long as it
//! comes back within ten minutes. The memory for that is bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::client::{Kube, Write, escaped};
use crate::error::KubeError;

/// How long the same event counts as the same.
const WINDOW: Duration = Duration::from_secs(600);
/// Events that are remembered.
const REMEMBERED: usize = 1024;
/// Longest note that the API accepts, in bytes.
const NOTE: usize = 1024;

/// How serious an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Something went as it should.
    Normal,
    /// Something needs a look.
    Warning,
}

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct About {
    /// Its API version, such as `v1`.
    pub api_version: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace; empty for objects of the cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its unique id, if known.
    pub uid: String,
}

impl About {
    /// A node. Kubelet and kubectl both take its name for its unique id here.
    #[must_use]
    pub fn node(name: &str) -> Self {
        Self {
            api_version: "v1",
            kind: "Node",
            namespace: String::new(),
            name: name.to_owned(),
            uid: name.to_owned(),
        }
    }

    /// A PersistentVolumeClaim; `kubectl describe` finds the event only with its unique id.
    #[must_use]
    pub fn claim(namespace: &str, name: &str, uid: &str) -> Self {
        Self {
            api_version: "v1",
            kind: "PersistentVolumeClaim",
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
        }
    }

    /// A PersistentVolume.
    #[must_use]
    pub fn volume(name: &str, uid: &str) -> Self {
        Self {
            api_version: "v1",
            kind: "PersistentVolume",
            namespace: String::new(),
            name: name.to_owned(),
            uid: uid.to_owned(),
        }
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The object.
    pub about: About,
    /// How serious it is.
    pub severity: Severity,
    /// One word in CamelCase, for machines.
    pub reason: &'static str,
    /// A sentence for people.
    pub note: String,
}

#[derive(Debug)]
struct Seen {
    object: String,
    count: u32,
    at: Duration,
}

#[derive(Deserialize)]
struct Created {
    metadata: CreatedMeta,
}

#[derive(Deserialize)]
struct CreatedMeta {
    name: String,
}

/// Publishes events in the name of one component.
#[derive(Clone, Debug)]
pub struct Events {
    kube: Kube,
    component: Arc<str>,
    seen: Arc<Mutex<HashMap<Event, Seen>>>,
}

impl Events {
    /// Events of `component`, the driver's name.
    #[must_use]
    pub fn new(kube: Kube, component: &str) -> Self {
        Self {
            kube,
            component: component.into(),
            seen: Arc::default(),
        }
    }

    /// Publishes an event.
    ///
    /// # Errors
    /// If it cannot be written. The caller logs that and goes on.
    pub async fn publish(&self, mut event: Event) -> Result<(), KubeError> {
        event.note = shortened(&event.note);
        let now = self.kube.clock().now();
        if let Some((object, count)) = self.again(&event, now) {
            let path = format!("{}/{}", collection(&event), escaped(&object));
            let body = json!({"count": count, "lastTimestamp": self.timestamp()});
            let what = format!("count the event {}", event.reason);
            let patched: Result<serde_json::Value, _> = self
                .kube
                .write(&what, &path, Write::MergePatch(&body))
                .await;
            match patched {
                Ok(_) => return Ok(()),
                // The server keeps events for an hour or less; then a new one is due.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        let object = self.create(&event).await?;
        let first = Seen {
            object,
            count: 1,
            at: now,
        };
        self.remember(event, first);
        Ok(())
    }

    async fn create(&self, event: &Event) -> Result<String, KubeError> {
        let namespace = namespace(event);
        let at = self.timestamp();
        let about = &event.about;
        let severity = match event.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        let body = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": format!("{}.", about.name), "namespace": namespace},
            "involvedObject": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
            "reason": event.reason,
            "message": event.note,
            "type": severity,
            "source": {"component": &*self.component},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        });
        let what = format!("write the event {}", event.reason);
        let path = collection(event);
        let created: Created = self.kube.write(&what, &path, Write::Create(&body)).await?;
        Ok(created.metadata.name)
    }

    /// The object that already stands for `event`, and its new count.
    fn again(&self, event: &Event, now: Duration) -> Option<(String, u32)> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|_, seen| now.saturating_sub(seen.at) < WINDOW);
        let seen = seen.get_mut(event)?;
        seen.count += 1;
        seen.at = now;
        Some((seen.object.clone(), seen.count))
    }

    fn remember(&self, event: Event, first: Seen) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.insert(event, first);
    }

    fn timestamp(&self) -> Option<String> {
        let now = k8s_openapi::jiff::Timestamp::try_from(self.kube.clock().wall()).ok()?;
        Some(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
    }
}

/// Events about objects of the cluster live in `default`.
fn namespace(event: &Event) -> &str {
    match event.about.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    }
}

fn collection(event: &Event) -> String {
    format!("/api/v1/namespaces/{}/events", escaped(namespace(event)))
}

fn shortened(note: &str) -> String {
    let mut end = note.len().min(NOTE);
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    note[..end].to_owned()
}

#[cfg(test)]
mod tests;
