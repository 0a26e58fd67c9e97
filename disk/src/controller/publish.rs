//! ControllerPublishVolume: a disk into a slot of a node's machine.

use std::sync::Arc;

use azcsi_cloud::Disk;
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::access::{Access, MaxShares};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::lun::{Lun, LunSet};
use azcsi_types::node::{NodeName, VmRef};
use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;
use azcsi_types::sku::{Caching, DiskSku};

use super::Controller;
use super::attach::dangling::{self, Dangling, Holder};
use super::attach::decide::{AttachSpec, How};
use super::attach::error::AttachError;
use super::attach::owner;
use super::common::{Whereabouts, absent_volume, attachment_guards};
use super::error::ControllerError;
use super::facts::DiskFacts;
use super::notices::{Act, Place};
use super::ports::Claim;
use crate::model::publish_context::PublishContext;
use crate::model::volume_context::VolumeContext;

/// The RPC.
#[derive(Debug)]
pub struct Publish;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    disk: DiskUri,
    node: NodeName,
    access: Access,
    context: VolumeContext,
}

impl Handler for Publish {
    type Ctx = Controller;
    type Wire = v1::ControllerPublishVolumeRequest;
    type WireReply = v1::ControllerPublishVolumeResponse;
    type Request = Request;
    type Reply = PublishContext;
    type Error = ControllerError;
    const METHOD: Method = Method::ControllerPublishVolume;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let node = validate::required("node_id", wire.node_id)?;
        let access = validate::capability(wire.volume_capability)?;
        let context = validate::map("volume_context", wire.volume_context)?;
        let context = VolumeContext::decode(context)?;
        if let Some(shares) = context.shares {
            access.on_disk(shares)?;
        } else {
            // Several nodes are possible only if the volume itself says so.
            access.on_disk(MaxShares::ONE)?;
        }
        Ok(Request {
            disk: super::common::disk_uri(id)?,
            node: node_name(node)?,
            access,
            context,
        })
    }

    fn scope(request: &Request) -> Scope {
        Scope::Operation {
            guards: attachment_guards(&request.disk, request.node.as_str()),
            fingerprint: format!("{:?} {:?}", request.access, request.context),
        }
    }

    async fn run(
        ctx: Arc<Controller>,
        request: Request,
        op: Op,
    ) -> Result<PublishContext, ControllerError> {
        let place = Place {
            disk: &request.disk,
            node: Some(&request.node),
        };
        let work = Box::pin(publish(&ctx, &request, &op));
        let (facts, lun) = ctx.in_sight(Act::Attach, place, work).await?;
        Ok(context(&request, &facts, lun))
    }

    fn encode(reply: PublishContext) -> Self::WireReply {
        v1::ControllerPublishVolumeResponse {
            publish_context: reply.encode(),
        }
    }
}

pub(super) fn node_name(text: String) -> Result<NodeName, ControllerError> {
    text.parse()
        .map_err(|error: azcsi_types::node::NotANodeName| {
            ControllerError::Refused(error.to_string())
        })
}

async fn publish(
    ctx: &Controller,
    request: &Request,
    op: &Op,
) -> Result<(Arc<DiskFacts>, Lun), ControllerError> {
    let (facts, disk) = ctx.disk_facts(op, &request.disk).await?;
    request.access.on_disk(facts.shares)?;
    let vm = ctx.ports.nodes.machine(op, &request.node).await?;
    let vm = vm.ok_or_else(|| ControllerError::NoNode(request.node.clone()))?;
    let work = Work {
        ctx,
        op,
        request,
        facts: &facts,
    };
    let lun = Box::pin(work.attach(vm, disk)).await?;
    Ok((facts, lun))
}

fn context(request: &Request, facts: &DiskFacts, lun: Lun) -> PublishContext {
    let properties = if request.context.is_static() {
        facts.properties.clone()
    } else {
        Vec::new()
    };
    PublishContext {
        lun,
        disk: request.disk.clone(),
        unique_id: facts.unique_id.clone(),
        size: Some(facts.size.bytes()),
        properties,
    }
}

/// One publish under way.
struct Work<'a> {
    ctx: &'a Controller,
    op: &'a Op,
    request: &'a Request,
    facts: &'a DiskFacts,
}

