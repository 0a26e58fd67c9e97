//! ControllerListVolumeHealth: the disks with which something is wrong.

use std::sync::Arc;

use azcsi_proto::csi::v1;
use azcsi_rpc::paging::{Page, page};
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::op::Op;

use super::Controller;
use super::brief::Brief;
use super::error::ControllerError;
use super::get_volume_health::holders;
use super::health::{self, Condition};
use super::list_volumes::{PageRequest, page_request};

/// The RPC.
#[derive(Debug)]
pub struct ListVolumeHealth;

impl Handler for ListVolumeHealth {
    type Ctx = Controller;
    type Wire = v1::ControllerListVolumeHealthRequest;
    type WireReply = v1::ControllerListVolumeHealthResponse;
    type Request = PageRequest;
    type Reply = Page<(Arc<Brief>, Vec<Condition>)>;
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerListVolumeHealth;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<PageRequest, ControllerError> {
        page_request::<DiskUri>(wire.max_entries, wire.starting_token)
    }

    fn scope(_: &PageRequest) -> Scope {
        Scope::Read
    }

    async fn run(
        ctx: Arc<Controller>,
        request: PageRequest,
        op: Op,
    ) -> Result<Self::Reply, ControllerError> {
        let all = ctx.all_disks(&op, request.after.is_some()).await?;
        let mut sick = Vec::new();
        for (key, disk) in all.iter() {
            let conditions = health::conditions(disk, holders(&ctx, &op, disk).await?);
            if !conditions.is_empty() {
                sick.push((key.clone(), (Arc::clone(disk), conditions)));
            }
        }
        Ok(page(&sick, request.after.as_deref(), request.most))
    }

    fn encode(reply: Self::Reply) -> Self::WireReply {
        let entries = reply.items.into_iter();
        v1::ControllerListVolumeHealthResponse {
            entries: entries
                .map(|(disk, conditions)| health::to_wire(&disk, conditions))
                .collect(),
            next_token: reply.next,
        }
    }
}
