//! CSINode objects: what kubelet registered for a driver.

use azcsi_types::node::NodeName;
use serde::Deserialize;

use crate::client::{Kube, escaped};
use crate::error::KubeError;

#[derive(Deserialize)]
struct CsiNode {
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(default)]
    drivers: Vec<Driver>,
}

#[derive(Deserialize)]
struct Driver {
    name: String,
    #[serde(default)]
    allocatable: Option<Allocatable>,
}

#[derive(Deserialize)]
struct Allocatable {
    #[serde(default)]
    count: Option<i32>,
}

/// How far kubelet is with a driver on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    /// Kubelet has not registered the driver.
    Absent,
    /// It is registered without a limit of volumes.
    Unlimited,
    /// It is registered with this limit.
    Limited(i32),
}

impl Kube {
    /// Reads how far kubelet is with `driver` on `node`.
    ///
    /// # Errors
    /// If the object cannot be read for another reason than that it does not exist yet.
    pub async fn registration(
        &self,
        node: &NodeName,
        driver: &str,
    ) -> Result<Registration, KubeError> {
        let path = format!(
            "/apis/storage.k8s.io/v1/csinodes/{}",
            escaped(&node.folded())
        );
        let object: CsiNode = match self.get(&format!("get CSINode {node}"), &path).await {
            Ok(object) => object,
            Err(error) if error.is_not_found() => return Ok(Registration::Absent),
            Err(error) => return Err(error),
        };
        let found = object
            .spec
            .drivers
            .iter()
            .find(|entry| entry.name == driver);
        Ok(match found {
            None => Registration::Absent,
            Some(entry) => match entry.allocatable.as_ref().and_then(|limit| limit.count) {
                None => Registration::Unlimited,
                Some(count) => Registration::Limited(count),
            },
        })
    }
}