impl Work<'_> {
    async fn attach(&self, mut vm: VmRef, disk: Option<Disk>) -> Result<Lun, ControllerError> {
        if let Some(disk) = disk {
            self.release_elsewhere(&vm, &disk).await?;
        }
        if let Some(delay) = self.request.context.initial_delay {
            // The volume's own wish, and its own wait: nothing of it is kept for others.
            tokio::time::sleep(delay).await;
        }
        let spec = self.spec().await;
        let mut first = true;
        loop {
            let error = match self.ctx.attach.attach(self.op, &vm, spec.clone()).await {
                Ok(lun) => return Ok(lun),
                Err(error) => error,
            };
            match error {
                AttachError::Owned { owner } if first => {
                    // What is remembered of the disk was wrong, or was not asked for.
                    let disk = self.ctx.need_disk(self.op, &self.request.disk).await?;
                    if disk.is_held_by(&vm) && owner.as_ref().is_none_or(|owner| *owner == vm) {
                        tracing::debug!(disk = %self.request.disk, "held by this machine already");
                    } else {
                        self.release_elsewhere(&vm, &disk).await?;
                    }
                }
                AttachError::Gone { .. } if first => {
                    // A machine of the same name may have taken its place.
                    let node = &self.request.node;
                    let again = self.ctx.ports.nodes.machine(self.op, node).await?;
                    match again {
                        Some(other) if other != vm => vm = other,
                        _ => return Err(ControllerError::NoNode(node.clone())),
                    }
                }
                error => return Err(self.failed(error).await),
            }
            first = false;
        }
    }

    async fn failed(&self, error: AttachError) -> ControllerError {
        match error {
            AttachError::Gone { .. } => ControllerError::NoNode(self.request.node.clone()),
            AttachError::DiskMissing => {
                self.ctx.facts.forget(&self.request.disk);
                match self.ctx.find_disk(self.op, &self.request.disk).await {
                    Ok(None) => absent_volume(&self.request.disk),
                    Ok(Some(_)) => self.attach_error(AttachError::Leaving),
                    Err(error) => error,
                }
            }
            AttachError::Owned { .. } if self.facts.shares.is_shared() => {
                ControllerError::NoRoom(format!(
                    "volume {} is attached to as many machines as its maxShares {} allows",
                    self.request.disk,
                    self.facts.shares.get()
                ))
            }
            error => self.attach_error(error),
        }
    }

    fn attach_error(&self, source: AttachError) -> ControllerError {
        ControllerError::Attach {
            disk: self.request.disk.clone(),
            node: self.request.node.to_string(),
            source: Box::new(source),
        }
    }

    async fn spec(&self) -> AttachSpec {
        let own = [self.request.disk.clone()];
        let avoid = if self.ctx.settings.collision_guard {
            self.ctx
                .ports
                .attachments
                .slots(&self.request.node, &own)
                .await
        } else {
            LunSet::EMPTY
        };
        AttachSpec {
            disk: self.request.disk.clone(),
            caching: self.caching(),
            write_accelerator: self.facts.write_accelerator
                || self.request.context.write_accelerator,
            avoid,
        }
    }

    fn caching(&self) -> Caching {
        let context = &self.request.context;
        let mut wish = context.caching.unwrap_or(Caching::ReadOnly);
        let migrated = self.ctx.settings.convert_read_write && context.has_kind;
        if migrated && wish == Caching::ReadWrite {
            wish = Caching::ReadOnly;
        }
        // A SKU that the suite does not know is attached without caching: that always works.
        self.facts.sku.map_or(Caching::None, |sku: DiskSku| {
            wish.on(sku, self.facts.size, self.facts.shares)
        })
    }

    /// Detaches the disk from machines where nobody wants it any more. A shared disk may stay.
    async fn release_elsewhere(&self, vm: &VmRef, disk: &Disk) -> Result<(), ControllerError> {
        if self.facts.shares.is_shared() || disk.is_held_by(vm) {
            return Ok(());
        }
        for holder in disk.holders() {
            match dangling::decide(self.holder(holder).await?) {
                Dangling::Release(other) => self.release(&other).await?,
                Dangling::Held(place) => {
                    return Err(ControllerError::Held {
                        disk: self.request.disk.clone(),
                        place,
                        node: self.request.node.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Who holds the disk and whether Kubernetes wants it there. What a machine that is none of this
    /// cluster's does with the disk cannot be told.
    async fn holder(&self, id: &ResourceId) -> Result<Holder, ControllerError> {
        let Ok(vm) = VmRef::try_from(id.clone()) else {
            return Ok(Holder {
                vm: None,
                node: None,
                claim: Claim::Unknown,
            });
        };
        let (node, claim) = match self.ctx.whereabouts(self.op, &vm).await? {
            Whereabouts::Node(node) => {
                let attachments = &self.ctx.ports.attachments;
                let claim = attachments.claim(&self.request.disk, &node).await;
                (Some(node), claim)
            }
            // Nothing can be in use on a machine that does not exist.
            Whereabouts::Gone => (None, Claim::None),
            Whereabouts::Foreign => (None, Claim::Unknown),
        };
        Ok(Holder {
            vm: Some(vm),
            node,
            claim,
        })
    }

    async fn release(&self, other: &VmRef) -> Result<(), ControllerError> {
        tracing::warn!(disk = %self.request.disk, machine = %other, "detaching a disk that nobody wants there");
        let place = Place {
            disk: &self.request.disk,
            node: None,
        };
        let why = format!("from machine {other}: no VolumeAttachment wants it there");
        self.ctx.tell_taken(place, "DanglingAttachment", &why);
        let engine = &self.ctx.attach;
        match engine
            .detach(self.op, other, &self.request.disk, How::Graceful)
            .await
        {
            Ok(()) => Ok(()),
            // Where no machine is, no disk is held; the attach that follows proves it.
            Err(AttachError::Gone { .. }) => Ok(()),
            Err(error) => Err(self.attach_error(error)),
        }
    }
}

/// The nodes that hold a disk, for listings.
pub(super) async fn published<'a>(
    ctx: &Controller,
    op: &Op,
    holders: impl IntoIterator<Item = &'a ResourceId>,
) -> Result<Vec<String>, ControllerError> {
    let machines = owner::machines(holders);
    let nodes = owner::nodes(&*ctx.ports.nodes, op, &machines).await?;
    Ok(nodes.iter().map(ToString::to_string).collect())
}
