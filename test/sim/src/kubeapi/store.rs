//! The objects, their versions and the log that watches read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azcsi_types::clock::Clock;
use serde_json::Value;
use tokio::sync::watch;

use super::controllers::Controllers;
use super::error::ApiError;
use super::faults::Faults;
use super::object;
use super::patch;
use super::resources::{self, Resource, Target};
use super::rules;

/// How many changes a watch may lag behind before it has to list again.
const LOG_LENGTH: usize = 4096;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It was written.
    Modified,
    /// It is gone.
    Deleted,
}

impl Change {
    /// The word on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One line of the log.
#[derive(Clone, Debug)]
pub struct Event {
    /// The version the change made.
    pub version: u64,
    /// What happened.
    pub change: Change,
    /// To which kind of object.
    pub resource: &'static Resource,
    /// The object after the change; before it for a deletion.
    pub object: Arc<Value>,
}

/// How a patch is to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 7396, and strategic merge.
    Merge,
    /// RFC 6902.
    Json,
}

type Key = (&'static Resource, String, String);

#[derive(Debug, Default)]
struct Inner {
    version: u64,
    objects: BTreeMap<Key, Arc<Value>>,
    log: VecDeque<Event>,
    /// Handles of volumes that are gone and should have taken their disks along.
    released: BTreeSet<String>,
}

const VOLUME: &str = "PersistentVolume";

fn policy(volume: &Value) -> Option<&str> {
    volume
        .pointer("/spec/persistentVolumeReclaimPolicy")?
        .as_str()
}

fn handle(volume: &Value) -> Option<&str> {
    volume.pointer("/spec/csi/volumeHandle")?.as_str()
}

/// All objects of the stub.
#[derive(Debug)]
pub struct Store {
    clock: Arc<dyn Clock>,
    inner: Mutex<Inner>,
    changed: watch::Sender<u64>,
    controllers: Option<Controllers>,
    faults: Faults,
}

impl Store {
    /// An empty store.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let inner = Inner {
            version: 1,
            ..Inner::default()
        };
        Self {
            clock,
            inner: Mutex::new(inner),
            changed: watch::Sender::new(1),
            controllers: None,
            faults: Faults::default(),
        }
    }

    /// With the controllers that bind volumes, run workloads and attach disks. They act at once
    /// after every request that writes.
    #[must_use]
    pub fn with_controllers(mut self) -> Self {
        self.controllers = Some(Controllers::default());
        self
    }

    /// The controllers, if they run.
    #[must_use]
    pub const fn controllers(&self) -> Option<&Controllers> {
        self.controllers.as_ref()
    }

    /// Handles of volumes that were deleted under the policy `Delete`, unless another volume has the
    /// handle now.
    #[must_use]
    pub fn released(&self) -> Vec<String> {
        let inner = self.lock();
        let volumes = inner.objects.iter().filter(|(key, _)| key.0.kind == VOLUME);
        let kept: BTreeSet<&str> = volumes.filter_map(|(_, object)| handle(object)).collect();
        let gone = inner.released.iter();
        gone.filter(|handle| !kept.contains(handle.as_str()))
            .cloned()
            .collect()
    }

    /// Failures that are to come.
    #[must_use]
    pub const fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Lets the controllers act until nothing is left to do.
    pub fn settle(&self) {
        if let Some(controllers) = &self.controllers {
            controllers.settle(self);
        }
    }

    /// Whether a new object would be taken, without taking it.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn would_create(&self, target: &Target, body: Value) -> Result<Value, ApiError> {
        let mut body = object::admit(target, body)?;
        let name = object::name_for_create(&mut body)?;
        let place = target.namespace.clone().unwrap_or_default();
        let taken = (target.resource, place, name);
        if self.lock().objects.contains_key(&taken) {
            return Err(ApiError::exists(target.resource, &taken.2));
        }
        Ok(body)
    }

    /// One object as it was before its last change, if that is still known: what a reader sees whose
    /// cache lags behind.
    ///
    /// # Errors
    /// When it was not there.
    pub fn get_stale(&self, target: &Target) -> Result<Arc<Value>, ApiError> {
        let wanted = key(target);
        let inner = self.lock();
        let mine = inner.log.iter().rev().filter(|event| {
            event.resource == wanted.0
                && object::namespace(&event.object) == wanted.1
                && object::name(&event.object) == wanted.2
        });
        let before = mine.skip(1).find(|event| event.change != Change::Deleted);
        let found = before.map(|event| Arc::clone(&event.object));
        drop(inner);
        found.map_or_else(|| self.get(target), Ok)
    }

    /// A receiver that wakes with every change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// All objects of a collection and the version they were read at.
    #[must_use]
    pub fn list(&self, target: &Target) -> (u64, Vec<Arc<Value>>) {
        let inner = self.lock();
        let mine = inner
            .objects
            .iter()
            .filter(|((resource, namespace, _), _)| {
                *resource == target.resource
                    && target
                        .namespace
                        .as_ref()
                        .is_none_or(|wanted| wanted == namespace)
            });
        (
            inner.version,
            mine.map(|(_, object)| Arc::clone(object)).collect(),
        )
    }

    /// What happened in a collection after `version`, and the version up to which that is all.
    ///
    /// # Errors
    /// When the log does not reach back that far.
    pub fn since(&self, target: &Target, version: u64) -> Result<(u64, Vec<Event>), ApiError> {
        let inner = self.lock();
        let oldest = inner
            .log
            .front()
            .map_or(inner.version, |event| event.version - 1);
        // A version from the future was given out by a process whose last changes were lost.
        if version < oldest || version > inner.version {
            return Err(ApiError::Expired(version));
        }
        let mine = inner.log.iter().filter(|event| {
            event.version > version
                && event.resource == target.resource
                && target
                    .namespace
                    .as_deref()
                    .is_none_or(|n| object::namespace(&event.object) == n)
        });
        Ok((inner.version, mine.cloned().collect()))
    }

    /// One object.
    ///
    /// # Errors
    /// When it is not there.
    pub fn get(&self, target: &Target) -> Result<Arc<Value>, ApiError> {
        let found = self.lock().objects.get(&key(target)).map(Arc::clone);
        found.ok_or_else(|| ApiError::not_found(target))
    }

    /// Makes an object.
    ///
    /// # Errors
    /// When the body is no such object or the name is taken.
    pub fn create(&self, target: &Target, body: Value) -> Result<Arc<Value>, ApiError> {
        let mut body = object::admit(target, body)?;
        let name = object::name_for_create(&mut body)?;
        let key = (
            target.resource,
            target.namespace.clone().unwrap_or_default(),
            name.clone(),
        );
        let mut inner = self.lock();
        if inner.objects.contains_key(&key) {
            return Err(ApiError::exists(target.resource, &name));
        }
        object::stamp_new(&mut body, self.clock.wall());
        Ok(self.store(&mut inner, key, body, Change::Added))
    }

    /// Replaces an object, or its status.
    ///
    /// # Errors
    /// When it is not there or the caller's version is not the newest.
    pub fn replace(&self, target: &Target, body: Value) -> Result<Arc<Value>, ApiError> {
        let body = object::admit(target, body)?;
        self.change(target, |current| {
            let mut next = body.clone();
            object::keep_identity(&mut next, current);
            rules::unchanged(target.resource, current, &next)?;
            Ok(object::only(target.part, current, next))
        })
    }

    /// Changes an object in place.
    ///
    /// # Errors
    /// When it is not there, the patch does not apply, or it names a version that is not the newest.
    pub fn patch(
        &self,
        target: &Target,
        kind: PatchKind,
        body: &Value,
    ) -> Result<Arc<Value>, ApiError> {
        self.change(target, |current| {
            let mut next = current.clone();
            match kind {
                PatchKind::Merge => patch::merge(&mut next, body),
                PatchKind::Json => patch::json(&mut next, body)?,
            }
            let mut next = object::admit(target, next)?;
            object::keep_identity(&mut next, current);
            rules::unchanged(target.resource, current, &next)?;
            Ok(object::only(target.part, current, next))
        })
    }

    /// Removes an object; with finalizers it is only marked.
    ///
    /// # Errors
    /// When it is not there or a precondition does not hold.
    pub fn delete(&self, target: &Target, options: &Value) -> Result<Arc<Value>, ApiError> {
        let mut inner = self.lock();
        let key = key(target);
        let current = inner
            .objects
            .get(&key)
            .map(Arc::clone)
            .ok_or_else(|| ApiError::not_found(target))?;
        if !object::meets(&current, options.get("preconditions")) {
            return Err(ApiError::conflict(target.resource, &key.2));
        }
        if object::finalizers(&current) == 0 {
            return Ok(self.drop_object(&mut inner, &key, (*current).clone()));
        }
        if object::is_being_deleted(&current) {
            return Ok(current);
        }
        let mut marked = (*current).clone();
        object::mark_deleted(&mut marked, self.clock.wall());
        Ok(self.store(&mut inner, key, marked, Change::Modified))
    }

    /// Puts an object there whatever was there before; for the simulator's own facts.
    ///
    /// # Errors
    /// When the body is no such object.
    pub fn put(&self, target: &Target, body: Value) -> Result<Arc<Value>, ApiError> {
        match self.create(target, body.clone()) {
            Err(ApiError::AlreadyExists(_)) => {
                let name = object::name(&body).to_owned();
                self.patch(
                    &Target {
                        name: Some(name),
                        ..target.clone()
                    },
                    PatchKind::Merge,
                    &body,
                )
            }
            other => other,
        }
    }

    fn change(
        &self,
        target: &Target,
        next: impl FnOnce(&Value) -> Result<Value, ApiError>,
    ) -> Result<Arc<Value>, ApiError> {
        let mut inner = self.lock();
        let key = key(target);
        let current = inner
            .objects
            .get(&key)
            .map(Arc::clone)
            .ok_or_else(|| ApiError::not_found(target))?;
        let mut next = next(&current)?;
        let asked = object::version(&next);
        if !asked.is_empty() && asked != object::version(&current) {
            return Err(ApiError::conflict(target.resource, &key.2));
        }
        object::set_version_text(&mut next, object::version(&current));
        if next == *current {
            return Ok(current);
        }
        if object::is_being_deleted(&next) && object::finalizers(&next) == 0 {
            return Ok(self.drop_object(&mut inner, &key, next));
        }
        Ok(self.store(&mut inner, key, next, Change::Modified))
    }

    fn store(&self, inner: &mut Inner, key: Key, mut body: Value, change: Change) -> Arc<Value> {
        let version = inner.version + 1;
        object::set_version_text(&mut body, &version.to_string());
        let object = Arc::new(body);
        inner.objects.insert(key.clone(), Arc::clone(&object));
        self.log(
            inner,
            Event {
                version,
                change,
                resource: key.0,
                object: Arc::clone(&object),
            },
        );
        object
    }

    fn drop_object(&self, inner: &mut Inner, key: &Key, mut last: Value) -> Arc<Value> {
        let version = inner.version + 1;
        object::set_version_text(&mut last, &version.to_string());
        let object = Arc::new(last);
        inner.objects.remove(key);
        if key.0.kind == VOLUME && policy(&object) == Some("Delete") {
            inner.released.extend(handle(&object).map(str::to_owned));
        }
        let change = Change::Deleted;
        self.log(
            inner,
            Event {
                version,
                change,
                resource: key.0,
                object: Arc::clone(&object),
            },
        );
        object
    }

    fn log(&self, inner: &mut Inner, event: Event) {
        inner.version = event.version;
        inner.log.push_back(event);
        while inner.log.len() > LOG_LENGTH {
            inner.log.pop_front();
        }
        self.changed.send_replace(inner.version);
    }

    /// The newest version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.lock().version
    }

    /// All objects, for the state directory.
    #[must_use]
    pub fn export(&self) -> Vec<Value> {
        self.lock()
            .objects
            .values()
            .map(|object| object.as_ref().clone())
            .collect()
    }

    /// Puts saved objects back as they were; versions go on after the newest of them.
    pub fn import<'a>(&self, objects: impl Iterator<Item = &'a Value>) {
        let mut inner = self.lock();
        for body in objects {
            let Some(resource) = resources::of_object(body) else {
                continue;
            };
            let place = object::namespace(body).to_owned();
            let key = (resource, place, object::name(body).to_owned());
            let version = object::version(body).parse().unwrap_or(0);
            inner.version = inner.version.max(version);
            inner.objects.insert(key, Arc::new(body.clone()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(target: &Target) -> Key {
    let name = target.name.clone().unwrap_or_default();
    (
        target.resource,
        target.namespace.clone().unwrap_or_default(),
        name,
    )
}
