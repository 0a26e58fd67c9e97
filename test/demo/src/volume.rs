//! The steps of a volume's life, each one call and one paragraph of the account.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use azcsi_proto::csi::v1::{
    CapacityRange, ControllerExpandVolumeRequest, ControllerPublishVolumeRequest,
    ControllerUnpublishVolumeRequest, CreateSnapshotRequest, CreateVolumeRequest,
    DeleteSnapshotRequest, DeleteVolumeRequest, NodeExpandVolumeRequest, NodeGetInfoRequest,
    NodePublishVolumeRequest, NodeStageVolumeRequest, NodeUnpublishVolumeRequest,
    NodeUnstageVolumeRequest, Snapshot, TopologyRequirement, VolumeCapability, VolumeContentSource,
    volume_capability::AccessType,
};

use crate::cluster::Cluster;
use azcsi_rig::csi::reply;

/// A volume of the demo.
#[derive(Clone, Debug)]
pub(crate) struct Volume {
    /// Its name in the account.
    pub(crate) name: String,
    /// Its id.
    pub(crate) id: String,
    context: HashMap<String, String>,
    capability: VolumeCapability,
}

/// A volume that a pod could use now.
#[derive(Clone, Debug)]
pub(crate) struct InUse {
    /// On which machine.
    pub(crate) node: usize,
    /// The mount point or the device.
    pub(crate) target: PathBuf,
    staging: PathBuf,
}

/// What a new volume should be.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its size.
    pub(crate) gib: i64,
    /// How it will be used.
    pub(crate) capability: VolumeCapability,
    /// StorageClass parameters.
    pub(crate) parameters: Vec<(&'static str, &'static str)>,
    /// What it is made from.
    pub(crate) source: Option<VolumeContentSource>,
}

const GIB: i64 = 1 << 30;

impl Cluster {
    /// CreateVolume.
    pub(crate) async fn create(&mut self, wish: Wish) -> Result<Volume> {
        let range = CapacityRange {
            required_bytes: wish.gib * GIB,
            limit_bytes: 0,
        };
        let request = CreateVolumeRequest {
            name: format!("demo-{}", wish.name),
            capacity_range: Some(range),
            volume_capabilities: vec![wish.capability.clone()],
            parameters: wish
                .parameters
                .iter()
                .map(|&(k, v)| (k.to_owned(), v.to_owned()))
                .collect(),
            volume_content_source: wish.source,
            accessibility_requirements: Some(self.zone_of_the_nodes().await?),
            ..CreateVolumeRequest::default()
        };
        let began = self.begin("CreateVolume").await?;
        let result = self
            .rig
            .controller
            .controller()
            .create_volume(request)
            .await;
        let what = format!("{}: {} GiB", wish.name, wish.gib);
        self.end(began, "CreateVolume", "controller", &what).await?;
        let volume = reply("CreateVolume", result)?
            .volume
            .context("no volume in the reply")?;
        Ok(Volume {
            name: wish.name.to_owned(),
            id: volume.volume_id,
            context: volume.volume_context,
            capability: wish.capability,
        })
    }

    /// Where the volume has to be reachable: what external-provisioner reads from the nodes.
    async fn zone_of_the_nodes(&self) -> Result<TopologyRequirement> {
        let info = self
            .node_client(0)?
            .node_get_info(NodeGetInfoRequest {})
            .await;
        let place = reply("NodeGetInfo", info)?.accessible_topology;
        let place: Vec<_> = place.into_iter().collect();
        Ok(TopologyRequirement {
            requisite: place.clone(),
            preferred: place,
        })
    }

    /// ControllerPublishVolume, NodeStageVolume, NodePublishVolume.
    pub(crate) async fn bring_up(&mut self, volume: &Volume, node: usize) -> Result<InUse> {
        let publish_context = self.attach(volume, node).await?;
        let kubelet = self.rig.machines[node].kubelet.clone();
        let staging = kubelet.join("staging").join(&volume.name);
        let target = kubelet.join("pods").join(&volume.name);
        std::fs::create_dir_all(&staging)?;
        std::fs::create_dir_all(kubelet.join("pods"))?;
        let who = self.rig.machines[node].name.clone();

        let request = NodeStageVolumeRequest {
            volume_id: volume.id.clone(),
            publish_context: publish_context.clone(),
            staging_target_path: staging.display().to_string(),
            volume_capability: Some(volume.capability.clone()),
            volume_context: volume.context.clone(),
            ..NodeStageVolumeRequest::default()
        };
        let mut plugin = self.node_client(node)?;
        let began = self.begin("NodeStageVolume").await?;
        let result = plugin.node_stage_volume(request).await;
        self.end(began, "NodeStageVolume", &who, &volume.name)
            .await?;
        reply("NodeStageVolume", result)?;

        let request = NodePublishVolumeRequest {
            volume_id: volume.id.clone(),
            publish_context,
            staging_target_path: staging.display().to_string(),
            target_path: target.display().to_string(),
            volume_capability: Some(volume.capability.clone()),
            volume_context: volume.context.clone(),
            ..NodePublishVolumeRequest::default()
        };
        let began = self.begin("NodePublishVolume").await?;
        let result = plugin.node_publish_volume(request).await;
        self.end(began, "NodePublishVolume", &who, &volume.name)
            .await?;
        reply("NodePublishVolume", result)?;
        self.show_kernel(&target)?;
        Ok(InUse {
            node,
            target,
            staging,
        })
    }

