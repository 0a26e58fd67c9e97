//! Mounts without a key.

use azcsi_host::shares::Login;
use tonic::Code;

use super::rig::{Rig, Volume, code, smb};

/// A KRB-CRED with one ticket that ends in 2099, made by hand: see the tests of `azcsi-host`.
fn message() -> Vec<u8> {
    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let content = parts.concat();
        let mut out = vec![tag, 0x82];
        out.extend(u16::try_from(content.len()).unwrap().to_be_bytes());
        out.extend(content);
        out
    }
    let number = |value: u8| der(0x02, &[&[value]]);
    let name = |part: &str| {
        let list = der(0x30, &[&der(0x1b, &[part.as_bytes()])]);
        der(0x30, &[&der(0xa0, &[&number(1)]), &der(0xa1, &[&list])])
    };
    let key = der(
        0x30,
        &[
            &der(0xa0, &[&number(18)]),
            &der(0xa1, &[&der(0x04, &[&[7; 32]])]),
        ],
    );
    let info = der(
        0x30,
        &[
            &der(0xa0, &[&key]),
            &der(0xa2, &[&name("AzureFileClient")]),
            &der(0xa6, &[&der(0x18, &[b"20990101000000Z"])]),
            &der(0xa9, &[&name("cifs")]),
        ],
    );
    let infos = der(0xa0, &[&der(0x30, &[&info])]);
    let inner = der(0x7d, &[&der(0x30, &[&infos])]);
    let cipher = der(0xa2, &[&der(0x04, &[&inner])]);
    let cipher = der(0x30, &[&der(0xa0, &[&number(0)]), &cipher]);
    let tickets = der(0xa2, &[&der(0x30, &[&[0x61, 1, 0]])]);
    der(0x76, &[&der(0x30, &[&tickets, &der(0xa3, &[&cipher])])])
}

fn managed(id: &str, client: &str) -> Volume {
    let mut volume = smb().with(&[("mountWithManagedIdentity", "true"), ("clientID", client)]);
    volume.id = id.to_owned();
    volume.secrets.clear();
    volume
}

fn owner(login: &Login) -> u32 {
    match login {
        Login::Ticket { owner, .. } => *owner,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn two_identities_on_one_account_do_not_meet() {
    let rig = Rig::new();
    *rig.azure.ticket.lock().unwrap() = Some(message());
    let one = managed("rg#acct1#share1#", "c1");
    rig.stage(&one).await.unwrap();
    rig.unstage(&one).await.unwrap();
    let gone = std::fs::read_dir(rig.path("kerberos")).unwrap().count();
    assert_eq!(gone, 0, "a ticket goes with its volume");
    rig.stage(&one).await.unwrap();
    let two = managed("rg#acct1#share2#", "c2");
    let request = rig.publish(&two, "x").await;
    assert_eq!(code(request), Code::FailedPrecondition, "it is not staged");
    let mounts = rig.shares.mounts();
    let first = owner(&mounts[0].login);
    assert!(rig.path(&format!("kerberos/krb5cc_{first}")).exists());
    let caches = std::fs::read_dir(rig.path("kerberos")).unwrap().count();
    assert_eq!(caches, 2, "a cache for each volume");
    let host = "acct1.file.core.windows.net";
    assert_eq!(rig.azure.asked()[0], format!("ticket {host} c1"));
}

#[tokio::test]
async fn a_ticket_is_asked_for_once_and_again_when_it_is_lost() {
    let rig = Rig::new();
    *rig.azure.ticket.lock().unwrap() = Some(message());
    let volume = managed("rg#acct1#share1#", "c1");
    rig.stage(&volume).await.unwrap();
    for _ in 0..3 {
        rig.publish(&volume, "one").await.unwrap();
    }
    assert_eq!(rig.azure.asked().len(), 1);
    std::fs::remove_dir_all(rig.path("kerberos")).unwrap();
    rig.publish(&volume, "one").await.unwrap();
    assert_eq!(rig.azure.asked().len(), 2);
}

#[tokio::test]
async fn a_private_link_is_mounted_by_the_account_s_own_name_smb_11() {
    let rig = Rig::new();
    *rig.azure.ticket.lock().unwrap() = Some(message());
    let server = ("server", "acct1.privatelink.file.core.windows.net");
    rig.stage(&managed("rg#acct1#share1#", "c1").with(&[server]))
        .await
        .unwrap();
    let mounts = rig.shares.mounts();
    assert_eq!(mounts[0].source, "//acct1.file.core.windows.net/share1");
}

#[tokio::test]
async fn a_workload_identity_waits_for_its_pod() {
    let rig = Rig::new();
    *rig.azure.ticket.lock().unwrap() = Some(message());
    let mut volume = smb().with(&[
        ("mountWithWorkloadIdentityToken", "true"),
        ("clientID", "c"),
    ]);
    volume.secrets.clear();
    rig.stage(&volume).await.unwrap();
    assert!(
        rig.shares.mounts().is_empty(),
        "kubelet gives the token at publish only"
    );
    assert_eq!(
        code(rig.publish(&volume, "one").await),
        Code::InvalidArgument
    );
    let token = |token: &str| {
        let text = format!(r#"{{"api://AzureADTokenExchange":{{"token":"{token}"}}}}"#);
        volume
            .clone()
            .with(&[("csi.storage.k8s.io/serviceAccount.tokens", &text)])
    };
    rig.publish(&token("a"), "one").await.unwrap();
    rig.publish(&token("a"), "one").await.unwrap();
    assert_eq!(rig.azure.asked().len(), 1);
    rig.publish(&token("b"), "one").await.unwrap();
    assert_eq!(rig.azure.asked().len(), 2, "a new token gets a new ticket");
    assert_eq!(rig.shares.mounts().len(), 1, "and nothing is mounted again");
    rig.unpublish(&volume, "one").await.unwrap();
    assert_eq!(std::fs::read_dir(rig.path("kerberos")).unwrap().count(), 0);
}

#[tokio::test]
async fn no_role_is_a_denial() {
    let rig = Rig::new();
    let answer = rig.stage(&managed("rg#acct1#share1#", "c1")).await;
    assert_eq!(code(answer), Code::PermissionDenied);
}
