//! Volumes of old: a filesystem in a file on a share.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use azcsi_host::exec::Exec;
use azcsi_rpc::SystemClock;
use azcsi_types::clock::Deadline;
use tonic::Code;

use super::rig::{Rig, Volume, code, smb};

fn volume() -> Volume {
    Volume {
        id: "rg#acct1#share1#old.vhd#".to_owned(),
        ..smb()
    }
}

/// Puts a file of 8 MiB on the share, and a filesystem in it where that is wanted.
async fn put(rig: &Rig, kind: Option<&str>) {
    let share = rig.path("shares/acct1.file.core.windows.net/share1");
    fs::create_dir_all(&share).unwrap();
    let file = fs::File::create(share.join("old.vhd")).unwrap();
    file.set_len(8 << 20).unwrap();
    let Some(kind) = kind else {
        return;
    };
    let clock = Arc::new(SystemClock::new());
    let args: Vec<OsString> = vec!["-q".into(), "-F".into(), share.join("old.vhd").into()];
    let program = format!("mkfs.{kind}");
    let deadline = Deadline::after(&*clock, Duration::from_secs(60));
    let made = Exec::new(clock)
        .run(Path::new(&program), &args, deadline)
        .await;
    assert!(made.unwrap().is_success());
}

#[tokio::test]
async fn an_existing_filesystem_is_mounted_and_written_to() {
    let rig = Rig::new();
    put(&rig, Some("ext4")).await;
    for _ in 0..2 {
        rig.stage(&volume()).await.unwrap();
        rig.publish(&volume(), "one").await.unwrap();
    }
    assert!(rig.path("one/lost+found").exists());
    fs::write(rig.path("one/file"), "x").unwrap();
    rig.unpublish(&volume(), "one").await.unwrap();
    rig.unstage(&volume()).await.unwrap();
    assert!(!rig.path("staging").exists() && !rig.path("proxy-mount").exists());
    rig.stage(&volume()).await.unwrap();
    assert_eq!(fs::read(rig.path("staging/file")).unwrap(), b"x");
    rig.unstage(&volume()).await.unwrap();
}

#[tokio::test]
async fn nothing_is_ever_formatted() {
    let rig = Rig::new();
    put(&rig, None).await;
    let status = rig.stage(&volume()).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    let share = rig.path("shares/acct1.file.core.windows.net/share1");
    let bytes = fs::read(share.join("old.vhd")).unwrap();
    assert!(bytes.iter().all(|&byte| byte == 0));
    rig.unstage(&volume()).await.unwrap();
    assert!(!rig.path("proxy-mount").exists());
}

#[tokio::test]
async fn a_missing_file_and_a_switched_off_feature_are_said() {
    let rig = Rig::new();
    let missing = rig.stage(&volume()).await;
    assert_eq!(code(missing), Code::NotFound);
    let rig = Rig::with(|config| config.vhd = false);
    let status = rig.stage(&volume()).await.unwrap_err();
    assert!(status.message().contains("enable-vhd"), "{status:?}");
}
