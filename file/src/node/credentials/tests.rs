//! One row for each rule of precedence.

use std::collections::HashMap;

use super::{BadCredentials, Handed, Identity, Plan, TicketBy, needs_pod, plan, pod_token};
use crate::model::volume_context::VolumeContext;
use crate::node::share::{Share, VolumeKey};
use azcsi_types::secret::Secret;

const ID: &str = "rg#acct1#share1###ns-of-id";
const TOKENS: &str = r#"{"api://AzureADTokenExchange":{"token":"jwt","expirationTimestamp":"x"}}"#;

fn map(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn planned(
    id: &str,
    context: &[(&str, &str)],
    secrets: &[(&str, &str)],
) -> Result<Plan, BadCredentials> {
    let context = VolumeContext::decode(map(context)).unwrap();
    let key = VolumeKey::decode(id.to_owned()).unwrap();
    let share = Share::find(&key, &context, "core.windows.net").unwrap();
    plan(&share, &context, &Handed::decode(map(secrets))?, None)
}

fn secret_of(context: &[(&str, &str)]) -> (String, bool) {
    match planned(ID, context, &[]).unwrap() {
        Plan::Secret { at, instead } => {
            (format!("{}/{}", at.namespace, at.name), instead.is_some())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_secret_is_looked_for_where_the_sheet_says() {
    let name = "azure-storage-account-acct1-secret";
    let claim = ("csi.storage.k8s.io/pvc/namespace", "ns-of-claim");
    for (context, expected, falls_back) in [
        (&[][..], format!("ns-of-id/{name}"), true),
        (&[("secretNamespace", "said")], format!("said/{name}"), true),
        (
            &[("secretNamespace", ""), claim],
            format!("ns-of-claim/{name}"),
            true,
        ),
        (&[("secretNamespace", "")], format!("default/{name}"), true),
        (&[("secretName", "own")], "ns-of-id/own".to_owned(), true),
        (
            &[("getAccountKeyFromSecret", "true")],
            format!("ns-of-id/{name}"),
            false,
        ),
    ] {
        assert_eq!(secret_of(context), (expected, falls_back), "{context:?}");
    }
}

#[test]
fn what_kubelet_hands_over_counts_first_and_is_trimmed() {
    let pairs = [
        ("accountName", "acct2\n"),
        ("azurestorageaccountkey", " a2V5 \n"),
    ];
    let Plan::Given(login) = planned(ID, &[], &pairs).unwrap() else {
        panic!();
    };
    assert_eq!((login.user.as_str(), login.key.expose()), ("acct2", "a2V5"));
    let half = planned(ID, &[], &[("accountname", "a")]).unwrap_err();
    assert!(matches!(half, BadCredentials::Half(..)));
    // Tokens alone are no login.
    let tokens = [("csi.storage.k8s.io/serviceAccount.tokens", TOKENS)];
    assert!(matches!(planned(ID, &[], &tokens), Ok(Plan::Secret { .. })));
}

#[test]
fn nfs_needs_nobody_except_to_make_a_folder() {
    let nfs = ("protocol", "nfs");
    assert_eq!(planned(ID, &[nfs], &[]), Ok(Plan::Nobody));
    let made = [nfs, ("folderName", "a"), ("createFolderIfNotExist", "true")];
    assert!(matches!(planned(ID, &made, &[]), Ok(Plan::Secret { .. })));
    let identity = [nfs, ("mountWithManagedIdentity", "true"), ("clientID", "c")];
    assert!(planned(ID, &identity, &[]).is_err());
}

#[test]
fn identities_mount_with_tickets() {
    let managed = [("mountWithManagedIdentity", "true"), ("clientID", "c")];
    let by = Identity::Managed("c".to_owned());
    assert_eq!(
        planned(ID, &managed, &[]),
        Ok(Plan::Ticket(TicketBy::Identity(by)))
    );
    assert!(planned(ID, &managed[..1], &[]).is_err());
    let oauth = [("mountWithOAuthToken", "true")];
    assert!(planned(ID, &oauth, &[]).is_err(), "secretName is needed");
    let oauth = [oauth[0], ("secretName", "s")];
    let Ok(Plan::Ticket(TicketBy::Secret(at))) = planned(ID, &oauth, &[]) else {
        panic!();
    };
    // The namespace in the id does not count here.
    assert_eq!(at.namespace, "default");
    let workload = [
        ("mountWithWorkloadIdentityToken", "true"),
        ("clientID", "c"),
        ("csi.storage.k8s.io/serviceAccount.tokens", TOKENS),
    ];
    assert!(matches!(
        planned(ID, &workload, &[]),
        Ok(Plan::Ticket(TicketBy::Identity(Identity::Workload { .. })))
    ));
    let key = [workload[1], workload[2]];
    assert!(matches!(planned(ID, &key, &[]), Ok(Plan::Fetched { .. })));
}

#[test]
fn only_volumes_of_pods_wait_for_a_pod() {
    for (pairs, expected) in [
        (&[][..], false),
        (&[("clientID", "c")], true),
        (
            &[("clientID", "c"), ("mountWithManagedIdentity", "true")],
            false,
        ),
        (&[("mountWithWorkloadIdentityToken", "true")], true),
        (&[("clientID", "c"), ("protocol", "nfs")], false),
    ] {
        let context = VolumeContext::decode(map(pairs)).unwrap();
        assert_eq!(needs_pod(&context), expected, "{pairs:?}");
    }
}

#[test]
fn a_token_is_read_and_never_shown_smb_14() {
    assert_eq!(pod_token(&Secret::new(TOKENS)).unwrap().expose(), "jwt");
    for bad in [
        "",
        "{}",
        "not json marker",
        r#"{"other":{"token":"marker"}}"#,
    ] {
        let error = pod_token(&Secret::new(bad)).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("marker"));
    }
    let handed = Handed::decode(map(&[("accountname", "a"), ("accountkey", "marker")])).unwrap();
    assert!(!format!("{handed:?}").contains("marker"));
}

#[test]
fn an_account_that_nobody_names_is_asked_of_the_secret_smb_04() {
    let Ok(Plan::Secret { at, instead }) =
        planned("x", &[("shareName", "share1"), ("secretName", "s")], &[])
    else {
        panic!();
    };
    assert_eq!((at.name.as_str(), instead), ("s", None));
    let nobody = planned("x", &[("shareName", "share1")], &[]);
    assert_eq!(nobody, Err(BadCredentials::NoAccount));
}
