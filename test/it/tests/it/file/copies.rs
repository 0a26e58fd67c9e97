//! Restore and clone: everything or a retry, never a part that counts as all.

use azcsi_cloud::storage::data_plane::{
    FileAttributes, FileRef, FilesCredential, FilesEndpoint, SharePath,
};
use azcsi_cloud::{Files, Share};
use azcsi_proto::csi::v1;
use azcsi_sim::faults::{Effect, Fault, Script};
use azcsi_types::account::AccountUri;
use azcsi_types::clock::Deadline;
use azcsi_types::op::Op;
use azcsi_types::share::ShareName;
use azcsi_types::share_handle::ShareHandle;
use tonic::Code;
use v1::volume_content_source::{SnapshotSource, Type, VolumeSource};

use super::world::{GIB, GROUP, SUBSCRIPTION, World, create_request};

const FILES: [(&str, &[u8]); 4] = [
    ("top.txt", b"top"),
    ("a/one.txt", b"one"),
    ("a/b/two.txt", b"two"),
    ("a/b/empty", b""),
];

pub(super) fn op() -> Op {
    Op::start("test", Deadline::NEVER)
}

pub(super) fn at(share: &ShareName, path: &str) -> FileRef {
    FileRef::live(share.clone(), path.parse::<SharePath>().unwrap())
}

impl World {
    /// The file service of a volume's account, and its share.
    pub(super) async fn files(&self, id: &str) -> (Files, ShareName) {
        let handle: ShareHandle = id.parse().unwrap();
        let name = handle.parts().account.clone().unwrap();
        let uri = AccountUri::new(SUBSCRIPTION, GROUP, &name).unwrap();
        let keys = self.azure.storage_keys().list(&op(), &uri).await.unwrap();
        let endpoint = FilesEndpoint::in_cloud(self.azure.environment(), &name);
        let credential = FilesCredential::SharedKey(keys[0].value.clone());
        let files = self.azure.files(endpoint, credential);
        (files, handle.parts().share.clone())
    }

    pub(crate) async fn fill(&self, id: &str) {
        let (files, share) = self.files(id).await;
        let none = FileAttributes::default();
        for path in ["a", "a/b", "a/c"] {
            files
                .create_directory(&op(), &at(&share, path), &none)
                .await
                .unwrap();
        }
        for (path, bytes) in FILES {
            let (at, size) = (at(&share, path), u64::try_from(bytes.len()).unwrap());
            files.create_file(&op(), &at, size, &none).await.unwrap();
            if size > 0 {
                files.put_range(&op(), &at, 0, bytes.into()).await.unwrap();
            }
        }
    }

    pub(crate) async fn assert_full(&self, id: &str) {
        let (files, share) = self.files(id).await;
        for (path, bytes) in FILES {
            let there = files.get_file(&op(), &at(&share, path)).await.unwrap();
            let size = u64::try_from(bytes.len()).unwrap();
            assert_eq!(there.size, size, "{path}");
            if size > 0 {
                let read = files
                    .get_range(&op(), &at(&share, path), 0..size)
                    .await
                    .unwrap();
                assert_eq!(read, bytes, "{path}");
            }
        }
        assert!(files.get_directory(&op(), &at(&share, "a/c")).await.is_ok());
    }

    async fn share_of(&self, id: &str) -> Share {
        let (files, share) = self.files(id).await;
        files.get_share(&op(), &share).await.unwrap()
    }
}

fn request(name: &str, gib: i64, source: Type, class: &[(&str, &str)]) -> v1::CreateVolumeRequest {
    v1::CreateVolumeRequest {
        volume_content_source: Some(v1::VolumeContentSource {
            r#type: Some(source),
        }),
        ..create_request(name, gib, class)
    }
}

fn volume(id: &str) -> Type {
    Type::Volume(VolumeSource {
        volume_id: id.to_owned(),
    })
}

