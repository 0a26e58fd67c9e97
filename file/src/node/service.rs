//! The tonic trait: one line for each RPC.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::Dispatcher;
use tonic::{Request, Response, Status};
use v1::node_server::Node as NodeTrait;

use super::Node;
use super::expand::NodeExpandVolume;
use super::get_capabilities::NodeGetCapabilities;
use super::get_info::NodeGetInfo;
use super::publish::NodePublishVolume;
use super::stage::NodeStageVolume;
use super::stats::NodeGetVolumeStats;
use super::storage_health::NodeGetStorageHealth;
use super::unpublish::NodeUnpublishVolume;
use super::unstage::NodeUnstageVolume;
use super::volume_health::NodeGetVolumeHealth;

/// The Node service.
#[derive(Clone, Debug)]
pub struct NodeService {
    node: Arc<Node>,
    dispatcher: Dispatcher,
}

impl NodeService {
    /// The service over a node.
    #[must_use]
    pub const fn new(node: Arc<Node>, dispatcher: Dispatcher) -> Self {
        Self { node, dispatcher }
    }
}

#[tonic::async_trait]
impl NodeTrait for NodeService {
    async fn node_stage_volume(
        &self,
        request: Request<v1::NodeStageVolumeRequest>,
    ) -> Result<Response<v1::NodeStageVolumeResponse>, Status> {
        self.dispatcher
            .unary::<NodeStageVolume>(&self.node, request)
            .await
    }

    async fn node_unstage_volume(
        &self,
        request: Request<v1::NodeUnstageVolumeRequest>,
    ) -> Result<Response<v1::NodeUnstageVolumeResponse>, Status> {
        self.dispatcher
            .unary::<NodeUnstageVolume>(&self.node, request)
            .await
    }

    async fn node_publish_volume(
        &self,
        request: Request<v1::NodePublishVolumeRequest>,
    ) -> Result<Response<v1::NodePublishVolumeResponse>, Status> {
        self.dispatcher
            .unary::<NodePublishVolume>(&self.node, request)
            .await
    }

    async fn node_unpublish_volume(
        &self,
        request: Request<v1::NodeUnpublishVolumeRequest>,
    ) -> Result<Response<v1::NodeUnpublishVolumeResponse>, Status> {
        self.dispatcher
            .unary::<NodeUnpublishVolume>(&self.node, request)
            .await
    }

    async fn node_get_volume_stats(
        &self,
        request: Request<v1::NodeGetVolumeStatsRequest>,
    ) -> Result<Response<v1::NodeGetVolumeStatsResponse>, Status> {
        self.dispatcher
            .unary::<NodeGetVolumeStats>(&self.node, request)
            .await
    }

    async fn node_get_volume_health(
        &self,
        request: Request<v1::NodeGetVolumeHealthRequest>,
    ) -> Result<Response<v1::NodeGetVolumeHealthResponse>, Status> {
        self.dispatcher
            .unary::<NodeGetVolumeHealth>(&self.node, request)
            .await
    }

    async fn node_get_storage_health(
        &self,
        request: Request<v1::NodeGetStorageHealthRequest>,
    ) -> Result<Response<v1::NodeGetStorageHealthResponse>, Status> {
        self.dispatcher
            .unary::<NodeGetStorageHealth>(&self.node, request)
            .await
    }

    async fn node_expand_volume(
        &self,
        request: Request<v1::NodeExpandVolumeRequest>,
    ) -> Result<Response<v1::NodeExpandVolumeResponse>, Status> {
        self.dispatcher
            .unary::<NodeExpandVolume>(&self.node, request)
            .await
    }

    async fn node_get_capabilities(
        &self,
        request: Request<v1::NodeGetCapabilitiesRequest>,
    ) -> Result<Response<v1::NodeGetCapabilitiesResponse>, Status> {
        self.dispatcher
            .unary::<NodeGetCapabilities>(&self.node, request)
            .await
    }

    async fn node_get_info(
        &self,
        request: Request<v1::NodeGetInfoRequest>,
    ) -> Result<Response<v1::NodeGetInfoResponse>, Status> {
        self.dispatcher
            .unary::<NodeGetInfo>(&self.node, request)
            .await
    }
}
