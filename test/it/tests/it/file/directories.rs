//! Volumes that are directories in a common share: each claim has its own, and a delete takes that one
//! and nothing else.

use azcsi_cloud::Metadata;
use azcsi_cloud::storage::data_plane::FileAttributes;
use azcsi_file::controller::ports::Use;
use azcsi_proto::csi::v1;
use azcsi_sim::faults::{Effect, Fault, Script};
use tonic::Code;
use v1::controller_server::Controller as _;
use v1::volume_content_source::{Type, VolumeSource};

use super::copies::{at, op};
use super::world::{GIB, World, create_request};

const CLASS: [(&str, &str); 2] = [("shareName", "common"), ("folderPerVolume", "true")];

fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    CLASS.iter().chain(more).copied().collect()
}

impl World {
    /// Files in the share of a volume; their directories are there.
    async fn put(&self, id: &str, paths: &[&str]) {
        let (files, share) = self.files(id).await;
        let none = FileAttributes::default();
        for path in paths {
            let place = at(&share, path);
            files.create_file(&op(), &place, 4, &none).await.unwrap();
            let bytes = (&b"data"[..]).into();
            files.put_range(&op(), &place, 0, bytes).await.unwrap();
        }
    }

    async fn make(&self, id: &str, path: &str) {
        let (files, share) = self.files(id).await;
        let none = FileAttributes::default();
        let (op, place) = (op(), at(&share, path));
        files.create_directory(&op, &place, &none).await.unwrap();
    }

    /// A small tree in the directory of a volume.
    pub(crate) async fn populate(&self, id: &str, directory: &str) {
        if !self.has_directory(id, directory).await {
            self.make(id, directory).await;
        }
        let inner = ["a", "a/b"].map(|path| format!("{directory}/{path}"));
        for path in &inner {
            self.make(id, path).await;
        }
        let paths = ["x", "y", "a/x", "a/b/x"].map(|path| format!("{directory}/{path}"));
        let paths = paths.each_ref().map(String::as_str);
        self.put(id, &paths).await;
    }

    pub(crate) async fn has_file(&self, id: &str, path: &str) -> bool {
        let (files, share) = self.files(id).await;
        files.get_file(&op(), &at(&share, path)).await.is_ok()
    }

    pub(crate) async fn has_directory(&self, id: &str, path: &str) -> bool {
        let (files, share) = self.files(id).await;
        files.get_directory(&op(), &at(&share, path)).await.is_ok()
    }

    async fn refused(&self, name: &str, class: &[(&str, &str)]) -> tonic::Status {
        let request = create_request(name, 5, class);
        self.create(request).await.unwrap_err()
    }

    async fn size_of(&self, id: &str) -> i64 {
        let request = v1::ControllerGetVolumeRequest {
            volume_id: id.to_owned(),
        };
        let request = tonic::Request::new(request);
        let reply = self.controller.controller_get_volume(request).await;
        reply.unwrap().into_inner().volume.unwrap().capacity_bytes
    }
}

#[tokio::test(start_paused = true)]
async fn each_claim_has_its_own_directory_and_only_that_goes_with_it() {
    for more in [
        &[][..],
        &[("useDataPlaneAPI", "true")],
        &[("useDataPlaneAPI", "oauth")],
    ] {
        let world = World::new();
        let class = with(more);
        let one = world.volume("pvc-1", 5, &class).await;
        let two = world.volume("pvc-10", 5, &class).await;
        assert_eq!(world.volume("pvc-1", 5, &class).await, one);
        assert_eq!(world.restarted().volume("pvc-1", 5, &class).await, one);
        assert!(one.volume_id.contains("#common/pvc-1##pvc-1"), "{one:?}");
        assert_eq!(one.volume_context["folderName"], "pvc-1");
        assert_eq!(world.shares().len(), 1);
        world.populate(&one.volume_id, "pvc-1").await;
        world.populate(&two.volume_id, "pvc-10").await;
        world.put(&one.volume_id, &["top"]).await;
        world.delete(&one.volume_id).await.unwrap();
        assert!(!world.has_directory(&two.volume_id, "pvc-1").await);
        for path in ["top", "pvc-10/x", "pvc-10/a/x", "pvc-10/a/b/x"] {
            assert!(world.has_file(&two.volume_id, path).await, "{path}");
        }
        world.restarted().delete(&one.volume_id).await.unwrap();
        world.delete(&two.volume_id).await.unwrap();
        assert_eq!(world.shares().len(), 1, "the share is nobody's own");
        assert!(world.has_file(&two.volume_id, "top").await);
    }
}

