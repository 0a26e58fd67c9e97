//! A node's machine, for its metadata service.

use std::sync::Arc;

use super::backend::Backend;
use super::lag::Lag;
use crate::imds::Machine;
use crate::imds::document::Instance;

/// One node of the world.
#[derive(Debug)]
pub struct Node {
    name: String,
    backend: Arc<dyn Backend>,
    lag: Arc<Lag>,
}

impl Node {
    /// The node of this name.
    #[must_use]
    pub fn new(name: &str, backend: &Arc<dyn Backend>, lag: &Arc<Lag>) -> Self {
        Self {
            name: name.to_owned(),
            backend: Arc::clone(backend),
            lag: Arc::clone(lag),
        }
    }
}

impl Machine for Node {
    fn instance(&self) -> Option<Instance> {
        self.backend
            .instance(&self.name)
            .map(|instance| self.lag.shown(instance))
    }
}
