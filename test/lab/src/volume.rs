//! A volume's life over CSI, as Kubernetes walks through it.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use azcsi_proto::csi::v1::{
    CapacityRange, ControllerExpandVolumeRequest, ControllerPublishVolumeRequest,
    ControllerUnpublishVolumeRequest, CreateVolumeRequest, DeleteVolumeRequest,
    NodeExpandVolumeRequest, NodeGetInfoRequest, NodePublishVolumeRequest, NodeStageVolumeRequest,
    NodeUnpublishVolumeRequest, NodeUnstageVolumeRequest, TopologyRequirement, VolumeCapability,
    VolumeContentSource, volume_capability::AccessType, volume_content_source,
};
use azcsi_rig::csi::reply;

use crate::lab::Lab;
use crate::wait::until;
use crate::wire::Span;

const GIB: i64 = 1 << 30;
const PLUGIN: &str = "/var/lib/kubelet/plugins/kubernetes.io/csi/disk.csi.azure.com";

/// A volume.
#[derive(Clone, Debug)]
pub struct Volume {
    /// Its name in the case.
    pub name: String,
    /// Its id.
    pub id: String,
    context: HashMap<String, String>,
    capability: VolumeCapability,
}

impl Volume {
    /// Where it is staged on a node.
    #[must_use]
    pub fn staging(&self) -> String {
        format!("{PLUGIN}/{}/globalmount", self.name)
    }

    fn is_block(&self) -> bool {
        matches!(self.capability.access_type, Some(AccessType::Block(_)))
    }

    /// Where a pod finds it.
    #[must_use]
    pub fn target(&self) -> String {
        let pod = format!("/var/lib/kubelet/pods/{}", self.name);
        if self.is_block() {
            format!("{pod}/volumeDevices/kubernetes.io~csi/{}", self.name)
        } else {
            format!("{pod}/volumes/kubernetes.io~csi/{}/mount", self.name)
        }
    }

    /// A pattern in it: of the device, or of a file.
    #[must_use]
    pub fn span(&self, file: &str, mib: u64, seed: u64) -> Span {
        let path = if self.is_block() {
            self.target()
        } else {
            format!("{}/{file}", self.target())
        };
        Span {
            path,
            offset: 0,
            length: mib << 20,
            seed,
        }
    }
}

/// What a new volume should be.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Its name.
    pub name: String,
    /// Its size.
    pub gib: i64,
    /// How it is used.
    pub capability: VolumeCapability,
    /// How many nodes may have it.
    pub shares: u32,
    /// The volume that it is a clone of.
    pub source: Option<String>,
}

impl Wish {
    /// A volume for one node.
    #[must_use]
    pub fn new(name: &str, gib: i64, capability: VolumeCapability) -> Self {
        Self {
            name: name.to_owned(),
            gib,
            capability,
            shares: 1,
            source: None,
        }
    }
}

