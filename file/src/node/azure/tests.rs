//! What is sent for each identity, and what answers mean.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use azcsi_cloud::{CloudConfig, Environment, ServiceTransport};
use azcsi_rpc::SystemClock;
use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use bytes::Bytes;
use http::{Request, Response};

use super::{CloudParts, Sources};
use crate::node::cause::ShareSays;
use crate::node::ports::{Identity, KeyOf, Ports, SecretRef, ShareRef};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Answers by path; keeps what it was asked.
#[derive(Clone, Default)]
struct Cloud {
    share: Option<(u16, &'static str)>,
    seen: Arc<Mutex<Vec<(String, String)>>>,
}

impl tower::Service<Request<Bytes>> for Cloud {
    type Response = Response<Bytes>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Bytes>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let uri = request.uri().to_string();
        let bearer = request.headers().get("authorization");
        let bearer = bearer
            .map_or("", |value| value.to_str().unwrap())
            .to_owned();
        let asked = format!("{} {uri}", request.method());
        self.seen.lock().unwrap().push((asked, bearer));
        let (status, body) = if uri.contains("listKeys") {
            let keys = r#"{"keys":[
                {"keyName":"key1","value":"b2xk","permissions":"FULL","creationTime":"2026-01-01"},
                {"keyName":"key2","value":"bmV3","permissions":"FULL","creationTime":"2026-02-01"}]}"#;
            (200, keys.to_owned())
        } else if uri.contains("kerbticket") {
            (
                200,
                r#"{"kerberosServiceTicket":"bWVzc2FnZQ=="}"#.to_owned(),
            )
        } else if uri.contains("token") {
            (
                200,
                r#"{"access_token":"at","expires_in":"3600","token_type":"Bearer"}"#.to_owned(),
            )
        } else {
            let (status, code) = self.share.unwrap_or((200, ""));
            (
                status,
                format!("<Error><Code>{code}</Code><Message>m</Message></Error>"),
            )
        };
        let response = Response::builder().status(status).body(Bytes::from(body));
        ready(Ok(response.unwrap()))
    }
}

struct Rig {
    sources: Sources,
    cloud: Cloud,
    op: Op,
    folder: tempfile::TempDir,
}

fn rig(config: Option<CloudConfig>, cloud: &Cloud) -> Rig {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tokens")).unwrap();
    std::fs::write(folder.path().join("tokens/left"), "jwt").unwrap();
    let parts = CloudParts {
        config,
        environment: Environment::named("").unwrap(),
        transport: Arc::new(ServiceTransport::new(cloud.clone())),
        clock: Arc::clone(&clock),
        tokens: folder.path().join("tokens"),
    };
    Rig {
        sources: Sources::new(None, parts),
        cloud: cloud.clone(),
        op: Op::start("op", Deadline::after(&*clock, Duration::from_secs(60))),
        folder,
    }
}

fn config() -> Option<CloudConfig> {
    Some(CloudConfig {
        subscription_id: "sub".to_owned(),
        resource_group: "group".to_owned(),
        tenant_id: "tenant".to_owned(),
        use_managed_identity_extension: true,
        ..CloudConfig::default()
    })
}

fn key_of(latest: bool) -> KeyOf {
    KeyOf {
        subscription: None,
        resource_group: None,
        account: "acct1".parse().unwrap(),
        latest,
    }
}

fn share() -> ShareRef {
    ShareRef {
        account: "acct1".parse().unwrap(),
        suffix: "core.windows.net".to_owned(),
        share: "share1".to_owned(),
        folder: Some("a/b".to_owned()),
    }
}

#[tokio::test]
async fn the_node_s_identity_lists_keys() {
    let rig = rig(config(), &Cloud::default());
    for (latest, expected) in [(false, "b2xk"), (true, "bmV3")] {
        let of = key_of(latest);
        let key = rig.sources.account_key(&rig.op, &of, &Identity::Node).await;
        assert_eq!(key.unwrap().expose(), expected);
    }
    let seen = rig.cloud.seen.lock().unwrap();
    let listed = seen.iter().find(|(asked, _)| asked.contains("listKeys"));
    let (asked, bearer) = listed.unwrap();
    assert!(asked.contains("/sub/resourceGroups/group/"), "{asked}");
    assert_eq!(bearer, "Bearer at");
}

#[tokio::test]
async fn without_configuration_or_api_server_the_answer_says_so_au_08() {
    let rig = rig(None, &Cloud::default());
    let of = key_of(false);
    let error = rig.sources.account_key(&rig.op, &of, &Identity::Node).await;
    assert_eq!(error.unwrap_err().fault(), Fault::Precondition);
    let at = SecretRef {
        namespace: "n".to_owned(),
        name: "s".to_owned(),
    };
    let error = rig.sources.secret(&rig.op, &at).await.unwrap_err();
    assert_eq!(error.fault(), Fault::Precondition);
    assert!(rig.cloud.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_ticket_is_got_with_the_pod_s_token_which_leaves_no_file() {
    let rig = rig(None, &Cloud::default());
    let pod = Identity::Workload {
        client_id: "client".to_owned(),
        tenant_id: Some("of-pod".to_owned()),
        token: Secret::new("jwt"),
    };
    for by in [pod, Identity::Token(Secret::new("at"))] {
        let host = "acct1.file.core.windows.net";
        let granted = rig.sources.ticket(&rig.op, host, &by).await.unwrap();
        assert_eq!(granted.message.as_bytes(), b"message");
    }
    let seen = rig.cloud.seen.lock().unwrap();
    assert!(seen[0].0.contains("/of-pod/"), "{seen:?}");
    let tickets = seen
        .iter()
        .filter(|(asked, _)| asked.contains("kerbticket"));
    assert!(tickets.clone().count() == 2);
    assert!(tickets.clone().all(|(_, bearer)| bearer == "Bearer at"));
    let left = std::fs::read_dir(rig.folder.path().join("tokens")).unwrap();
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn the_account_s_answer_is_told_apart() {
    for (status, code, expected) in [
        (200, "", ShareSays::There),
        (404, "ShareNotFound", ShareSays::Missing),
        (403, "AuthenticationFailed", ShareSays::KeyRefused),
        (
            403,
            "KeyBasedAuthenticationNotPermitted",
            ShareSays::KeysOff,
        ),
        (403, "AuthorizationFailure", ShareSays::NetworkRule),
        (400, "Other", ShareSays::Unknown),
    ] {
        let cloud = Cloud {
            share: Some((status, code)),
            ..Cloud::default()
        };
        let rig = rig(None, &cloud);
        let says = rig
            .sources
            .ask_share(&rig.op, &share(), &Secret::new(KEY))
            .await;
        assert_eq!(says, expected, "{code}");
    }
}

#[tokio::test]
async fn a_directory_is_made_level_by_level_nfs_07() {
    let cloud = Cloud {
        share: Some((409, "ResourceAlreadyExists")),
        ..Cloud::default()
    };
    let rig = rig(None, &cloud);
    let key = Secret::new(KEY);
    rig.sources
        .make_folder(&rig.op, &share(), &key)
        .await
        .unwrap();
    let seen = rig.cloud.seen.lock().unwrap();
    let asked: Vec<&str> = seen.iter().map(|(asked, _)| asked.as_str()).collect();
    let base = "PUT https://acct1.file.core.windows.net/share1";
    assert_eq!(
        asked,
        [
            format!("{base}/a?restype=directory"),
            format!("{base}/a/b?restype=directory")
        ]
    );
}