    async fn attach(&mut self, volume: &Volume, node: usize) -> Result<HashMap<String, String>> {
        let name = self.rig.machines[node].name.clone();
        let request = ControllerPublishVolumeRequest {
            volume_id: volume.id.clone(),
            node_id: name.clone(),
            volume_capability: Some(volume.capability.clone()),
            volume_context: volume.context.clone(),
            ..ControllerPublishVolumeRequest::default()
        };
        let began = self.begin("ControllerPublishVolume").await?;
        let result = self
            .rig
            .controller
            .controller()
            .controller_publish_volume(request)
            .await;
        let what = format!("{} → {name}", volume.name);
        self.end(began, "ControllerPublishVolume", "controller", &what)
            .await?;
        Ok(reply("ControllerPublishVolume", result)?.publish_context)
    }

    /// NodeUnpublishVolume, NodeUnstageVolume, ControllerUnpublishVolume.
    pub(crate) async fn take_down(&mut self, volume: &Volume, place: &InUse) -> Result<()> {
        self.release(volume, place).await?;
        self.put_away(volume, place).await
    }

    /// NodeUnpublishVolume: the pod is gone.
    pub(crate) async fn release(&mut self, volume: &Volume, place: &InUse) -> Result<()> {
        let who = self.rig.machines[place.node].name.clone();
        let mut plugin = self.node_client(place.node)?;
        let request = NodeUnpublishVolumeRequest {
            volume_id: volume.id.clone(),
            target_path: place.target.display().to_string(),
        };
        let began = self.begin("NodeUnpublishVolume").await?;
        let result = plugin.node_unpublish_volume(request).await;
        self.end(began, "NodeUnpublishVolume", &who, &volume.name)
            .await?;
        reply("NodeUnpublishVolume", result)?;
        Ok(())
    }

    /// NodeUnstageVolume, ControllerUnpublishVolume: the node does not need the disk any more.
    pub(crate) async fn put_away(&mut self, volume: &Volume, place: &InUse) -> Result<()> {
        let who = self.rig.machines[place.node].name.clone();
        let mut plugin = self.node_client(place.node)?;
        let request = NodeUnstageVolumeRequest {
            volume_id: volume.id.clone(),
            staging_target_path: place.staging.display().to_string(),
        };
        let began = self.begin("NodeUnstageVolume").await?;
        let result = plugin.node_unstage_volume(request).await;
        self.end(began, "NodeUnstageVolume", &who, &volume.name)
            .await?;
        reply("NodeUnstageVolume", result)?;
        self.detach(volume, place.node).await
    }

    /// ControllerUnpublishVolume alone: what Kubernetes does for a machine that is gone.
    pub(crate) async fn detach(&mut self, volume: &Volume, node: usize) -> Result<()> {
        let name = self.rig.machines[node].name.clone();
        let request = ControllerUnpublishVolumeRequest {
            volume_id: volume.id.clone(),
            node_id: name.clone(),
            ..ControllerUnpublishVolumeRequest::default()
        };
        let began = self.begin("ControllerUnpublishVolume").await?;
        let result = self
            .rig
            .controller
            .controller()
            .controller_unpublish_volume(request)
            .await;
        let what = format!("{} ← {name}", volume.name);
        self.end(began, "ControllerUnpublishVolume", "controller", &what)
            .await?;
        reply("ControllerUnpublishVolume", result)?;
        Ok(())
    }

    /// ControllerExpandVolume, then NodeExpandVolume.
    pub(crate) async fn expand(&mut self, volume: &Volume, place: &InUse, gib: i64) -> Result<()> {
        let range = CapacityRange {
            required_bytes: gib * GIB,
            limit_bytes: 0,
        };
        let request = ControllerExpandVolumeRequest {
            volume_id: volume.id.clone(),
            capacity_range: Some(range),
            volume_capability: Some(volume.capability.clone()),
            ..ControllerExpandVolumeRequest::default()
        };
        let began = self.begin("ControllerExpandVolume").await?;
        let result = self
            .rig
            .controller
            .controller()
            .controller_expand_volume(request)
            .await;
        let what = format!("{} to {gib} GiB", volume.name);
        self.end(began, "ControllerExpandVolume", "controller", &what)
            .await?;
        reply("ControllerExpandVolume", result)?;

        let request = NodeExpandVolumeRequest {
            volume_id: volume.id.clone(),
            volume_path: place.target.display().to_string(),
            capacity_range: Some(range),
            staging_target_path: place.staging.display().to_string(),
            volume_capability: Some(volume.capability.clone()),
            ..NodeExpandVolumeRequest::default()
        };
        let who = self.rig.machines[place.node].name.clone();
        let mut plugin = self.node_client(place.node)?;
        let began = self.begin("NodeExpandVolume").await?;
        let result = plugin.node_expand_volume(request).await;
        self.end(began, "NodeExpandVolume", &who, &what).await?;
        reply("NodeExpandVolume", result)?;
        Ok(())
    }