impl Lab {
    /// CreateVolume.
    ///
    /// # Errors
    /// The status.
    pub async fn create(&self, wish: Wish) -> Result<Volume> {
        let source = wish.source.map(|volume_id| VolumeContentSource {
            r#type: Some(volume_content_source::Type::Volume(
                volume_content_source::VolumeSource { volume_id },
            )),
        });
        let mut parameters = HashMap::from([("skuName".to_owned(), "Premium_LRS".to_owned())]);
        if wish.shares > 1 {
            parameters.insert("maxShares".to_owned(), wish.shares.to_string());
            parameters.insert("cachingMode".to_owned(), "None".to_owned());
        }
        let request = CreateVolumeRequest {
            name: format!("pvc-lab-{}", wish.name),
            capacity_range: Some(range(wish.gib)),
            volume_capabilities: vec![wish.capability.clone()],
            parameters,
            volume_content_source: source,
            accessibility_requirements: Some(self.topology().await?),
            ..CreateVolumeRequest::default()
        };
        let result = self.controller.controller().create_volume(request).await;
        let volume = reply("CreateVolume", result)?
            .volume
            .context("no volume in the reply")?;
        Ok(Volume {
            name: wish.name,
            id: volume.volume_id,
            context: volume.volume_context,
            capability: wish.capability,
        })
    }

    async fn topology(&self) -> Result<TopologyRequirement> {
        let info = self
            .node(0)?
            .csi()
            .node_get_info(NodeGetInfoRequest {})
            .await;
        let place: Vec<_> = reply("NodeGetInfo", info)?
            .accessible_topology
            .into_iter()
            .collect();
        Ok(TopologyRequirement {
            requisite: place.clone(),
            preferred: place,
        })
    }

    /// ControllerPublishVolume.
    ///
    /// # Errors
    /// The status.
    pub async fn attach(&self, volume: &Volume, node: usize) -> Result<HashMap<String, String>> {
        let request = ControllerPublishVolumeRequest {
            volume_id: volume.id.clone(),
            node_id: self.node(node)?.machine.spec.name.clone(),
            volume_capability: Some(volume.capability.clone()),
            volume_context: volume.context.clone(),
            ..ControllerPublishVolumeRequest::default()
        };
        let mut controller = self.controller.controller();
        let result = controller.controller_publish_volume(request).await;
        Ok(reply("ControllerPublishVolume", result)?.publish_context)
    }

    /// NodeStageVolume.
    ///
    /// # Errors
    /// The status.
    pub async fn stage(
        &self,
        volume: &Volume,
        node: usize,
        publish_context: &HashMap<String, String>,
    ) -> Result<()> {
        let node = self.node(node)?;
        let staging = volume.staging();
        node.machine.agent.run(&["mkdir", "-p", &staging]).await?;
        let request = NodeStageVolumeRequest {
            volume_id: volume.id.clone(),
            publish_context: publish_context.clone(),
            staging_target_path: staging,
            volume_capability: Some(volume.capability.clone()),
            volume_context: volume.context.clone(),
            ..NodeStageVolumeRequest::default()
        };
        let result = node.csi().node_stage_volume(request).await;
        reply("NodeStageVolume", result).map(drop)
    }

    /// NodeStageVolume as kubelet calls it: again while the device has not come. For many disks at
    /// once on a busy host, which brings the last one later than a single call waits.
    ///
    /// # Errors
    /// Any other status.
    pub async fn stage_patiently(
        &self,
        volume: &Volume,
        node: usize,
        publish_context: &HashMap<String, String>,
    ) -> Result<()> {
        until("the device of a volume", || async {
            match self.stage(volume, node, publish_context).await {
                Ok(()) => Ok(Some(())),
                Err(error) if format!("{error:#}").contains("no device has appeared") => Ok(None),
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// NodePublishVolume.
    ///
    /// # Errors
    /// The status.
    pub async fn publish(
        &self,
        volume: &Volume,
        node: usize,
        publish_context: &HashMap<String, String>,
    ) -> Result<()> {
        let node = self.node(node)?;
        let target = volume.target();
        let parent = target.rsplit_once('/').map_or("/", |(parent, _)| parent);
        node.machine.agent.run(&["mkdir", "-p", parent]).await?;
        let request = NodePublishVolumeRequest {
            volume_id: volume.id.clone(),
            publish_context: publish_context.clone(),
            staging_target_path: volume.staging(),
            target_path: target,
            volume_capability: Some(volume.capability.clone()),
            volume_context: volume.context.clone(),
            ..NodePublishVolumeRequest::default()
        };
        let result = node.csi().node_publish_volume(request).await;
        reply("NodePublishVolume", result).map(drop)
    }

    /// From attach to publish.
    ///
    /// # Errors
    /// The status of the step that failed.
    pub async fn bring_up(&self, volume: &Volume, node: usize) -> Result<()> {
        let context = self.attach(volume, node).await?;
        self.stage(volume, node, &context).await?;
        self.publish(volume, node, &context).await
    }

    /// NodeUnpublishVolume and NodeUnstageVolume.
    ///
    /// # Errors
    /// The status.
    pub async fn put_away(&self, volume: &Volume, node: usize) -> Result<()> {
        let node = self.node(node)?;
        let request = NodeUnpublishVolumeRequest {
            volume_id: volume.id.clone(),
            target_path: volume.target(),
        };
        let result = node.csi().node_unpublish_volume(request).await;
        reply("NodeUnpublishVolume", result)?;
        let request = NodeUnstageVolumeRequest {
            volume_id: volume.id.clone(),
            staging_target_path: volume.staging(),
        };
        let result = node.csi().node_unstage_volume(request).await;
        reply("NodeUnstageVolume", result).map(drop)
    }

    /// ControllerUnpublishVolume.
    ///
    /// # Errors
    /// The status.
    pub async fn detach(&self, volume: &Volume, node: usize) -> Result<()> {
        let request = ControllerUnpublishVolumeRequest {
            volume_id: volume.id.clone(),
            node_id: self.node(node)?.machine.spec.name.clone(),
            ..ControllerUnpublishVolumeRequest::default()
        };
        let mut controller = self.controller.controller();
        let result = controller.controller_unpublish_volume(request).await;
        reply("ControllerUnpublishVolume", result).map(drop)
    }

    /// From unpublish to detach.
    ///
    /// # Errors
    /// The status of the step that failed.
    pub async fn take_down(&self, volume: &Volume, node: usize) -> Result<()> {
        self.put_away(volume, node).await?;
        self.detach(volume, node).await
    }

    /// DeleteVolume.
    ///
    /// # Errors
    /// The status.
    pub async fn delete(&self, volume: &Volume) -> Result<()> {
        let request = DeleteVolumeRequest {
            volume_id: volume.id.clone(),
            ..DeleteVolumeRequest::default()
        };
        let result = self.controller.controller().delete_volume(request).await;
        reply("DeleteVolume", result).map(drop)
    }

    /// ControllerExpandVolume and NodeExpandVolume.
    ///
    /// # Errors
    /// The status.
    pub async fn expand(&self, volume: &Volume, node: usize, gib: i64) -> Result<()> {
        let request = ControllerExpandVolumeRequest {
            volume_id: volume.id.clone(),
            capacity_range: Some(range(gib)),
            volume_capability: Some(volume.capability.clone()),
            ..ControllerExpandVolumeRequest::default()
        };
        let mut controller = self.controller.controller();
        let result = controller.controller_expand_volume(request).await;
        reply("ControllerExpandVolume", result)?;
        let request = NodeExpandVolumeRequest {
            volume_id: volume.id.clone(),
            volume_path: volume.target(),
            staging_target_path: volume.staging(),
            capacity_range: Some(range(gib)),
            volume_capability: Some(volume.capability.clone()),
            ..NodeExpandVolumeRequest::default()
        };
        let result = self.node(node)?.csi().node_expand_volume(request).await;
        reply("NodeExpandVolume", result).map(drop)
    }

    /// Writes a pattern on a node.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn fill(&self, node: usize, span: &Span) -> Result<()> {
        self.node(node)?.machine.agent.fill(span).await
    }

    /// Compares every byte on a node.
    ///
    /// # Errors
    /// When one differs.
    pub async fn check(&self, node: usize, span: &Span) -> Result<()> {
        self.node(node)?.machine.agent.check(span).await
    }
}

fn range(gib: i64) -> CapacityRange {
    CapacityRange {
        required_bytes: gib * GIB,
        limit_bytes: 0,
    }
}
