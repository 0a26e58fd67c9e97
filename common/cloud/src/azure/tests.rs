//! What an `Azure` that is built from a configuration sends.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::node::VmRef;
use azcsi_types::op::Op;
use bytes::Bytes;
use http::{Method, Request, Response};

use super::Azure;
use crate::config::CloudConfig;
use crate::environment::Environment;
use crate::pipeline::transport::ServiceTransport;

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Duration {
        Duration::from_secs(1000)
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
    }
}

/// Methods, and the headers with tokens and names.
type Seen = Arc<Mutex<Vec<(Method, String, String, String)>>>;

fn azure(keys: &str, seen: &Seen) -> Azure {
    let seen = Arc::clone(seen);
    let service = tower::service_fn(move |request: Request<Bytes>| {
        let path = request.uri().path().to_owned();
        let body = if let Some((tenant, _)) = path.split_once("/oauth2/") {
            let tenant = tenant.trim_start_matches('/');
            format!(
                r#"{{"access_token": "of-{tenant}", "expires_in": 3600, "token_type": "Bearer"}}"#
            )
        } else {
            let header = |name: &str| {
                let value = request.headers().get(name);
                value.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
            };
            let sent = (
                request.method().clone(),
                header("authorization"),
                header("x-ms-authorization-auxiliary"),
                header("user-agent"),
            );
            seen.lock().unwrap().push(sent);
            format!(
                r#"{{"id": "{path}", "name": "x", "location": "eastus2", "properties": {{"provisioningState": "Succeeded"}}}}"#
            )
        };
        std::future::ready(Ok::<_, Infallible>(Response::new(Bytes::from(body))))
    });
    let text = format!(
        r#"{{"tenantId": "own", "subscriptionId": "s", "resourceGroup": "g",
        "aadClientId": "c", "aadClientSecret": "x"{keys}}}"#
    );
    let config = CloudConfig::parse(&text, "test", &Default::default()).unwrap();
    let transport = Arc::new(ServiceTransport::new(service));
    let environment = Environment::named("").unwrap();
    Azure::new(config, environment, transport, Arc::new(Still)).unwrap()
}

async fn calls(azure: &Azure) {
    let op = Op::start("test", Deadline::NEVER);
    let vm = VmRef::machine("s", "g", "vm").unwrap();
    azure.vms().refresh(&op, &vm).await.unwrap();
    azure.vms().get(&op, &vm).await.unwrap();
    let disk = DiskUri::new("s", "g", "d").unwrap();
    azure.disks().get(&op, &disk).await.unwrap();
}

#[tokio::test]
async fn writes_of_machines_carry_a_token_of_the_network_s_tenant_too() {
    let seen = Seen::default();
    calls(&azure(r#", "networkResourceTenantID": "net""#, &seen)).await;
    for (method, token, second, _) in seen.lock().unwrap().iter() {
        assert_eq!(token, "Bearer of-own");
        let wanted = if *method == Method::GET {
            ""
        } else {
            "Bearer of-net"
        };
        assert_eq!(second, wanted, "{method}");
    }
}

#[tokio::test]
async fn one_tenant_needs_one_token() {
    for keys in ["", r#", "networkResourceTenantID": "OWN""#] {
        let seen = Seen::default();
        calls(&azure(keys, &seen)).await;
        let seen = seen.lock().unwrap();
        assert!(
            seen.iter().all(|(_, _, second, _)| second.is_empty()),
            "{keys}"
        );
    }
}

#[tokio::test]
async fn another_name_is_sent_by_its_own_clone_only() {
    let seen = Seen::default();
    let azure = azure("", &seen);
    calls(&azure.named("Tenant-A/1")).await;
    calls(&azure).await;
    let seen = seen.lock().unwrap();
    let agents: Vec<&str> = seen.iter().map(|(_, _, _, agent)| agent.as_str()).collect();
    assert!(
        agents[..3].iter().all(|agent| *agent == "Tenant-A/1"),
        "{agents:?}"
    );
    assert!(
        agents[3..].iter().all(|agent| agent.starts_with("azcsi/")),
        "{agents:?}"
    );
}
