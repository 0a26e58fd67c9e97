//! A served world over real sockets: TLS, files, devices, restarts.

use std::fs;
use std::path::Path;

use azcsi_sim::cli::client::{self, ClientError};
use azcsi_sim::serve::run::{Running, start};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::shelf;

async fn up(dir: &Path, extra: &[&str]) -> Running {
    start(&shelf::options(dir, extra), shelf::build)
        .await
        .expect("start")
}

async fn send(base: &str, method: Method, path: &str, body: Value) -> Result<Value, ClientError> {
    let body = if body.is_null() {
        Bytes::new()
    } else {
        Bytes::from(body.to_string())
    };
    let bytes = client::call(base, method, path, body).await?;
    Ok(serde_json::from_slice(&bytes).expect("JSON"))
}

async fn put(running: &Running, path: &str, body: Value) -> Result<Value, ClientError> {
    send(&running.endpoints().arm_http, Method::PUT, path, body).await
}

async fn get(running: &Running, path: &str) -> Result<Value, ClientError> {
    send(
        &running.endpoints().arm_http,
        Method::GET,
        path,
        Value::Null,
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_is_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("tempdir");
    let first = up(dir.path(), &[]).await;
    put(&first, "/a", json!({"n": 1})).await.expect("put");
    put(&first, "/cut/b", json!({"n": 2}))
        .await
        .expect_err("the connection is cut");
    let attachment = json!({"metadata": {"name": "va"}});
    let kube = first.endpoints().kubernetes.clone();
    let path = "/apis/storage.k8s.io/v1/volumeattachments";
    send(&kube, Method::POST, path, attachment)
        .await
        .expect("create");
    // A killed process stops nothing in order: the state is taken as it is on the disk now.
    let copy = tempfile::tempdir().expect("tempdir");
    fs::create_dir(copy.path().join("state")).expect("folder");
    for file in [
        "world.journal",
        "token.key",
        "issuer.key",
        "ca.pem",
        "ca.key",
    ] {
        let from = dir.path().join("state").join(file);
        fs::copy(from, copy.path().join("state").join(file)).expect("copy");
    }
    first.stop().await.expect("stop");
    let next = up(copy.path(), &[]).await;
    assert_eq!(get(&next, "/a").await.expect("get"), json!({"n": 1}));
    assert_eq!(get(&next, "/cut/b").await.expect("get"), json!({"n": 2}));
    let kube = next.endpoints().kubernetes.clone();
    let one = format!("{path}/va");
    send(&kube, Method::GET, &one, Value::Null)
        .await
        .expect("the attachment");
    next.stop().await.expect("stop");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_of_another_world_is_refused() {
    let dir = tempfile::tempdir().expect("tempdir");
    up(dir.path(), &[]).await.stop().await.expect("stop");
    let args = shelf::options(dir.path(), &[]);
    let world = args.world.clone().expect("world");
    let text = fs::read_to_string(&world)
        .expect("read")
        .replace("nodes = 1", "nodes = 2");
    fs::write(&world, text).expect("write");
    let error = start(&args, shelf::build).await.expect_err("refused");
    assert!(
        format!("{error:#}").contains("made with another world file"),
        "{error:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_beyond_this_machine_are_refused() {
    let dir = tempfile::tempdir().expect("tempdir");
    let args = shelf::options(dir.path(), &["--listen", "0.0.0.0:0"]);
    let error = start(&args, shelf::build).await.expect_err("refused");
    assert!(
        format!("{error:#}").contains("loopback addresses only"),
        "{error:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_for_users_are_written_and_point_here() {
    let dir = tempfile::tempdir().expect("tempdir");
    let running = up(dir.path(), &[]).await;
    let endpoints = running.endpoints();
    let read = |path: &Path| -> Value {
        serde_json::from_slice(&fs::read(path).expect("read")).expect("JSON")
    };
    let controller = read(&endpoints.controller_config);
    assert_eq!(
        controller.get("aadClientSecret"),
        Some(&json!(endpoints.client_secret))
    );
    assert_eq!(
        controller.get("resourceManagerEndpoint"),
        Some(&json!(endpoints.arm))
    );
    let node = read(&endpoints.node_config);
    assert_eq!(node.get("useManagedIdentityExtension"), Some(&json!(true)));
    assert_eq!(node.get("aadClientSecret"), None);
    let kubeconfig = read(&endpoints.kubeconfig);
    let server = kubeconfig.pointer("/clusters/0/cluster/server");
    assert_eq!(server, Some(&json!(endpoints.kubernetes)));
    let control = read(&dir.path().join("state/endpoints.json"));
    assert_eq!(control.get("control"), Some(&json!(endpoints.control)));
    running.stop().await.expect("stop");
    assert!(!dir.path().join("state/endpoints.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn time_is_advanced_only_where_it_stands_still() {
    let dir = tempfile::tempdir().expect("tempdir");
    let running = up(dir.path(), &["--time-scale", "0"]).await;
    let control = running.endpoints().control.clone();
    let advance = |seconds: Value| {
        send(
            &control,
            Method::POST,
            "/_sim/clock/advance",
            json!({"seconds": seconds}),
        )
    };
    advance(json!(90)).await.expect("advance");
    advance(json!(-1)).await.expect_err("back in time");
    advance(json!("x")).await.expect_err("no number");
    running.stop().await.expect("stop");
    let running = up(dir.path(), &["--time-scale", "10"]).await;
    let control = running.endpoints().control.clone();
    let refused = send(
        &control,
        Method::POST,
        "/_sim/clock/advance",
        json!({"seconds": 1}),
    )
    .await;
    assert!(
        refused
            .expect_err("refused")
            .to_string()
            .contains("--time-scale 0")
    );
    running.stop().await.expect("stop");
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_services_are_throttled_by_name() {
    let dir = tempfile::tempdir().expect("tempdir");
    let running = up(dir.path(), &[]).await;
    let control = running.endpoints().control.clone();
    let throttle = |body: Value| send(&control, Method::POST, "/_sim/imds/throttle", body);
    throttle(json!({"node": "nobody", "count": 1}))
        .await
        .expect_err("no such node");
    throttle(json!({"count": 1})).await.expect("all nodes");
    running.stop().await.expect("stop");
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_come_and_go_with_the_answers() {
    if let Err(error) = azcsi_sim::link::loopdev::preflight() {
        panic!("this test makes loop devices and cannot run here: {error}");
    }
    let dir = tempfile::tempdir().expect("tempdir");
    let running = up(dir.path(), &["--host-link", "loop"]).await;
    let node = running.endpoints().nodes.first().expect("node").clone();
    let lun = node
        .device_root
        .expect("device root")
        .join("disk/azure/scsi1/lun4");
    put(&running, "/d", json!({"bytes": 8 << 20, "lun": 4}))
        .await
        .expect("attach");
    assert!(lun.exists());
    fs::write(&lun, b"contents").expect("write");
    put(&running, "/s", json!({"bytes": 8 << 20, "source": "d"}))
        .await
        .expect("snapshot");
    fs::write(&lun, b"CHANGED!").expect("write");
    put(&running, "/d", json!({"bytes": 8 << 20}))
        .await
        .expect("detach");
    assert!(!lun.exists());
    put(
        &running,
        "/c",
        json!({"bytes": 16 << 20, "source": "s", "lun": 5}),
    )
    .await
    .expect("restore");
    let restored = fs::read(lun.with_file_name("lun5")).expect("read");
    assert_eq!(restored.get(..8), Some(b"contents".as_slice()));
    assert_eq!(restored.len(), 16 << 20);
    running.stop().await.expect("stop");
    let disks = dir
        .path()
        .join("state/disks")
        .canonicalize()
        .expect("disks");
    assert!(
        azcsi_sim::link::loopdev::bound_under(&disks)
            .expect("sysfs")
            .is_empty()
    );
    assert!(disks.join("s.img").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_disk_without_contents_is_refused() {
    if let Err(error) = azcsi_sim::link::loopdev::preflight() {
        panic!("this test makes loop devices and cannot run here: {error}");
    }
    let dir = tempfile::tempdir().expect("tempdir");
    let running = up(dir.path(), &["--host-link", "loop"]).await;
    put(&running, "/d", json!({"bytes": 8 << 20}))
        .await
        .expect("create");
    running.stop().await.expect("stop");
    fs::remove_file(dir.path().join("state/disks/d.img")).expect("remove");
    let args = shelf::options(dir.path(), &["--host-link", "loop"]);
    let error = start(&args, shelf::build).await.expect_err("refused");
    assert!(
        format!("{error:#}").contains("d.img is missing"),
        "{error:#}"
    );
}
