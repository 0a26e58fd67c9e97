//! The operations of the file driver.

use std::panic::AssertUnwindSafe;

use azcsi_proto::csi::v1;
use azcsi_sim::{Profile, Sim};
use futures_util::FutureExt;
use tonic::{Code, Request, Status};
use v1::controller_server::Controller as _;
use v1::volume_content_source::{SnapshotSource, Type, VolumeSource};

use super::engine::{Driver, Operation};
use crate::file::world::{GIB, World, create_request};
use crate::line::Line;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rpc {
    /// Nothing is there, not even an account.
    CreateFirst,
    Create,
    Restore,
    Clone,
    Delete,
    Expand,
    Modify,
    Snapshot,
    DeleteSnapshot,
    /// The volume is a directory of a share that has another one.
    CreateDirectory,
    DeleteDirectory,
    ExpandDirectory,
}

impl Rpc {
    const fn is_of_directory(self) -> bool {
        matches!(
            self,
            Self::CreateDirectory | Self::DeleteDirectory | Self::ExpandDirectory
        )
    }
}

const DIRECTORIES: &[(&str, &str)] = &[
    ("shareName", "common"),
    ("folderName", "claims"),
    ("folderPerVolume", "true"),
];

const fn makes(rpc: Rpc, own: &'static [Code]) -> Operation<Rpc> {
    Operation {
        rpc,
        own,
        takes: false,
    }
}

const fn takes(rpc: Rpc) -> Operation<Rpc> {
    Operation {
        rpc,
        own: &[Code::FailedPrecondition],
        takes: true,
    }
}

const CREATE: &[Code] = &[Code::NotFound, Code::AlreadyExists, Code::OutOfRange];
const EXPAND: &[Code] = &[Code::NotFound, Code::FailedPrecondition, Code::OutOfRange];

/// The file driver over an Azure that takes its time.
pub(super) struct File(World);

impl File {
    /// Without the account's name, which is drawn.
    fn plain(&self, text: &str) -> String {
        let accounts = self.0.accounts();
        let plain = |text: String, account: &String| text.replace(account.as_str(), "ACCOUNT");
        accounts.iter().fold(text.to_owned(), plain)
    }

    async fn create(&self, from: Option<Type>, class: &[(&str, &str)]) -> Result<String, Status> {
        let request = v1::CreateVolumeRequest {
            volume_content_source: from.map(|from| v1::VolumeContentSource { r#type: Some(from) }),
            ..create_request("new", 5, class)
        };
        let volume = self.0.create(request).await?;
        let answer = format!("{} {}", volume.volume_id, volume.capacity_bytes);
        Ok(self.plain(&answer))
    }

    async fn change(&self, rpc: Rpc, id: &str) -> Result<String, Status> {
        let controller = &self.0.controller;
        if rpc != Rpc::Modify {
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
            mutable_parameters: [("provisionedIOPS".to_owned(), "5000".to_owned())].into(),
            ..Default::default()
        };
        let request = Request::new(request);
        controller.controller_modify_volume(request).await?;
        Ok(String::new())
    }
}

impl Driver for File {
    type Rpc = Rpc;

    const OPERATIONS: &'static [Operation<Rpc>] = &[
        makes(Rpc::CreateFirst, CREATE),
        makes(Rpc::Create, CREATE),
        makes(Rpc::Restore, CREATE),
        makes(Rpc::Clone, CREATE),
        takes(Rpc::Delete),
        makes(Rpc::Expand, EXPAND),
        makes(Rpc::Modify, &[Code::NotFound]),
        makes(Rpc::Snapshot, &[Code::AlreadyExists, Code::NotFound]),
        takes(Rpc::DeleteSnapshot),
        makes(Rpc::CreateDirectory, CREATE),
        takes(Rpc::DeleteDirectory),
        makes(Rpc::ExpandDirectory, EXPAND),
    ];

    async fn ready(rpc: Rpc) -> (Self, String) {
        let file = Self(World::with(Profile::Azure));
        if rpc == Rpc::CreateFirst {
            return (file, String::new());
        }
        let (gib, class): (_, &[_]) = match rpc {
            Rpc::Modify => (100, &[("skuName", "PremiumV2_LRS")]),
            rpc if rpc.is_of_directory() => (5, DIRECTORIES),
            _ => (5, &[]),
        };
        let mut subject = file.0.volume("old", gib, class).await.volume_id;
        if matches!(rpc, Rpc::Restore | Rpc::Clone) {
            file.0.fill(&subject).await;
        }
        if rpc.is_of_directory() {
            file.0.populate(&subject, "claims/old").await;
            let other = file.0.volume("other", 5, DIRECTORIES).await.volume_id;
            file.0.populate(&other, "claims/other").await;
        }
        if matches!(rpc, Rpc::Restore | Rpc::DeleteSnapshot) {
            let taken = file.0.snapshot("snap", &subject).await.unwrap();
            subject = taken.snapshot_id;
        }
        (file, subject)
    }

    fn restarted(&self) -> Self {
        Self(self.0.restarted())
    }

    async fn call(&self, rpc: Rpc, subject: &str) -> Result<String, Status> {
        let id = || subject.to_owned();
        match rpc {
            Rpc::CreateFirst | Rpc::Create => self.create(None, &[]).await,
            Rpc::CreateDirectory => self.create(None, DIRECTORIES).await,
            Rpc::Restore => {
                let from = SnapshotSource { snapshot_id: id() };
                self.create(Some(Type::Snapshot(from)), &[]).await
            }
            Rpc::Clone => {
                let from = VolumeSource { volume_id: id() };
                self.create(Some(Type::Volume(from)), &[]).await
            }
            Rpc::Delete | Rpc::DeleteDirectory => {
                self.0.delete(subject).await.map(|()| String::new())
            }
            Rpc::Expand | Rpc::ExpandDirectory | Rpc::Modify => self.change(rpc, subject).await,
            // Its id says when it was taken.
            Rpc::Snapshot => {
                let taken = self.0.snapshot("snap", subject).await?;
                Ok(self.plain(&taken.source_volume_id))
            }
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
        let secrets = self.0.cluster.secrets().into_iter();
        secrets
            .map(|(at, _)| format!("Secret {}", self.plain(&at)))
            .collect()
    }

    async fn whole(&self, rpc: Rpc) -> Result<(), String> {
        if matches!(rpc, Rpc::Restore | Rpc::Clone) {
            let account = self.0.accounts().remove(0);
            let id = format!("rg#{account}#new###default");
            let full = AssertUnwindSafe(self.0.assert_full(&id)).catch_unwind();
            return full
                .await
                .map_err(|_| "its files are not all there".to_owned());
        }
        if rpc.is_of_directory() {
            let account = self.0.accounts().remove(0);
            let id = format!("rg#{account}#common");
            let made = self.0.has_directory(&id, "claims/new").await;
            if made != (rpc == Rpc::CreateDirectory) {
                return Err(format!("directory claims/new is there: {made}"));
            }
            for (path, there) in [
                ("claims/old/a/b/x", rpc != Rpc::DeleteDirectory),
                ("claims/other/x", true),
                ("claims/other/a/b/x", true),
            ] {
                if self.0.has_file(&id, path).await != there {
                    return Err(format!("{path} should be there: {there}"));
                }
            }
        }
        Ok(())
    }
}
