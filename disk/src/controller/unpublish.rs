//! ControllerUnpublishVolume: a disk away from a node's machine, or from every machine.

use std::sync::Arc;
use std::time::Duration;

use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::node::{NodeName, VmRef};
use azcsi_types::op::Op;

use super::Controller;
use super::attach::decide::How;
use super::attach::error::AttachError;
use super::attach::{force, owner};
use super::common::{Whereabouts, attachment_guards, disk_guard};
use super::error::ControllerError;
use super::notices::{Act, Place};

/// The RPC.
#[derive(Debug)]
pub struct Unpublish;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    /// `None` for an id that is no disk's: nothing of the kind is attached anywhere.
    disk: Option<DiskUri>,
    /// `None` for every node.
    node: Option<NodeName>,
}

/// How often, and how far apart, a disk is asked whether a vanished machine has let go of it.
const LOOKS: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::ZERO,
];

impl Handler for Unpublish {
    type Ctx = Controller;
    type Wire = v1::ControllerUnpublishVolumeRequest;
    type WireReply = v1::ControllerUnpublishVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerUnpublishVolume;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let node = if wire.node_id.is_empty() {
            None
        } else {
            Some(super::publish::node_name(wire.node_id)?)
        };
        Ok(Request {
            disk: id.parse().ok(),
            node,
        })
    }

    fn scope(request: &Request) -> Scope {
        let Some(disk) = &request.disk else {
            return Scope::Read;
        };
        Scope::Operation {
            guards: match &request.node {
                Some(node) => attachment_guards(disk, node.as_str()),
                None => vec![disk_guard(disk)],
            },
            fingerprint: String::new(),
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<(), ControllerError> {
        let Some(disk) = request.disk else {
            return Ok(());
        };
        let work = Work {
            ctx: &ctx,
            op: &op,
            disk: &disk,
        };
        let place = Place {
            disk: &disk,
            node: request.node.as_ref(),
        };
        let leave = async {
            let left = match &request.node {
                Some(node) => work.leave_node(node).await,
                None => work.leave_all().await,
            };
            left.map_err(ControllerError::still_there)
        };
        ctx.in_sight(Act::Detach, place, Box::pin(leave)).await
    }

    fn encode((): ()) -> Self::WireReply {
        v1::ControllerUnpublishVolumeResponse {}
    }
}

/// One unpublish under way.
struct Work<'a> {
    ctx: &'a Controller,
    op: &'a Op,
    disk: &'a DiskUri,
}

impl Work<'_> {
    async fn leave_node(&self, node: &NodeName) -> Result<(), ControllerError> {
        match self.ctx.ports.nodes.machine(self.op, node).await? {
            Some(vm) => self.leave_machine(&vm, Some(node)).await,
            None => self.proven_free_of(node).await,
        }
    }

    async fn leave_all(&self) -> Result<(), ControllerError> {
        let Some(disk) = self.ctx.find_disk(self.op, self.disk).await? else {
            return Ok(());
        };
        for vm in owner::machines(disk.holders()) {
            let node = self.ctx.ports.nodes.node(self.op, &vm).await?;
            self.leave_machine(&vm, node.as_ref()).await?;
        }
        Ok(())
    }

    async fn leave_machine(
        &self,
        vm: &VmRef,
        node: Option<&NodeName>,
    ) -> Result<(), ControllerError> {
        let how = self.how(vm, node).await;
        match self.ctx.attach.detach(self.op, vm, self.disk, how).await {
            Ok(()) => Ok(()),
            Err(AttachError::Gone { .. }) => self.proven_free(vm).await,
            // Azure knows no such disk, so no machine can hold it.
            Err(AttachError::DiskMissing) => self.proven_free(vm).await,
            Err(source) => Err(ControllerError::Attach {
                disk: self.disk.clone(),
                node: node.map_or_else(|| vm.to_string(), ToString::to_string),
                source: Box::new(source),
            }),
        }
    }

    async fn how(&self, vm: &VmRef, node: Option<&NodeName>) -> How {
        let stuck = self.ctx.attach.stuck_for(vm, self.disk);
        let (Some(_), Some(node)) = (stuck, node) else {
            return How::Graceful;
        };
        let state = self.ctx.ports.nodes.state(node).await;
        let how = force::decide(state, stuck);
        if how == How::Forced {
            tracing::warn!(disk = %self.disk, %node, ?state, ?stuck, "detaching without the guest");
            let place = Place {
                disk: self.disk,
                node: Some(node),
            };
            let why =
                "by force: its node is fenced or silent, and the disk did not come off otherwise";
            self.ctx.tell_taken(place, "ForcedDetach", why);
        }
        how
    }

    /// The machine is gone. That alone says nothing about the disk, so the disk is asked.
    async fn proven_free(&self, vm: &VmRef) -> Result<(), ControllerError> {
        for pause in LOOKS {
            match self.ctx.find_disk(self.op, self.disk).await? {
                Some(disk) if disk.is_held_by(vm) => tokio::time::sleep(pause).await,
                _ => return Ok(()),
            }
        }
        Err(self.still_held(vm))
    }

    /// No machine is known for the node: the disk must not be in one that runs it all the same.
    async fn proven_free_of(&self, node: &NodeName) -> Result<(), ControllerError> {
        let Some(disk) = self.ctx.find_disk(self.op, self.disk).await? else {
            return Ok(());
        };
        for vm in owner::machines(disk.holders()) {
            match self.ctx.whereabouts(self.op, &vm).await? {
                Whereabouts::Node(other) if other == *node => {
                    self.leave_machine(&vm, Some(node)).await?;
                }
                // Another machine than the one that is asked about.
                Whereabouts::Node(_) | Whereabouts::Foreign => {}
                // Perhaps the one that is asked about: Azure has not recorded its end yet.
                Whereabouts::Gone => self.proven_free(&vm).await?,
            }
        }
        Ok(())
    }

    fn still_held(&self, vm: &VmRef) -> ControllerError {
        ControllerError::Going(format!(
            "machine {vm} is gone, but volume {} is still recorded as attached to it; waiting for Azure to release it",
            self.disk
        ))
    }
}