fn snapshot(id: &str) -> Type {
    Type::Snapshot(SnapshotSource {
        snapshot_id: id.to_owned(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_restore_has_what_the_snapshot_had() {
    let world = World::new();
    let source = world.volume("pvc-1", 5, &[]).await;
    world.fill(&source.volume_id).await;
    let taken = world
        .snapshot("snapshot-1", &source.volume_id)
        .await
        .unwrap();
    let (files, share) = world.files(&source.volume_id).await;
    files
        .delete_file(&op(), &at(&share, "top.txt"))
        .await
        .unwrap();
    let wanted = request("pvc-2", 5, snapshot(&taken.snapshot_id), &[]);
    let restored = world.create(wanted.clone()).await.unwrap();
    assert_eq!(restored.content_source, wanted.volume_content_source);
    world.assert_full(&restored.volume_id).await;
    let share = world.share_of(&restored.volume_id).await;
    assert_eq!(share.meta("copyState"), Some("copied"));
    let (again, requests) = world.requests_of(world.restarted().create(wanted)).await;
    assert_eq!(again.unwrap(), restored);
    assert!(
        !requests.iter().any(|one| one.starts_with("PUT")),
        "{requests:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_clone_into_another_account_is_signed_for() {
    let world = World::new();
    let source = world.volume("pvc-1", 5, &[]).await;
    world.fill(&source.volume_id).await;
    let class = [("skuName", "Premium_LRS")];
    let wanted = request("pvc-2", 5, volume(&source.volume_id), &class);
    let clone = world.create(wanted).await.unwrap();
    assert_eq!(clone.capacity_bytes, 100 * GIB);
    assert_eq!(world.accounts().len(), 2);
    world.assert_full(&clone.volume_id).await;
    // The key of a copy is kept like that of any other volume.
    assert_eq!(world.cluster.secrets().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_is_cut_off_is_taken_up_by_another_process_sn_08() {
    let world = World::new();
    let source = world.volume("pvc-1", 5, &[]).await;
    world.fill(&source.volume_id).await;
    let fault = Fault {
        method: Some("PUT".to_owned()),
        kind: None,
        name: Some("*/two.txt".to_owned()),
        skip: 0,
        times: None,
        effect: Effect::Status {
            status: 403,
            code: "AuthorizationFailure".to_owned(),
            message: "no".to_owned(),
        },
    };
    world.sim.inject(Script {
        faults: vec![fault],
    });
    let wanted = request("pvc-2", 5, volume(&source.volume_id), &[]);
    let status = world.create(wanted.clone()).await.unwrap_err();
    let retried = [Code::Unavailable, Code::Aborted, Code::DeadlineExceeded];
    assert!(retried.contains(&status.code()), "{status:?}");
    // Half a copy is no volume, not even to a retry that comes now.
    let again = world.restarted().create(wanted.clone()).await;
    assert!(again.is_err());
    world.sim.clear_faults();
    let clone = world.restarted().create(wanted).await.unwrap();
    world.assert_full(&clone.volume_id).await;
    assert_eq!(world.shares().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_copied_is_refused_before_a_share_is_made_sn_05() {
    let world = World::new();
    let source = world.volume("pvc-1", 10, &[]).await;
    let taken = world
        .snapshot("snapshot-1", &source.volume_id)
        .await
        .unwrap();
    let gone = taken.snapshot_id.replace("Z#", "1Z#");
    for (gib, from, class, code) in [
        (9, volume(&source.volume_id), &[][..], Code::OutOfRange),
        (9, snapshot(&taken.snapshot_id), &[], Code::OutOfRange),
        (10, volume("nothing"), &[], Code::NotFound),
        (10, volume("rg#acct1#gone###ns"), &[], Code::NotFound),
        (10, snapshot(&gone), &[], Code::NotFound),
        (
            10,
            volume(&source.volume_id),
            &[("protocol", "nfs")],
            Code::InvalidArgument,
        ),
    ] {
        let status = world
            .create(request("pvc-2", gib, from, class))
            .await
            .unwrap_err();
        assert_eq!(status.code(), code, "{status:?}");
        assert_eq!(world.shares().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn another_source_is_another_volume() {
    let world = World::new();
    let one = world.volume("pvc-1", 5, &[]).await;
    let two = world.volume("pvc-2", 5, &[]).await;
    world
        .create(request("pvc-3", 5, volume(&one.volume_id), &[]))
        .await
        .unwrap();
    for wanted in [
        request("pvc-3", 5, volume(&two.volume_id), &[]),
        create_request("pvc-3", 5, &[]),
    ] {
        let status = world.create(wanted).await.unwrap_err();
        assert_eq!(status.code(), Code::AlreadyExists, "{status:?}");
    }
}
