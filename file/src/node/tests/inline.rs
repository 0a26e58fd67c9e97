//! Volumes that live as long as a pod.

use tonic::Code;

use super::rig::{Rig, Volume, code, map, smb};
use crate::node::InlineSecrets;

fn inline() -> Volume {
    Volume {
        id: "csi-0123".to_owned(),
        context: map(&[
            ("csi.storage.k8s.io/ephemeral", "true"),
            ("csi.storage.k8s.io/pod.namespace", "team-a"),
            ("csi.storage.k8s.io/serviceAccount.name", "robot"),
            ("shareName", "share1"),
            ("secretName", "s"),
            ("mountOptions", "dir_mode=0750,mfsymlinks"),
        ]),
        secrets: map(&[]),
        ..smb()
    }
}

#[tokio::test]
async fn it_is_mounted_at_its_target_with_the_secret_s_account_smb_04() {
    let rig = Rig::new();
    rig.azure.put_secret("team-a", "s", ("acct9", "a2V5"));
    rig.publish(&inline(), "one").await.unwrap();
    rig.publish(&inline(), "one").await.unwrap();
    let mounts = rig.shares.mounts();
    assert_eq!(mounts.len(), 1);
    assert_eq!(mounts[0].source, "//acct9.file.core.windows.net/share1");
    assert!(mounts[0].options.has("dir_mode=0750"));
    rig.unpublish(&inline(), "one").await.unwrap();
    assert!(!rig.path("one").exists());
    assert_eq!(std::fs::read_dir(rig.path("state")).unwrap().count(), 0);
}

#[tokio::test]
async fn read_only_reaches_a_direct_mount_smb_16() {
    let rig = Rig::new();
    rig.azure.put_secret("team-a", "s", ("acct9", "a2V5"));
    let mut volume = inline();
    volume.read_only = true;
    rig.publish(&volume, "one").await.unwrap();
    assert!(rig.shares.mounts()[0].options.is_read_only());
    assert!(std::fs::write(rig.path("one/f"), "x").is_err());
}

#[tokio::test]
async fn it_reaches_no_other_namespace_and_no_identity() {
    let rig = Rig::new();
    rig.azure.put_secret("kube-system", "s", ("acct9", "a2V5"));
    *rig.azure.key.lock().unwrap() = Some("a2V5".to_owned());
    let volume = inline().with(&[
        ("secretNamespace", "kube-system"),
        ("storageAccount", "acct9"),
    ]);
    let answer = rig.publish(&volume, "one").await;
    assert_eq!(code(answer), Code::FailedPrecondition);
    assert_eq!(rig.azure.asked(), ["secret team-a/s"]);
    for options in ["sec=krb5", "ro,cruid=0", "username=x"] {
        let volume = inline().with(&[("mountOptions", options)]);
        assert_eq!(
            code(rig.publish(&volume, "one").await),
            Code::InvalidArgument
        );
    }
    assert!(rig.shares.mounts().is_empty());
}

#[tokio::test]
async fn a_pod_that_may_not_read_the_secret_does_not_use_it() {
    let rig = Rig::with(|config| config.inline_secrets = InlineSecrets::Enforce);
    rig.azure.put_secret("team-a", "s", ("acct9", "a2V5"));
    *rig.azure.forbids.lock().unwrap() = true;
    assert_eq!(
        code(rig.publish(&inline(), "one").await),
        Code::PermissionDenied
    );
    assert!(rig.shares.mounts().is_empty());
    *rig.azure.forbids.lock().unwrap() = false;
    rig.publish(&inline(), "one").await.unwrap();
    assert!(
        rig.azure
            .asked()
            .contains(&"review team-a/robot s".to_owned())
    );
}