#[tokio::test(start_paused = true)]
async fn no_id_takes_a_directory_that_is_not_its_own_pr_17() {
    let world = World::new();
    let volume = world.volume("pvc-1", 5, &CLASS).await;
    let id = &volume.volume_id;
    world.put(id, &["pvc-1/x"]).await;
    world.make(id, "plain").await;
    world.put(id, &["plain/x"]).await;
    let account = world.accounts().remove(0);
    let rg = super::world::GROUP;
    for other in [
        // Without a name, or with another's.
        format!("{rg}#{account}#common/pvc-1"),
        format!("{rg}#{account}#common/pvc-1###default"),
        format!("{rg}#{account}#common/pvc-1##pvc-2#default"),
        format!("{rg}#{account}#common/pvc-1##PVC-1#default"),
        // A directory of which nobody says whose it is.
        format!("{rg}#{account}#common/plain##plain#default"),
        format!("{rg}#{account}#common/plain##pvc-1#default"),
        // The whole share, by its name and by that of the volume.
        format!("{rg}#{account}#common##pvc-1#default"),
        format!("{rg}#{account}#common###default"),
        // The root, a way up, a part of the name.
        format!("{rg}#{account}#common/##pvc-1#default"),
        format!("{rg}#{account}#common/.##pvc-1#default"),
        format!("{rg}#{account}#common/pvc-1/..##pvc-1#default"),
        format!("{rg}#{account}#common/pvc##pvc-1#default"),
    ] {
        world.delete(&other).await.unwrap();
        assert!(world.has_file(id, "pvc-1/x").await, "{other}");
        assert!(world.has_file(id, "plain/x").await, "{other}");
        assert_eq!(world.shares().len(), 1, "{other}");
    }
    world.cluster.say_others(Use::Shared);
    world.delete(id).await.unwrap();
    assert!(world.has_file(id, "pvc-1/x").await);
    world.cluster.say_others(Use::Unread);
    let status = world.delete(id).await.unwrap_err();
    assert_eq!(status.code(), Code::Aborted, "{status:?}");
    assert!(world.has_file(id, "pvc-1/x").await);
    world.cluster.say_others(Use::Unknown);
    world.delete(id).await.unwrap();
    assert!(!world.has_directory(id, "pvc-1").await);
}

