//! The operations of the disk driver.

use azcsi_proto::csi::v1;
use azcsi_sim::{Profile, Sim};
use tonic::{Code, Request, Status};
use v1::controller_server::Controller as _;
use v1::volume_content_source::{SnapshotSource, Type, VolumeSource};

use super::engine::{Driver, Operation};
use crate::line::Line;
use crate::world::{GIB, Unusual, World, create_request};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rpc {
    Create,
    Restore,
    Clone,
    Delete,
    Publish(&'static str),
    Unpublish(&'static str),
    Expand,
    Modify,
    Snapshot,
    SnapshotElsewhere,
    DeleteSnapshot,
}

const fn makes(rpc: Rpc, own: &'static [Code]) -> Operation<Rpc> {
    Operation {
        rpc,
        own,
        takes: false,
    }
}

const fn takes(rpc: Rpc, own: &'static [Code]) -> Operation<Rpc> {
    Operation {
        rpc,
        own,
        takes: true,
    }
}

const CREATE: &[Code] = &[Code::NotFound, Code::AlreadyExists, Code::OutOfRange];
const PUBLISH: &[Code] = &[
    Code::NotFound,
    Code::AlreadyExists,
    Code::FailedPrecondition,
];
const EXPAND: &[Code] = &[Code::NotFound, Code::FailedPrecondition, Code::OutOfRange];

/// The disk driver over an Azure that takes its time.
pub(super) struct Disk(World);

impl Disk {
    async fn snapshot(&self, source: &str, class: &[(&str, &str)]) -> Result<String, Status> {
        let pairs = class.iter();
        let request = v1::CreateSnapshotRequest {
            name: "snap".to_owned(),
            source_volume_id: source.to_owned(),
            parameters: pairs
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            ..Default::default()
        };
        let request = Request::new(request);
        let reply = self.0.controller.create_snapshot(request).await?;
        Ok(reply.into_inner().snapshot.unwrap().snapshot_id)
    }

    async fn create(&self, from: Option<Type>) -> Result<String, Status> {
        let request = v1::CreateVolumeRequest {
            volume_content_source: from.map(|from| v1::VolumeContentSource { r#type: Some(from) }),
            ..create_request("new", 4)
        };
        let volume = self.0.create(request).await?;
        Ok(format!("{} {}", volume.volume_id, volume.capacity_bytes))
    }

    async fn change(&self, rpc: Rpc, id: &str) -> Result<String, Status> {
        let controller = &self.0.controller;
        if rpc == Rpc::Expand {
            let request = v1::ControllerExpandVolumeRequest {
                volume_id: id.to_owned(),
                capacity_range: Some(v1::CapacityRange {
                    required_bytes: 8 * GIB,
                    limit_bytes: 0,
                }),
                ..Default::default()
            };
            let request = Request::new(request);
            let grown = controller.controller_expand_volume(request).await?;
            return Ok(grown.into_inner().capacity_bytes.to_string());
        }
        let request = v1::ControllerModifyVolumeRequest {
            volume_id: id.to_owned(),
            mutable_parameters: [("skuName".to_owned(), "Premium_LRS".to_owned())].into(),
            ..Default::default()
        };
        let request = Request::new(request);
        controller.controller_modify_volume(request).await?;
        Ok(String::new())
    }

    async fn publish(&self, id: &str, node: &str) -> Result<String, Status> {
        self.0.kubernetes.claim(id, node);
        let volume = v1::Volume {
            volume_id: id.to_owned(),
            ..Default::default()
        };
        let lun = self.0.publish(&volume, node).await?;
        Ok(format!("LUN {}", lun.get()))
    }
}

impl Driver for Disk {
    type Rpc = Rpc;

    const OPERATIONS: &'static [Operation<Rpc>] = &[
        makes(Rpc::Create, CREATE),
        makes(Rpc::Restore, CREATE),
        makes(Rpc::Clone, CREATE),
        takes(Rpc::Delete, &[Code::FailedPrecondition]),
        makes(Rpc::Publish("vm1"), PUBLISH),
        makes(Rpc::Publish("uni000000"), PUBLISH),
        takes(Rpc::Unpublish("vm1"), &[Code::NotFound]),
        takes(Rpc::Unpublish("uni000000"), &[Code::NotFound]),
        makes(Rpc::Expand, EXPAND),
        makes(Rpc::Modify, &[Code::NotFound]),
        makes(Rpc::Snapshot, &[Code::AlreadyExists, Code::NotFound]),
        makes(
            Rpc::SnapshotElsewhere,
            &[Code::AlreadyExists, Code::NotFound],
        ),
        takes(Rpc::DeleteSnapshot, &[Code::FailedPrecondition]),
    ];

    async fn ready(rpc: Rpc) -> (Self, String) {
        let world = World::with(Unusual {
            profile: Profile::Azure,
            ..Unusual::default()
        });
        let volume = world.volume("old", 4).await;
        let disk = Self(world);
        let mut subject = volume.volume_id;
        match rpc {
            Rpc::Unpublish(node) => {
                disk.publish(&subject, node).await.unwrap();
                disk.0.kubernetes.unclaim(&subject, node);
            }
            Rpc::Restore | Rpc::DeleteSnapshot => {
                subject = disk.snapshot(&subject, &[]).await.unwrap();
            }
            _ => {}
        }
        (disk, subject)
    }

    fn restarted(&self) -> Self {
        Self(self.0.restarted())
    }

    async fn call(&self, rpc: Rpc, subject: &str) -> Result<String, Status> {
        let done = |()| String::new();
        let id = || subject.to_owned();
        match rpc {
            Rpc::Create => self.create(None).await,
            Rpc::Restore => {
                let from = SnapshotSource { snapshot_id: id() };
                self.create(Some(Type::Snapshot(from))).await
            }
            Rpc::Clone => {
                let from = VolumeSource { volume_id: id() };
                self.create(Some(Type::Volume(from))).await
            }
            Rpc::Delete => self.0.delete(subject).await.map(done),
            Rpc::Publish(node) => self.publish(subject, node).await,
            Rpc::Unpublish(node) => self.0.unpublish(subject, node).await.map(done),
            Rpc::Expand | Rpc::Modify => self.change(rpc, subject).await,
            Rpc::Snapshot => self.snapshot(subject, &[]).await,
            Rpc::SnapshotElsewhere => self.snapshot(subject, &[("location", "westus2")]).await,
            Rpc::DeleteSnapshot => {
                let request = v1::DeleteSnapshotRequest {
                    snapshot_id: id(),
                    ..Default::default()
                };
                let request = Request::new(request);
                let reply = self.0.controller.delete_snapshot(request).await;
                reply.map(|_| String::new())
            }
        }
    }

    fn sim(&self) -> &Sim {
        &self.0.sim
    }

    fn line(&self) -> &Line {
        &self.0.line
    }

    fn elsewhere(&self) -> Vec<String> {
        let marked = self.0.kubernetes.marked().into_iter();
        marked.map(|disk| format!("mark of {disk}")).collect()
    }

    async fn whole(&self, _: Rpc) -> Result<(), String> {
        Ok(())
    }
}
