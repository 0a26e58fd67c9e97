//! How long a scan takes and how much memory it needs: `scan_size [VOLUMES]`.
//!
//! The cluster is made up page by page while it is read, with a claim and a pod for each volume, so
//! what is measured is the scan. Budget: 10,000 volumes in 2 s and 200 MiB.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use azcsi_kube::Kube;
use azcsi_kube::objects::Objects;
use azcsi_migrate::args::{Command, FactFiles, Scan, Select};
use azcsi_migrate::commands::{World, in_cluster};
use azcsi_migrate::engine::Timing;
use azcsi_migrate::output::Format;
use azcsi_types::clock::Clock;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};

#[derive(Debug)]
struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: usize = std::env::args()
        .nth(1)
        .map_or(Ok(10_000), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let service = tower::service_fn(move |request: Request<kube::client::Body>| async move {
        let body = page(&request, count).to_string();
        Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from(body))))
    });
    let (text, took) = runtime.block_on(async {
        let client = kube::Client::new(service, "default");
        let world = World {
            objects: Objects::new(Kube::over(client, Arc::new(NoClock))),
            format: Format::Json,
            holder: "report".to_owned(),
            tell: Arc::new(|_| {}),
            timing: Timing::default(),
        };
        let scan = Command::Scan(Scan {
            select: Select::default(),
            facts: FactFiles::default(),
        });
        let start = now();
        let report = Box::pin(in_cluster(&world, scan)).await;
        (report.map(|report| report.text), start.elapsed())
    });
    let peak = peak()?;
    let found: Value = serde_json::from_str(&text?)?;
    writeln!(
        std::io::stdout(),
        "scan of {count} volumes: {took:.2?} (budget 2 s for 10,000), peak memory {} MiB (budget 200), {}",
        peak,
        found["verdicts"],
    )?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the stopwatch of a report")]
fn now() -> Instant {
    Instant::now()
}

/// The largest resident size of this process so far, in MiB.
fn peak() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line
        .and_then(|line| line.split_whitespace().nth(1))
        .unwrap_or("0");
    Ok(kib.parse::<u64>()? / 1024)
}

/// One page of a list.
fn page(request: &Request<kube::client::Body>, count: usize) -> Value {
    let query = request.uri().query().unwrap_or_default();
    let number = |key: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(name, _)| *name == key)
            .and_then(|(_, value)| value.parse::<usize>().ok())
    };
    let make: fn(usize) -> Value = match request.uri().path() {
        "/api/v1/persistentvolumes" => volume,
        "/api/v1/persistentvolumeclaims" => claim,
        "/api/v1/pods" => pod,
        "/apis/storage.k8s.io/v1/csidrivers" => {
            return json!({"items": [{"metadata": {"name": "disk.csi.azure.com"}}]});
        }
        _ => return json!({"items": []}),
    };
    let (from, limit) = (
        number("continue").unwrap_or(0),
        number("limit").unwrap_or(500),
    );
    let to = count.min(from + limit);
    let next = if to < count {
        to.to_string()
    } else {
        String::new()
    };
    let items: Vec<Value> = (from..to).map(make).collect();
    json!({"metadata": {"continue": next}, "items": items})
}

/// What writers leave behind in every object.
fn managed() -> Value {
    let fields: serde_json::Map<String, Value> = (0..20)
        .map(|n| (format!("f:field{n}"), json!({"f:spec": {"f:value": {}}})))
        .collect();
    json!([{"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": fields}])
}

fn volume(n: usize) -> Value {
    json!({
        "metadata": {
            "name": format!("pvc-{n:08}"), "uid": format!("u-{n}"), "managedFields": managed(),
            "annotations": {"pv.kubernetes.io/provisioned-by": "kubernetes.io/azure-disk"},
            "labels": {"failure-domain.beta.kubernetes.io/zone": "uksouth-1"},
        },
        "spec": {
            "azureDisk": {
                "diskName": format!("d{n}"), "kind": "Managed", "cachingMode": "ReadOnly",
                "diskURI": format!("/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d{n}"),
                "fsType": "ext4", "readOnly": false,
            },
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "8Gi"},
            "storageClassName": "c", "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"namespace": "n", "name": format!("c-{n}"), "uid": format!("cu-{n}")},
        },
        "status": {"phase": "Bound"},
    })
}

fn claim(n: usize) -> Value {
    json!({
        "metadata": {"name": format!("c-{n}"), "namespace": "n", "managedFields": managed()},
        "spec": {"volumeName": format!("pvc-{n:08}"), "storageClassName": "c"},
        "status": {"phase": "Bound"},
    })
}

fn pod(n: usize) -> Value {
    json!({
        "metadata": {"name": format!("p-{n}"), "namespace": "n", "managedFields": managed()},
        "spec": {
            "containers": [{"name": "main", "image": "example.com/app:1", "env": managed()}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": format!("c-{n}")}}],
        },
        "status": {"phase": "Running"},
    })
}
