//! The life of a volume, and requests that are wrong.

use std::fs;

use azcsi_proto::csi::v1;
use nix::libc;
use tonic::{Code, Request};
use v1::node_server::Node as _;
use v1::volume_capability::access_mode::Mode;

use super::rig::{Rig, code, nfs, smb};

#[tokio::test]
async fn a_volume_lives_over_smb_and_nfs() {
    for volume in [smb(), nfs()] {
        let rig = Rig::new();
        for _ in 0..3 {
            rig.stage(&volume).await.unwrap();
            rig.publish(&volume, "one").await.unwrap();
            rig.publish(&volume, "two").await.unwrap();
        }
        assert_eq!(
            rig.shares.mounts().len(),
            1,
            "mounted once, whatever is repeated"
        );
        fs::write(rig.path("one/file"), "x").unwrap();
        assert_eq!(fs::read(rig.path("two/file")).unwrap(), b"x");
        for target in ["one", "two", "one"] {
            rig.unpublish(&volume, target).await.unwrap();
        }
        rig.unstage(&volume).await.unwrap();
        rig.unstage(&volume).await.unwrap();
        for path in ["one", "two", "staging"] {
            assert!(!rig.path(path).exists(), "{path}");
        }
        assert_eq!(fs::read_dir(rig.path("state")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_mounted_volume_asks_nobody_au_05() {
    let rig = Rig::new();
    *rig.azure.key.lock().unwrap() = Some("a2V5".to_owned());
    let mut volume = smb();
    volume.secrets.clear();
    rig.stage(&volume).await.unwrap();
    rig.publish(&volume, "one").await.unwrap();
    let asked = rig.azure.asked();
    assert_eq!(
        asked,
        ["secret ns/azure-storage-account-acct1-secret", "key acct1"]
    );
    for _ in 0..5 {
        rig.stage(&volume).await.unwrap();
        rig.publish(&volume, "one").await.unwrap();
    }
    assert_eq!(rig.azure.asked(), asked);
}

#[tokio::test]
async fn a_restart_forgets_nothing_that_is_needed() {
    let mut rig = Rig::new();
    let volume = smb();
    rig.stage(&volume).await.unwrap();
    rig.restart();
    rig.stage(&volume).await.unwrap();
    rig.publish(&volume, "one").await.unwrap();
    rig.restart();
    rig.unpublish(&volume, "one").await.unwrap();
    rig.unstage(&volume).await.unwrap();
    assert_eq!(rig.shares.mounts().len(), 1);
}

#[tokio::test]
async fn read_only_is_kept_at_stage_and_at_publish_smb_16() {
    let rig = Rig::new();
    let mut volume = smb();
    volume.read_only = true;
    rig.stage(&volume).await.unwrap();
    rig.publish(&volume, "one").await.unwrap();
    assert_eq!(
        fs::write(rig.path("one/f"), "x")
            .unwrap_err()
            .raw_os_error(),
        Some(libc::EROFS)
    );
    let rig = Rig::new();
    volume.read_only = false;
    volume.mode = Mode::MultiNodeReaderOnly;
    rig.stage(&volume).await.unwrap();
    assert!(rig.shares.mounts()[0].options.is_read_only());
    rig.publish(&volume, "one").await.unwrap();
    assert!(fs::write(rig.path("one/f"), "x").is_err());
}

#[tokio::test]
async fn an_account_of_the_secret_counts_more_than_that_of_the_id() {
    let rig = Rig::new();
    let mut volume = smb();
    volume
        .secrets
        .insert("accountname".to_owned(), "acct7".to_owned());
    for _ in 0..2 {
        rig.stage(&volume).await.unwrap();
        rig.publish(&volume, "one").await.unwrap();
    }
    let mounts = rig.shares.mounts();
    assert_eq!(mounts.len(), 1);
    assert_eq!(mounts[0].source, "//acct7.file.core.windows.net/share1");
}

#[tokio::test]
async fn one_writer_is_alone_and_others_are_not() {
    let rig = Rig::new();
    let mut volume = smb();
    volume.mode = Mode::SingleNodeSingleWriter;
    rig.stage(&volume).await.unwrap();
    rig.publish(&volume, "one").await.unwrap();
    rig.publish(&volume, "one").await.unwrap();
    let second = rig.publish(&volume, "two").await;
    assert_eq!(code(second), Code::FailedPrecondition);
    assert!(!rig.path("two").exists());
    volume.read_only = true;
    assert_eq!(code(rig.publish(&volume, "one").await), Code::AlreadyExists);
}

#[tokio::test]
async fn what_is_not_staged_is_not_published() {
    let rig = Rig::new();
    fs::create_dir(rig.path("staging")).unwrap();
    let answer = rig.publish(&smb(), "one").await;
    assert_eq!(code(answer), Code::FailedPrecondition);
    let other = super::rig::Volume {
        id: "rg#acct1#share2#".to_owned(),
        ..smb()
    };
    rig.stage(&other).await.unwrap();
    assert_eq!(
        code(rig.publish(&smb(), "one").await),
        Code::FailedPrecondition
    );
    assert_eq!(code(rig.stage(&smb()).await), Code::AlreadyExists);
}

#[tokio::test]
async fn wrong_requests_are_refused_before_anything_is_touched() {
    let rig = Rig::new();
    for pairs in [
        &[("shareName", "../x")][..],
        &[("server", "a b")],
        &[("folderName", "../..")],
        &[("protocol", "ftp")],
        &[("mountWithManagedIdentity", "true")],
        &[
            ("mountWithManagedIdentity", "true"),
            ("mountWithOAuthToken", "true"),
        ],
        &[("diskName", "x")],
    ] {
        let volume = smb().with(pairs);
        assert_eq!(
            code(rig.stage(&volume).await),
            Code::InvalidArgument,
            "{pairs:?}"
        );
    }
    for flag in ["username=x", "bind", "uid=1,uid=2", "nobrl\nsec=krb5"] {
        let mut volume = smb();
        volume.flags = vec![flag.to_owned()];
        assert_eq!(
            code(rig.stage(&volume).await),
            Code::InvalidArgument,
            "{flag}"
        );
    }
    let mut volume = smb();
    volume.secrets.remove("accountkey");
    assert_eq!(code(rig.stage(&volume).await), Code::InvalidArgument);
    assert!(rig.shares.mounts().is_empty() && rig.azure.asked().is_empty());
    assert!(!rig.path("staging").exists());
}

#[tokio::test]
async fn the_group_of_the_pod_reaches_smb_and_nfs_smb_10() {
    let own = nix::unistd::getegid().as_raw().to_string();
    let rig = Rig::new();
    let mut volume = smb();
    volume.group.clone_from(&own);
    rig.stage(&volume).await.unwrap();
    assert!(rig.shares.mounts()[0].options.has(&format!("gid={own}")));
    let rig = Rig::new();
    let mut volume = nfs();
    volume.group = own;
    rig.stage(&volume).await.unwrap();
    use std::os::unix::fs::MetadataExt as _;
    let mode = fs::metadata(rig.path("staging")).unwrap().mode();
    assert_eq!(mode & 0o2777, 0o2777);
}

#[tokio::test]
async fn encryption_in_transit_is_never_left_out_nfs_02() {
    let volume = nfs().with(&[("encryptInTransit", "true")]);
    let without = Rig::new();
    let status = without.stage(&volume).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().contains("encryptInTransit"));
    assert!(without.shares.mounts().is_empty(), "never in the clear");
    let rig = Rig::new().with_tunnels().await;
    rig.stage(&volume).await.unwrap();
    let mounts = rig.shares.mounts();
    assert!(mounts[0].address.is_loopback());
    let words = mounts[0].options.words().join(",");
    assert!(words.contains(",resvport,port=2"), "{words}");
    assert!(!words.contains("noresvport"), "{words}");
    assert_eq!(fs::read_dir(rig.path("tunnels")).unwrap().count(), 1);
    rig.unstage(&volume).await.unwrap();
    assert_eq!(fs::read_dir(rig.path("tunnels")).unwrap().count(), 0);
    let smb = smb().with(&[("encryptInTransit", "true")]);
    assert_eq!(code(rig.stage(&smb).await), Code::FailedPrecondition);
}

#[tokio::test]
async fn stats_and_information_are_answered() {
    let rig = Rig::new();
    rig.stage(&smb()).await.unwrap();
    rig.publish(&smb(), "one").await.unwrap();
    let stats = |path: String| {
        let request = v1::NodeGetVolumeStatsRequest {
            volume_id: smb().id,
            volume_path: path,
            ..v1::NodeGetVolumeStatsRequest::default()
        };
        rig.service.node_get_volume_stats(Request::new(request))
    };
    let usage = stats(rig.text("one")).await.unwrap().into_inner().usage;
    assert!(usage.len() == 2 && usage[0].total > 0);
    for path in ["some/path".to_owned(), rig.text("two")] {
        assert_eq!(code(stats(path).await), Code::NotFound);
    }
    let info = rig
        .service
        .node_get_info(Request::new(v1::NodeGetInfoRequest {}));
    assert_eq!(info.await.unwrap().into_inner().node_id, "node");
}
