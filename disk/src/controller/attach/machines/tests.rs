//! What is sent to a cloud that knows complete lists only.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azcsi_cloud::auth::{Token, TokenError, TokenSource};
use azcsi_cloud::environment::ApiVersions;
use azcsi_cloud::pipeline::throttle::Gate;
use azcsi_cloud::{
    AttachDisk, Azure, CloudConfig, DataDiskChanges, DetachDisk, Environment, Seams,
    ServiceTransport,
};
use azcsi_rpc::SystemClock;
use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::lun::Lun;
use azcsi_types::node::VmRef;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Method, Request, Response};
use serde_json::{Value, json};

use super::{AzureMachines, Machines as _};

#[derive(Debug)]
struct AnyToken;

impl TokenSource for AnyToken {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Token, TokenError>> {
        Box::pin(async {
            Ok(Token {
                secret: Secret::new("t"),
                lifetime: Duration::from_secs(3600),
            })
        })
    }
}

type Seen = Arc<Mutex<Vec<(Method, Value)>>>;

fn disk(name: &str) -> DiskUri {
    DiskUri::new("s", "g", name).unwrap()
}

fn entry(name: &str, lun: u8) -> Value {
    json!({"lun": lun, "name": name, "createOption": "Attach", "managedDisk": {"id": disk(name).as_str()}})
}

/// One machine with one disk, of an Azure Stack Hub; it takes whatever list it is sent.
fn stack(seen: &Seen) -> AzureMachines {
    let vm = VmRef::machine("s", "g", "vm").unwrap();
    let seen = Arc::clone(seen);
    let disks = Arc::new(Mutex::new(json!([entry("old", 3)])));
    let service = tower::service_fn(move |request: Request<Bytes>| {
        let body = serde_json::from_slice(request.body()).unwrap_or(Value::Null);
        let method = request.method().clone();
        if method != Method::GET {
            let list = &body["properties"]["storageProfile"]["dataDisks"];
            *disks.lock().unwrap() = list.clone();
        }
        seen.lock().unwrap().push((method, body));
        let storage = json!({"dataDisks": *disks.lock().unwrap()});
        let answer = json!({"id": vm.id().as_str(), "name": "vm", "location": "local",
            "properties": {"provisioningState": "Succeeded", "storageProfile": storage}});
        std::future::ready(Ok::<_, Infallible>(Response::new(Bytes::from(
            answer.to_string(),
        ))))
    });
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut environment = Environment::named("").unwrap();
    environment.api_versions = ApiVersions::stack();
    let seams = Seams {
        transport: Arc::new(ServiceTransport::new(service)),
        source: Arc::new(AnyToken),
        governor: Arc::new(Gate::new(Arc::clone(&clock))),
        clock: Arc::clone(&clock),
    };
    AzureMachines::new(
        Azure::with(CloudConfig::default(), environment, seams),
        clock,
    )
}

#[tokio::test]
async fn on_a_stack_hub_a_disk_leaves_by_being_left_out_even_the_last_one_pr_14() {
    let seen = Seen::default();
    let machines = stack(&seen);
    let vm = VmRef::machine("s", "g", "vm").unwrap();
    let op = Op::start("test", Deadline::NEVER);
    let swap = DataDiskChanges {
        attach: vec![AttachDisk {
            lun: Some(Lun::try_from(4).unwrap()),
            ..AttachDisk::new(disk("new"))
        }],
        detach: vec![DetachDisk {
            disk_id: disk("old"),
            detach_option: None,
        }],
    };
    machines.write(&op, &vm, &swap).await.unwrap();
    let last = DataDiskChanges {
        attach: Vec::new(),
        detach: vec![DetachDisk {
            disk_id: disk("new"),
            detach_option: None,
        }],
    };
    machines.write(&op, &vm, &last).await.unwrap();
    let seen = seen.lock().unwrap();
    let lists: Vec<&Value> = seen
        .iter()
        .filter(|(method, _)| *method != Method::GET)
        .map(|(_, body)| &body["properties"]["storageProfile"]["dataDisks"])
        .collect();
    assert_eq!(
        lists.len(),
        2,
        "no request asks for an action that the cloud does not know"
    );
    assert_eq!(lists[0].as_array().unwrap().len(), 1);
    assert_eq!(lists[0][0]["lun"], 4);
    assert_eq!(*lists[1], json!([]), "an empty list, not none");
}
