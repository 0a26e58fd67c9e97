//! The Node object of the node that this process serves.

use std::sync::Arc;

use azcsi_kube::Kube;
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::node::NodeName;
use futures_util::future::BoxFuture;

use crate::node::machine::{Labels, NodeLabels, Unanswered};

/// The Node object of this node, read when it is asked for.
#[derive(Debug)]
pub struct OwnNode {
    kube: Kube,
    name: NodeName,
    driver: String,
}

impl OwnNode {
    /// The object of this name.
    #[must_use]
    pub fn new(kube: Kube, name: NodeName, driver: &str) -> Arc<Self> {
        Arc::new(Self {
            kube,
            name,
            driver: driver.to_owned(),
        })
    }
}

impl NodeLabels for OwnNode {
    fn labels(&self) -> BoxFuture<'_, Result<Labels, Unanswered>> {
        Box::pin(async {
            let object = self
                .kube
                .node(&self.name)
                .await
                .map_err(|error| Unanswered {
                    source_name: "Kubernetes API",
                    source: Box::new(error),
                })?;
            Ok(Labels {
                zone: object.zone().map(str::to_owned),
                instance_type: object.instance_type().map(str::to_owned),
            })
        })
    }

    fn attached(&self) -> BoxFuture<'_, Option<Vec<DiskUri>>> {
        Box::pin(async {
            let object = self.kube.node(&self.name).await.ok()?;
            let handles = object.attached_handles(&self.driver);
            Some(handles.filter_map(|handle| handle.parse().ok()).collect())
        })
    }
}
