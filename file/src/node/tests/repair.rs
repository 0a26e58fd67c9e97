//! Mounts that fail, and mounts that die.

use azcsi_host::liveness::Liveness;
use azcsi_host::net_probe::{Port, Resolved};
use nix::libc;
use tonic::Code;

use super::rig::{Rig, code, nfs, smb};
use crate::node::cause::ShareSays;

/// What the kernel, the port and the account say; the code and a word of the answer.
type Row = (i32, Port, Option<ShareSays>, Code, &'static str);

const CAUSES: [Row; 7] = [
    (
        libc::EINPROGRESS,
        Port::Silent,
        None,
        Code::Unavailable,
        "445",
    ),
    (
        libc::ENOENT,
        Port::Refused,
        None,
        Code::Unavailable,
        "refuses",
    ),
    (
        libc::ENOENT,
        Port::Open,
        Some(ShareSays::Missing),
        Code::NotFound,
        "share",
    ),
    (
        libc::EACCES,
        Port::Open,
        Some(ShareSays::KeyRefused),
        Code::PermissionDenied,
        "Secret",
    ),
    (
        libc::EACCES,
        Port::Open,
        Some(ShareSays::NetworkRule),
        Code::PermissionDenied,
        "subnet",
    ),
    (
        libc::EINVAL,
        Port::Open,
        None,
        Code::InvalidArgument,
        "option",
    ),
    (
        libc::ENODEV,
        Port::Open,
        None,
        Code::FailedPrecondition,
        "kernel",
    ),
];

#[tokio::test]
async fn a_failed_mount_names_its_cause_smb_02() {
    for (errno, port, says, code, word) in CAUSES {
        let rig = Rig::new();
        rig.shares.fails_with(errno);
        rig.shares.trouble.lock().unwrap().port = port;
        *rig.azure.says.lock().unwrap() = says;
        let status = rig.stage(&smb()).await.unwrap_err();
        assert_eq!(status.code(), code, "{status:?}");
        assert!(status.message().contains(word), "{status:?}");
        assert!(!status.message().contains('\n'));
        assert!(!rig.path("staging").exists(), "nothing is left");
        assert_eq!(rig.health(&smb()).await.len(), 1);
        rig.shares.works();
        rig.stage(&smb()).await.unwrap();
        assert!(rig.health(&smb()).await.is_empty());
    }
}

#[tokio::test]
async fn a_mount_that_hangs_ends_at_its_deadline_smb_05() {
    let rig = Rig::new();
    rig.shares.trouble.lock().unwrap().hangs = true;
    let status = rig.stage(&smb()).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
    rig.shares.trouble.lock().unwrap().hangs = false;
    rig.stage(&smb()).await.unwrap();
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_never_mounted() {
    let rig = Rig::new();
    rig.shares.trouble.lock().unwrap().name = Resolved::Unknown("no such host".to_owned());
    let status = rig.stage(&nfs()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("DNS"), "{status:?}");
    assert!(rig.shares.mounts().is_empty());
}

#[tokio::test]
async fn nothing_is_left_hanging_in_the_kernel_when_the_port_of_nfs_is_blocked() {
    let rig = Rig::new();
    for (port, said) in [
        (Port::Silent, "dropped"),
        (Port::Refused, "nobody listens"),
        (Port::Unreachable, "no network route"),
    ] {
        rig.shares.trouble.lock().unwrap().port = port;
        let status = rig.stage(&nfs()).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains(said), "{status:?}");
    }
    assert!(rig.shares.mounts().is_empty(), "the kernel was asked");
    rig.shares.trouble.lock().unwrap().port = Port::Open;
    rig.stage(&nfs()).await.unwrap();
}

#[tokio::test]
async fn a_refused_key_is_fetched_anew_smb_01() {
    let rig = Rig::new();
    *rig.azure.key.lock().unwrap() = Some("b2xk".to_owned());
    let mut volume = smb();
    volume.secrets.clear();
    rig.shares.fails_with(libc::EACCES);
    assert_eq!(code(rig.stage(&volume).await), Code::PermissionDenied);
    *rig.azure.key.lock().unwrap() = Some("bmV3".to_owned());
    rig.shares.works();
    rig.stage(&volume).await.unwrap();
    let keys = rig
        .azure
        .asked()
        .iter()
        .filter(|q| q.starts_with("key"))
        .count();
    assert_eq!(keys, 2);
}

#[tokio::test]
async fn a_key_that_was_rotated_since_it_was_fetched_costs_no_failure_smb_01() {
    let rig = Rig::new();
    *rig.azure.key.lock().unwrap() = Some("b2xk".to_owned());
    let mut volume = smb();
    volume.secrets.clear();
    rig.stage(&volume).await.unwrap();
    rig.unstage(&volume).await.unwrap();
    *rig.azure.key.lock().unwrap() = Some("bmV3".to_owned());
    rig.shares.refuses(&["b2xk"]);
    rig.stage(&volume).await.unwrap();
    let asked = rig.azure.asked();
    assert_eq!(asked.iter().filter(|q| q.starts_with("key")).count(), 2);
    // A key that is fresh and refused all the same is an error at once.
    rig.unstage(&volume).await.unwrap();
    rig.azure.asked.lock().unwrap().clear();
    *rig.azure.key.lock().unwrap() = Some("b2xk".to_owned());
    rig.shares.refuses(&["b2xk", "bmV3"]);
    assert_eq!(code(rig.stage(&volume).await), Code::PermissionDenied);
    let asked = rig.azure.asked();
    assert_eq!(asked.iter().filter(|q| q.starts_with("key")).count(), 1);
}

#[tokio::test]
async fn a_secret_with_a_rotated_key_gives_way_to_the_nodes_identity_smb_01() {
    let rig = Rig::new();
    let mut volume = smb();
    volume.secrets.clear();
    let name = "azure-storage-account-acct1-secret";
    rig.azure.put_secret("ns", name, ("acct1", "b2xk"));
    *rig.azure.key.lock().unwrap() = Some("bmV3".to_owned());
    rig.shares.refuses(&["b2xk"]);
    rig.stage(&volume).await.unwrap();
    rig.unstage(&volume).await.unwrap();
    // An identity that may not list keys leaves the first answer: update the Secret.
    *rig.azure.key.lock().unwrap() = None;
    rig.shares.refuses(&["b2xk", "bmV3"]);
    let status = rig.stage(&volume).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    assert!(status.message().contains("cannot mount"), "{status:?}");
}

const DEAD: Liveness = Liveness::Dead(libc::EHOSTDOWN);

#[tokio::test]
async fn what_is_mounted_dead_is_taken_away_smb_07_nfs_08() {
    for errno in [
        libc::ESTALE,
        libc::ENOTCONN,
        libc::EIO,
        libc::EACCES,
        libc::EHOSTDOWN,
        libc::ENODEV,
        libc::EWOULDBLOCK,
        libc::ENOENT,
    ] {
        let rig = Rig::new();
        rig.stage(&smb()).await.unwrap();
        rig.publish(&smb(), "one").await.unwrap();
        rig.shares.lives(Liveness::Dead(errno));
        assert_eq!(rig.health(&smb()).await, ["StaleMount"]);
        rig.unpublish(&smb(), "one").await.unwrap();
        rig.unstage(&smb()).await.unwrap();
        assert!(!rig.path("one").exists() && !rig.path("staging").exists());
    }
}

#[tokio::test]
async fn a_dead_staged_mount_that_nobody_has_is_mounted_anew_smb_01() {
    let rig = Rig::new();
    rig.stage(&smb()).await.unwrap();
    rig.shares.lives(DEAD);
    rig.publish(&smb(), "one").await.unwrap();
    assert_eq!(rig.shares.mounts().len(), 2);
}

#[tokio::test]
async fn nothing_is_touched_under_a_pod_smb_01() {
    let rig = Rig::new();
    rig.stage(&smb()).await.unwrap();
    rig.publish(&smb(), "one").await.unwrap();
    rig.shares.lives(DEAD);
    for target in ["one", "two"] {
        let status = rig.publish(&smb(), target).await.unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    }
    assert_eq!(rig.shares.mounts().len(), 1);
    std::fs::write(rig.path("one/file"), "x").unwrap();
    let share = rig.path("shares/acct1.file.core.windows.net/share1/file");
    assert!(share.exists(), "the pod still writes to the share");
    // The pod goes, and the next one finds the share mounted anew.
    rig.unpublish(&smb(), "one").await.unwrap();
    rig.publish(&smb(), "two").await.unwrap();
    assert_eq!(rig.shares.mounts().len(), 2);
}

#[tokio::test]
async fn a_silent_server_is_waited_for() {
    let rig = Rig::new();
    rig.stage(&smb()).await.unwrap();
    rig.shares.lives(Liveness::Silent);
    assert_eq!(code(rig.stage(&smb()).await), Code::Unavailable);
    assert_eq!(code(rig.publish(&smb(), "one").await), Code::Unavailable);
    assert_eq!(rig.health(&smb()).await, ["ServerUnresponsive"]);
    rig.shares.lives(Liveness::Alive);
    // The pod whose publish failed may be gone: nobody has to ask again for the volume to be well.
    assert!(rig.health(&smb()).await.is_empty());
    rig.publish(&smb(), "one").await.unwrap();
    assert_eq!(rig.shares.mounts().len(), 1);
    assert!(rig.health(&smb()).await.is_empty());
}

#[tokio::test]
async fn a_dead_stage_is_staged_anew_and_pods_keep_what_they_have() {
    let rig = Rig::new();
    rig.stage(&smb()).await.unwrap();
    rig.publish(&smb(), "one").await.unwrap();
    rig.shares.lives(DEAD);
    rig.stage(&smb()).await.unwrap();
    assert_eq!(rig.shares.mounts().len(), 2);
    std::fs::write(rig.path("one/file"), "x").unwrap();
    let share = rig.path("shares/acct1.file.core.windows.net/share1/file");
    assert!(share.exists());
}