#[tokio::test(start_paused = true)]
async fn a_directory_stays_where_the_class_says_so() {
    let world = World::new();
    let volume = world
        .volume("pvc-1", 5, &with(&[("onDelete", "Retain")]))
        .await;
    world.put(&volume.volume_id, &["pvc-1/x"]).await;
    world.delete(&volume.volume_id).await.unwrap();
    assert!(world.has_file(&volume.volume_id, "pvc-1/x").await);
    let status = world.refused("pvc-1", &CLASS).await;
    assert_eq!(status.code(), Code::AlreadyExists, "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn a_directory_of_somebody_else_is_not_taken_over() {
    let world = World::new();
    let volume = world.volume("pvc-1", 5, &CLASS).await;
    let id = &volume.volume_id;
    world.make(id, "pvc-2").await;
    world.put(id, &["pvc-2/x"]).await;
    let status = world.refused("pvc-2", &CLASS).await;
    assert_eq!(status.code(), Code::AlreadyExists, "{status:?}");
    let below = with(&[("folderName", "pvc-1/deeper")]);
    let status = world.refused("pvc-3", &below).await;
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    assert!(!world.has_directory(id, "pvc-1/deeper").await);
    let parts = with(&[("folderName", "a#b")]);
    let status = world.refused("pvc-3", &parts).await;
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    let unknown = with(&[("folderName", "${pvc.metadata.name}")]);
    let status = world.refused("pvc-3", &unknown).await;
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    assert!(world.has_file(id, "pvc-2/x").await);
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_was_moved_into_another_stops_its_delete() {
    let world = World::new();
    let volume = world.volume("pvc-1", 5, &CLASS).await;
    let id = &volume.volume_id;
    let (files, share) = world.files(id).await;
    let record = Metadata::from([
        ("createdBy".to_owned(), "file.csi.azure.com".to_owned()),
        ("createdFor".to_owned(), "pvc-2".to_owned()),
    ]);
    let (plain, inner) = (FileAttributes::default(), at(&share, "pvc-1/moved"));
    let op = op();
    let made = files.create_directory_with(&op, &inner, (&plain, &record));
    made.await.unwrap();
    world.put(id, &["pvc-1/moved/x"]).await;
    let status = world.delete(id).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    assert!(status.message().contains("pvc-2"), "{status:?}");
    assert!(world.has_file(id, "pvc-1/moved/x").await);
}

#[tokio::test(start_paused = true)]
async fn a_delete_that_is_cut_off_goes_on_with_the_next_call() {
    let world = World::new();
    let volume = world.volume("pvc-1", 5, &CLASS).await;
    let id = &volume.volume_id;
    world.make(id, "pvc-1/a").await;
    world.put(id, &["pvc-1/one", "pvc-1/a/two"]).await;
    for (name, effect) in [
        (
            "*/two",
            Effect::Status {
                status: 409,
                code: "SharingViolation".to_owned(),
                message: "no".to_owned(),
            },
        ),
        (
            "*/pvc-1",
            Effect::Status {
                status: 403,
                code: "AuthorizationFailure".to_owned(),
                message: "no".to_owned(),
            },
        ),
    ] {
        world.sim.inject(Script {
            faults: vec![Fault {
                method: Some("DELETE".to_owned()),
                kind: None,
                name: Some(name.to_owned()),
                skip: 0,
                times: None,
                effect,
            }],
        });
        let status = world.delete(id).await.unwrap_err();
        assert_ne!(status.code(), Code::Internal, "{status:?}");
        assert!(world.has_directory(id, "pvc-1").await, "{name}");
        world.sim.clear_faults();
        // What is left is never taken for a volume.
        let status = world.refused("pvc-1", &CLASS).await;
        assert_eq!(status.code(), Code::Aborted, "{status:?}");
    }
    world.restarted().delete(id).await.unwrap();
    assert!(!world.has_directory(id, "pvc-1").await);
}

#[tokio::test(start_paused = true)]
async fn a_volume_has_its_own_size_and_its_share_that_of_the_largest_pr_19() {
    let world = World::new();
    let one = world.volume("pvc-1", 5, &CLASS).await;
    let two = world.volume("pvc-2", 20, &CLASS).await;
    let small = world.volume("pvc-3", 3, &CLASS).await;
    assert_eq!(world.shares(), [("common".to_owned(), 20)]);
    for (volume, gib) in [(&one, 5), (&two, 20), (&small, 3)] {
        assert_eq!(volume.capacity_bytes, gib * GIB);
        assert_eq!(world.size_of(&volume.volume_id).await, gib * GIB);
    }
    let status = world.create(create_request("pvc-1", 6, &CLASS)).await;
    assert_eq!(status.unwrap_err().code(), Code::AlreadyExists);
    let expand = async |id: &str, gib: i64| {
        let request = v1::ControllerExpandVolumeRequest {
            volume_id: id.to_owned(),
            capacity_range: Some(v1::CapacityRange {
                required_bytes: gib * GIB,
                limit_bytes: 0,
            }),
            ..Default::default()
        };
        let request = tonic::Request::new(request);
        let reply = world.controller.controller_expand_volume(request).await;
        reply.unwrap().into_inner().capacity_bytes
    };
    assert_eq!(expand(&one.volume_id, 10).await, 10 * GIB);
    assert_eq!(world.shares(), [("common".to_owned(), 20)]);
    assert_eq!(expand(&one.volume_id, 30).await, 30 * GIB);
    assert_eq!(world.shares(), [("common".to_owned(), 30)]);
    assert_eq!(world.size_of(&one.volume_id).await, 30 * GIB);
    // What a delete is decided by is still there.
    world.delete(&one.volume_id).await.unwrap();
    assert!(!world.has_directory(&two.volume_id, "pvc-1").await);
}

#[tokio::test(start_paused = true)]
async fn what_would_touch_the_whole_share_is_refused() {
    let world = World::new();
    let volume = world.volume("pvc-1", 5, &CLASS).await;
    let status = world.snapshot("snapshot-1", &volume.volume_id).await;
    assert_eq!(status.unwrap_err().code(), Code::InvalidArgument);
    let modify = v1::ControllerModifyVolumeRequest {
        volume_id: volume.volume_id.clone(),
        mutable_parameters: [("provisionedIOPS".to_owned(), "4000".to_owned())].into(),
        ..Default::default()
    };
    let modify = tonic::Request::new(modify);
    let status = world.controller.controller_modify_volume(modify).await;
    assert_eq!(status.unwrap_err().code(), Code::InvalidArgument);
    let mut copy = create_request("pvc-2", 5, &CLASS);
    copy.volume_content_source = Some(v1::VolumeContentSource {
        r#type: Some(Type::Volume(VolumeSource {
            volume_id: volume.volume_id.clone(),
        })),
    });
    let status = world.create(copy).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    let status = world.refused("pvc-2", &[("folderPerVolume", "true")]).await;
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    let status = world.refused("pvc-2", &[("onDelete", "retain")]).await;
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn a_share_that_goes_with_its_volume_takes_no_directories_of_others() {
    let world = World::new();
    let whole = world.volume("pvc-1", 5, &[("shareName", "common")]).await;
    let status = world.refused("pvc-2", &CLASS).await;
    assert_eq!(status.code(), Code::AlreadyExists, "{status:?}");
    assert!(!world.has_directory(&whole.volume_id, "pvc-2").await);
    world.delete(&whole.volume_id).await.unwrap();
    let inner = world.volume("pvc-2", 5, &CLASS).await;
    // The other way round, the volume of the whole share is a guest in it.
    let guest = world.volume("pvc-3", 5, &[("shareName", "common")]).await;
    world.delete(&guest.volume_id).await.unwrap();
    assert!(world.has_directory(&inner.volume_id, "pvc-2").await);
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_made_anew_after_its_directory_is_gone() {
    let world = World::new();
    let volume = world.volume("pvc-1", 5, &CLASS).await;
    let id = &volume.volume_id;
    world.populate(id, "pvc-1").await;
    world.delete(id).await.unwrap();
    assert_eq!(world.volume("pvc-1", 5, &CLASS).await, volume);
    assert!(world.has_directory(id, "pvc-1").await);
    assert!(!world.has_file(id, "pvc-1/x").await);
}

#[tokio::test(start_paused = true)]
async fn a_tree_that_takes_longer_than_a_call_is_deleted_by_the_calls_after_it() {
    let world = World::throttled();
    let volume = world.volume("pvc-1", 5, &CLASS).await;
    let beside = world.volume("pvc-2", 5, &CLASS).await;
    let id = &volume.volume_id;
    for nth in 0..40 {
        world.populate(id, &format!("pvc-1/{nth}")).await;
    }
    world.populate(&beside.volume_id, "pvc-2").await;
    let mut refusals = 0;
    loop {
        let mut request = tonic::Request::new(v1::DeleteVolumeRequest {
            volume_id: id.clone(),
            ..Default::default()
        });
        request.set_timeout(std::time::Duration::from_secs(1));
        let Err(status) = world.controller.delete_volume(request).await else {
            break;
        };
        let again = [Code::Aborted, Code::DeadlineExceeded, Code::Unavailable];
        assert!(again.contains(&status.code()), "{status:?}");
        refusals += 1;
        assert!(refusals < 1000, "it gets nowhere: {status:?}");
    }
    assert!(refusals > 0, "the tree is too small to be late");
    assert!(!world.has_directory(&beside.volume_id, "pvc-1").await);
    assert!(world.has_file(&beside.volume_id, "pvc-2/a/b/x").await);
}
