//! The calls of kubelet, with everything filled in that a test does not care about.

use azcsi_proto::csi::v1;
use tonic::{Request, Status};
use v1::node_server::Node as _;

use super::rig::{Rig, Volume};

impl Rig {
    pub(super) async fn stage_at(&self, volume: &Volume, path: &str) -> Result<(), Status> {
        self.stage_with(volume, |request| {
            request.staging_target_path = self.text(path)
        })
        .await
    }

    pub(super) async fn stage_with(
        &self,
        volume: &Volume,
        change: impl FnOnce(&mut v1::NodeStageVolumeRequest),
    ) -> Result<(), Status> {
        let mut request = v1::NodeStageVolumeRequest {
            volume_id: volume.id.clone(),
            publish_context: volume.published(),
            staging_target_path: self.text("staging"),
            volume_capability: Some(volume.capability()),
            volume_context: volume.context.clone(),
            ..Default::default()
        };
        change(&mut request);
        let answer = self.service.node_stage_volume(Request::new(request)).await;
        answer.map(drop)
    }

    pub(super) async fn stage(&self, volume: &Volume) -> Result<(), Status> {
        self.stage_at(volume, "staging").await
    }

    pub(super) async fn unstage(&self, volume: &Volume) -> Result<(), Status> {
        self.unstage_at(volume, "staging").await
    }

    pub(super) async fn unstage_at(&self, volume: &Volume, path: &str) -> Result<(), Status> {
        self.unstage_raw(volume, &self.text(path)).await
    }

    pub(super) async fn unstage_raw(&self, volume: &Volume, path: &str) -> Result<(), Status> {
        let request = v1::NodeUnstageVolumeRequest {
            volume_id: volume.id.clone(),
            staging_target_path: path.to_owned(),
        };
        let answer = self
            .service
            .node_unstage_volume(Request::new(request))
            .await;
        answer.map(drop)
    }

    pub(super) async fn publish(&self, volume: &Volume, target: &str) -> Result<(), Status> {
        self.publish_with(volume, target, |_| {}).await
    }

    pub(super) async fn publish_read_only(
        &self,
        volume: &Volume,
        target: &str,
    ) -> Result<(), Status> {
        self.publish_with(volume, target, |request| request.readonly = true)
            .await
    }

    pub(super) async fn publish_with(
        &self,
        volume: &Volume,
        target: &str,
        change: impl FnOnce(&mut v1::NodePublishVolumeRequest),
    ) -> Result<(), Status> {
        let mut request = v1::NodePublishVolumeRequest {
            volume_id: volume.id.clone(),
            publish_context: volume.published(),
            staging_target_path: self.text("staging"),
            target_path: self.text(target),
            volume_capability: Some(volume.capability()),
            volume_context: volume.context.clone(),
            ..Default::default()
        };
        change(&mut request);
        let answer = self
            .service
            .node_publish_volume(Request::new(request))
            .await;
        answer.map(drop)
    }

    pub(super) async fn unpublish(&self, volume: &Volume, target: &str) -> Result<(), Status> {
        self.unpublish_raw(volume, &self.text(target)).await
    }

    pub(super) async fn unpublish_raw(&self, volume: &Volume, path: &str) -> Result<(), Status> {
        let request = v1::NodeUnpublishVolumeRequest {
            volume_id: volume.id.clone(),
            target_path: path.to_owned(),
        };
        let answer = self
            .service
            .node_unpublish_volume(Request::new(request))
            .await;
        answer.map(drop)
    }

    pub(super) async fn expand(
        &self,
        volume: &Volume,
        path: &str,
        bytes: u64,
    ) -> Result<u64, Status> {
        self.expand_with(volume, path, bytes, |_| {}).await
    }

    pub(super) async fn expand_with(
        &self,
        volume: &Volume,
        path: &str,
        bytes: u64,
        change: impl FnOnce(&mut v1::NodeExpandVolumeRequest),
    ) -> Result<u64, Status> {
        let mut request = v1::NodeExpandVolumeRequest {
            volume_id: volume.id.clone(),
            volume_path: path.to_owned(),
            capacity_range: Some(v1::CapacityRange {
                required_bytes: i64::try_from(bytes).unwrap(),
                limit_bytes: 0,
            }),
            ..Default::default()
        };
        change(&mut request);
        let answer = self
            .service
            .node_expand_volume(Request::new(request))
            .await?;
        Ok(u64::try_from(answer.into_inner().capacity_bytes).unwrap())
    }

    pub(super) async fn stats(
        &self,
        volume: &Volume,
        path: &str,
    ) -> Result<Vec<v1::VolumeUsage>, Status> {
        let request = v1::NodeGetVolumeStatsRequest {
            volume_id: volume.id.clone(),
            volume_path: path.to_owned(),
            ..Default::default()
        };
        let answer = self
            .service
            .node_get_volume_stats(Request::new(request))
            .await?;
        Ok(answer.into_inner().usage)
    }

    /// Reasons of adverse health.
    pub(super) async fn health(&self, volume: &Volume) -> Vec<String> {
        let request = v1::NodeGetVolumeHealthRequest {
            volume_id: volume.id.clone(),
            ..Default::default()
        };
        let answer = self
            .service
            .node_get_volume_health(Request::new(request))
            .await;
        let health = answer.unwrap().into_inner().volume_health.unwrap();
        assert_eq!(health.volume_id, volume.id);
        health
            .health_statuses
            .into_iter()
            .map(|entry| entry.reason)
            .collect()
    }
}
