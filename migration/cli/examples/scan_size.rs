//! How long `azcsi-migrate scan` takes and how much memory it needs: `scan_size PROGRAM [VOLUMES]`.
//!
//! This process is the API server of a made-up cluster with a claim and a pod for each volume. The
//! program runs against it twice, so that all pages are ready at the second run, which is measured.
//! Budget: 10,000 volumes in 2 s and 200 MiB.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};
use tokio::net::TcpListener;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Pages that were asked for, by path and query.
#[derive(Debug, Default)]
struct Pages(Mutex<HashMap<String, Bytes>>);

impl Pages {
    fn get(&self, uri: &Uri, count: usize) -> Bytes {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let page = pages.entry(uri.to_string());
        page.or_insert_with(|| Bytes::from(page_of(uri, count).to_string()))
            .clone()
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments
        .next()
        .ok_or("usage: scan_size PROGRAM [VOLUMES]")?;
    let program = PathBuf::from(program);
    let count = arguments.next().map(|text| text.to_string_lossy().parse());
    let count = count.transpose()?.unwrap_or(10_000);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(
        &kubeconfig,
        kubeconfig_of(&listener.local_addr()?.to_string()),
    )?;
    let server = tokio::spawn(serve(listener, count));
    scan(&program, &kubeconfig).await?;
    let (report, took) = scan(&program, &kubeconfig).await?;
    server.abort();
    // In KiB; of the larger of the two runs.
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() / 1024;
    writeln!(
        std::io::stdout(),
        "scan of {count} volumes: {took:.2?} (budget 2 s for 10,000), peak memory {peak} MiB (budget 200), {}",
        report["verdicts"],
    )?;
    Ok(())
}

fn kubeconfig_of(address: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "made-up",
        "clusters": [{"name": "made-up", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "anyone", "user": {}}],
        "contexts": [{"name": "made-up", "context": {"cluster": "made-up", "user": "anyone"}}],
    })
    .to_string()
}

async fn serve(listener: TcpListener, count: usize) {
    let pages = Arc::new(Pages::default());
    while let Ok((stream, _)) = listener.accept().await {
        let pages = Arc::clone(&pages);
        tokio::spawn(async move {
            let answer = service_fn(|request: Request<Incoming>| {
                let page = pages.get(request.uri(), count);
                async { Ok::<_, Infallible>(Response::new(Full::new(page))) }
            });
            let _ = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

/// Runs the program; what it reports, and how long it took.
#[expect(
    clippy::disallowed_methods,
    reason = "a report's stopwatch, and a launcher of the program"
)]
async fn scan(program: &Path, kubeconfig: &Path) -> Result<(Value, Duration), Failure> {
    let began = Instant::now();
    let output = tokio::process::Command::new(program)
        .args(["--output", "json", "--kubeconfig"])
        .arg(kubeconfig)
        .arg("scan")
        .output()
        .await?;
    let took = began.elapsed();
    let report = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok((report, took))
}

/// One page of a list.
fn page_of(uri: &Uri, count: usize) -> Value {
    let query = uri.query().unwrap_or_default();
    let number = |key: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(name, _)| *name == key)
            .and_then(|(_, value)| value.parse::<usize>().ok())
    };
    let make: fn(usize) -> Value = match uri.path() {
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
