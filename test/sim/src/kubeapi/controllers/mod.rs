//! The controllers that decide over volumes, for tests of tools that convert them.
//!
//! | file | whose work |
//! |---|---|
//! | `workloads` | StatefulSets and Deployments: claims from templates, pods |
//! | `binding` | claims and volumes: bound, lost, released; dynamic provisioning |
//! | `reclaim` | protection finalizers, the reclaim policy, and the disks that it deletes |
//! | `attachments` | a VolumeAttachment for every volume of a running pod |
//!
//! They act at once and in a fixed order, so that tests are deterministic. Names of disks that were
//! deleted or made are kept: a converter must cause neither.

mod attachments;
mod binding;
mod reclaim;
mod workloads;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::object;
use super::resources::{Part, Target, of_kind};
use super::store::{PatchKind, Store};

/// Rounds after which the controllers are taken to quarrel with each other.
const ROUNDS: usize = 100;

/// The state of the controllers.
#[derive(Debug, Default)]
pub struct Controllers {
    log: Mutex<Log>,
    /// One round at a time.
    turn: Mutex<()>,
}

/// What happened to disks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Handles of disks that a reclaim policy deleted.
    pub deleted: Vec<String>,
    /// Names of volumes that were provisioned for a claim.
    pub provisioned: Vec<String>,
}

impl Controllers {
    /// What happened to disks so far.
    #[must_use]
    pub fn log(&self) -> Log {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn settle(&self, store: &Store) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..ROUNDS {
            let before = store.version();
            let view = View(store);
            workloads::act(view);
            binding::act(view, &mut self.lock());
            attachments::act(view);
            reclaim::act(view, &mut self.lock());
            if store.version() == before {
                return;
            }
        }
    }
}

/// The store as a controller uses it. A write that fails is tried again in the next round.
#[derive(Clone, Copy)]
struct View<'a>(&'a Store);

impl View<'_> {
    fn all(self, kind: &str) -> Vec<Arc<Value>> {
        let target = target(kind, None, None);
        target.map_or_else(Vec::new, |target| self.0.list(&target).1)
    }

    fn get(self, kind: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.get(&target(kind, Some(namespace), Some(name))?).ok()
    }

    fn create(self, kind: &str, namespace: &str, body: Value) {
        if let Some(target) = target(kind, Some(namespace), None) {
            let _ = self.0.create(&target, body);
        }
    }

    fn patch(self, of: &Value, body: &Value) {
        if let Some(target) = target_of(of) {
            let _ = self.0.patch(&target, PatchKind::Merge, body);
        }
    }

    fn delete(self, of: &Value) {
        if let Some(target) = target_of(of) {
            let _ = self.0.delete(&target, &Value::Null);
        }
    }

    fn phase(self, of: &Value, phase: &str) {
        if text(of, "/status/phase") != phase {
            self.patch(of, &json!({"status": {"phase": phase}}));
        }
    }

    /// Adds or takes a finalizer.
    fn finalizer(self, of: &Value, name: &str, wanted: bool) {
        let mut list: Vec<&str> = of
            .pointer("/metadata/finalizers")
            .and_then(Value::as_array)
            .map_or_else(Vec::new, |list| {
                list.iter().filter_map(Value::as_str).collect()
            });
        if list.contains(&name) == wanted {
            return;
        }
        if wanted {
            list.push(name);
        } else {
            list.retain(|one| *one != name);
        }
        self.patch(of, &json!({"metadata": {"finalizers": list}}));
    }
}

fn target_of(object: &Value) -> Option<Target> {
    let kind = object.get("kind")?.as_str()?;
    target(
        kind,
        Some(object::namespace(object)),
        Some(object::name(object)),
    )
}

fn target(kind: &str, namespace: Option<&str>, name: Option<&str>) -> Option<Target> {
    let resource = of_kind(kind)?;
    let namespace = namespace.filter(|_| resource.namespaced);
    Some(Target {
        resource,
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        part: Part::Whole,
    })
}

/// A string somewhere in an object, or nothing.
fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Names of the claims that a pod mounts.
fn claims_of(pod: &Value) -> Vec<&str> {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    volumes
        .into_iter()
        .flatten()
        .filter_map(|volume| volume.pointer("/persistentVolumeClaim/claimName")?.as_str())
        .collect()
}

/// Whether a pod mounts a claim. Finished pods hold nothing.
fn uses(pod: &Value, namespace: &str, claim: &str) -> bool {
    !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
        && object::namespace(pod) == namespace
        && claims_of(pod).contains(&claim)
}
