//! Metadata services learn of an attach or detach only after a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azcsi_types::clock::Clock;

use super::backend::Backend;
use crate::imds::document::{DataDisk, Instance};

/// The disks of one machine, each time since when.
type Past = Vec<(Duration, Vec<DataDisk>)>;

/// What each machine had, and since when.
#[derive(Debug)]
pub struct Lag {
    after: Duration,
    clock: Arc<dyn Clock>,
    history: Mutex<HashMap<String, Past>>,
}

impl Lag {
    /// News arrives so much later; at zero nothing is remembered.
    #[must_use]
    pub fn new(after: Duration, clock: Arc<dyn Clock>) -> Self {
        Self {
            after,
            clock,
            history: Mutex::new(HashMap::new()),
        }
    }

    /// Notes what every machine has now.
    pub fn note(&self, backend: &dyn Backend) {
        if self.after.is_zero() {
            return;
        }
        for node in backend.nodes() {
            if let Some(instance) = backend.instance(&node.name) {
                self.show(instance);
            }
        }
    }

    /// The instance with the disks that its metadata service knows of now.
    #[must_use]
    pub fn shown(&self, instance: Instance) -> Instance {
        if self.after.is_zero() {
            instance
        } else {
            self.show(instance)
        }
    }

    fn show(&self, mut instance: Instance) -> Instance {
        let now = self.clock.now();
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let past = history.entry(instance.vm_id.clone()).or_default();
        if past
            .last()
            .is_none_or(|(_, last)| *last != instance.data_disks)
        {
            past.push((now, instance.data_disks.clone()));
        }
        // The newest that is old enough is what is known; everything before it is forgotten.
        let known = past
            .iter()
            .rposition(|(since, _)| since.saturating_add(self.after) <= now);
        past.drain(..known.unwrap_or(0));
        if let Some((_, disks)) = past.first() {
            instance.data_disks.clone_from(disks);
        }
        instance
    }
}