    /// CreateSnapshot, repeated until the snapshot is ready, as external-snapshotter does.
    pub(crate) async fn snapshot(&mut self, volume: &Volume, name: &str) -> Result<Snapshot> {
        loop {
            let request = CreateSnapshotRequest {
                source_volume_id: volume.id.clone(),
                name: format!("demo-{name}"),
                ..CreateSnapshotRequest::default()
            };
            let began = self.begin("CreateSnapshot").await?;
            let result = self
                .rig
                .controller
                .controller()
                .create_snapshot(request)
                .await;
            self.end(
                began,
                "CreateSnapshot",
                "controller",
                &format!("{name} of {}", volume.name),
            )
            .await?;
            let snapshot = reply("CreateSnapshot", result)?
                .snapshot
                .context("no snapshot in the reply")?;
            if snapshot.ready_to_use {
                return Ok(snapshot);
            }
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
    }

    /// DeleteVolume.
    pub(crate) async fn delete(&mut self, volume: &Volume) -> Result<()> {
        let request = DeleteVolumeRequest {
            volume_id: volume.id.clone(),
            ..DeleteVolumeRequest::default()
        };
        let began = self.begin("DeleteVolume").await?;
        let result = self
            .rig
            .controller
            .controller()
            .delete_volume(request)
            .await;
        self.end(began, "DeleteVolume", "controller", &volume.name)
            .await?;
        reply("DeleteVolume", result)?;
        Ok(())
    }

    /// DeleteSnapshot.
    pub(crate) async fn delete_snapshot(&mut self, snapshot: &Snapshot) -> Result<()> {
        let request = DeleteSnapshotRequest {
            snapshot_id: snapshot.snapshot_id.clone(),
            ..DeleteSnapshotRequest::default()
        };
        let began = self.begin("DeleteSnapshot").await?;
        let result = self
            .rig
            .controller
            .controller()
            .delete_snapshot(request)
            .await;
        self.end(began, "DeleteSnapshot", "controller", "").await?;
        reply("DeleteSnapshot", result)?;
        Ok(())
    }

    fn node_client(
        &self,
        node: usize,
    ) -> Result<azcsi_proto::csi::v1::node_client::NodeClient<tonic::transport::Channel>> {
        Ok(self.rig.machines[node].plugin()?.node())
    }

    /// What the kernel says about a target: the mount, or the device that is bound there.
    fn show_kernel(&self, target: &std::path::Path) -> Result<()> {
        use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
        let short = target
            .strip_prefix(self.rig.dir())
            .unwrap_or(target)
            .display();
        let found = std::fs::metadata(target)?;
        if found.file_type().is_block_device() {
            let (major, minor) = (
                nix::sys::stat::major(found.rdev()),
                nix::sys::stat::minor(found.rdev()),
            );
            self.say
                .kernel(&format!("block device {major}:{minor} at …/{short}"));
            return Ok(());
        }
        let table = std::fs::read_to_string("/proc/self/mounts")?;
        let mine = target.display().to_string();
        for line in table.lines() {
            let mut parts = line.split(' ');
            let (Some(source), Some(path), Some(kind), Some(flags)) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            if path == mine {
                let device = source.rsplit('/').next().unwrap_or(source);
                self.say
                    .kernel(&format!("{device} mounted at …/{short} ({kind}, {flags})"));
            }
        }
        Ok(())
    }
}

impl Volume {
    /// This volume as the source of another.
    pub(crate) fn as_source(&self) -> VolumeContentSource {
        use azcsi_proto::csi::v1::volume_content_source::{Type, VolumeSource};
        VolumeContentSource {
            r#type: Some(Type::Volume(VolumeSource {
                volume_id: self.id.clone(),
            })),
        }
    }

    /// Where its data is: a file in the mount, or the device itself.
    pub(crate) fn data_path(&self, place: &InUse) -> PathBuf {
        match self.capability.access_type {
            Some(AccessType::Block(_)) => place.target.clone(),
            _ => place.target.join("data"),
        }
    }
}

/// A snapshot as the source of a volume.
pub(crate) fn snapshot_source(snapshot: &Snapshot) -> VolumeContentSource {
    use azcsi_proto::csi::v1::volume_content_source::{SnapshotSource, Type};
    let snapshot_id = snapshot.snapshot_id.clone();
    VolumeContentSource {
        r#type: Some(Type::Snapshot(SnapshotSource { snapshot_id })),
    }
}
