//! The binary as a user runs it: what it prints, how it refuses, how it dies and comes back.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use azcsi_sim::link::loopdev;
use azcsi_sim::serve::endpoints::Endpoints;
use http::Method;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::rest::Rest;

#[expect(
    clippy::disallowed_methods,
    reason = "the binary itself is what is tested"
)]
fn sim(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_azcsi-sim"));
    command.args(args);
    command
}

fn output(args: &[&str]) -> Output {
    sim(args).output().expect("run")
}

/// What a command that succeeds prints.
fn run(args: &[&str]) -> Value {
    let output = output(args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

fn refusal(args: &[&str]) -> String {
    let output = output(args);
    assert!(!output.status.success(), "{args:?} is no success");
    assert!(output.stdout.is_empty(), "{args:?} prints nothing");
    String::from_utf8(output.stderr).expect("text")
}

/// A folder with a world file in it.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("tempdir");
        let world = output(&["world", "--nodes", "2", "--zones", "1"]);
        assert!(world.status.success());
        fs::write(dir.path().join("world.toml"), world.stdout).expect("write");
        Self { dir }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Starts the binary and waits for the object that it prints.
    fn serve(&self, extra: &[&str]) -> Served {
        let (world, state) = (self.path("world.toml"), self.path("state"));
        let mut args = vec!["serve", "--world", &world, "--dir", &state];
        args.extend_from_slice(extra);
        let mut child = sim(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("spawn");
        let out = child.stdout.take().expect("stdout");
        let mut objects = serde_json::Deserializer::from_reader(out).into_iter::<Endpoints>();
        let endpoints = match objects.next() {
            Some(object) => object.expect("endpoints"),
            None => {
                let output = child.wait_with_output().expect("output");
                panic!("no endpoints: {}", String::from_utf8_lossy(&output.stderr));
            }
        };
        Served { child, endpoints }
    }
}

struct Served {
    child: Child,
    endpoints: Endpoints,
}

/// A test that fails leaves no simulator behind.
impl Drop for Served {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.child.kill().expect("kill");
            self.child.wait().expect("wait");
        }
    }
}

impl Served {
    fn end(mut self, signal: Signal) -> bool {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("pid"));
        kill(pid, signal).expect("signal");
        self.child.wait().expect("wait").success()
    }

    async fn rest(&self) -> Rest {
        Rest::open(&self.endpoints).await
    }
}

fn disk(gib: u64) -> Value {
    json!({
        "location": "eastus2", "zones": ["1"], "sku": {"name": "Premium_LRS"},
        "properties": {"creationData": {"createOption": "Empty"}, "diskSizeGB": gib},
    })
}

fn beginning(device: &Path) -> [u8; 10] {
    let mut bytes = [0; 10];
    fs::File::open(device)
        .expect("open")
        .read_exact(&mut bytes)
        .expect("read");
    bytes
}

#[test]
fn every_bad_input_is_one_line_that_says_what_to_do() {
    let dir = tempfile::tempdir().expect("tempdir");
    let state = dir.path().join("state").display().to_string();
    let world = dir.path().join("w.toml");
    fs::write(&world, "tenant = 1\n").expect("write");
    let world = world.display().to_string();
    for (args, words) in [
        (
            vec!["serve", "--dir", &state],
            "azcsi-sim world > world.toml",
        ),
        (
            vec!["serve", "--dir", &state, "--world", "/nowhere"],
            "/nowhere: cannot be read",
        ),
        (
            vec!["serve", "--dir", &state, "--world", &world],
            "w.toml:1: ",
        ),
        (vec!["status", "--dir", &state], "azcsi-sim serve --dir"),
        (
            vec!["status", "--control", "http://127.0.0.1:1"],
            "is it still running?",
        ),
        (
            vec!["power", "--control", "nonsense", "n", "off"],
            "is not a control URL",
        ),
        (
            vec!["serve", "--dir", "/proc/none"],
            "cannot make the folder",
        ),
    ] {
        let text = refusal(&args);
        assert!(text.contains(words), "{args:?}: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    }
    for args in [
        vec!["serve", "--dir", &state, "--time-scale", "-1"],
        vec!["world", "--zones", "4"],
        vec!["world", "--nodes", "0"],
        vec!["serve"],
        vec!["status"],
    ] {
        assert!(refusal(&args).starts_with("error: "), "{args:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_simulator_comes_back_with_everything_it_reported() {
    let place = Place::new();
    let served = place.serve(&[]);
    let mut rest = served.rest().await;
    let mut writer = served.rest().await;
    let dead = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&dead);
    let writing = tokio::spawn(async move {
        let mut reported = Vec::new();
        for number in 0.. {
            let name = format!("storm-{number}");
            match writer
                .compute(Method::PUT, &format!("disks/{name}"), disk(4))
                .await
            {
                Ok((200..=202, _)) => reported.push(name),
                Ok(other) => panic!("{other:?}"),
                Err(_) => break,
            }
        }
        assert!(
            seen.load(Ordering::SeqCst),
            "only the kill ends the writing"
        );
        reported
    });
    // Level-triggered: once some are there, the kill hits in the middle of the next.
    while rest
        .compute(Method::GET, "disks/storm-40", Value::Null)
        .await
        .expect("get")
        .0
        != 200
    {
        tokio::task::yield_now().await;
    }
    dead.store(true, Ordering::SeqCst);
    served.end(Signal::SIGKILL);
    let reported = writing.await.expect("writer");
    assert!(reported.len() >= 40);

    let served = place.serve(&[]);
    let mut rest = served.rest().await;
    for name in &reported {
        let (status, body) = rest
            .compute(Method::GET, &format!("disks/{name}"), Value::Null)
            .await
            .expect("get");
        assert_eq!(status, 200, "{name}: {body}");
        assert_eq!(body.pointer("/properties/diskSizeGB"), Some(&json!(4)));
    }
    assert!(served.end(Signal::SIGTERM));
}

#[tokio::test(flavor = "multi_thread")]
async fn attached_disks_keep_their_devices_and_bytes_through_a_kill_and_leave_with_sigterm() {
    if let Err(error) = loopdev::preflight() {
        panic!("this test makes loop devices and cannot run here: {error}");
    }
    let place = Place::new();
    let served = place.serve(&["--host-link", "loop"]);
    let node = served.endpoints.nodes.first().expect("node").clone();
    let link = node
        .device_root
        .expect("devices")
        .join("disk/azure/scsi1/lun3");
    let mut rest = served.rest().await;
    rest.compute(Method::PUT, "disks/d", disk(4))
        .await
        .expect("create");
    let vm = node.provider_id.trim_start_matches("azure://").to_owned();
    let action = format!("{vm}/attachDetachDataDisks?api-version=2024-07-01");
    let id = rest.id("disks/d");
    let attach = json!({"dataDisksToAttach": [{"diskId": id, "lun": 3}]});
    let (status, body) = rest
        .send(Method::POST, &action, attach)
        .await
        .expect("attach");
    assert!(matches!(status, 200 | 202), "{body}");
    let device = link.canonicalize().expect("a device");
    fs::write(&device, b"still here").expect("write");
    served.end(Signal::SIGKILL);

    let served = place.serve(&["--host-link", "loop"]);
    assert_eq!(link.canonicalize().expect("a device"), device);
    assert_eq!(&beginning(&device), b"still here");
    assert!(served.end(Signal::SIGTERM));
    let disks = place.state().join("disks").canonicalize().expect("disks");
    assert!(loopdev::bound_under(&disks).expect("sysfs").is_empty());

    let served = place.serve(&["--host-link", "loop"]);
    assert_eq!(&beginning(&link), b"still here");
    let mut rest = served.rest().await;
    let detach = json!({"dataDisksToDetach": [{"diskId": id}]});
    rest.send(Method::POST, &action, detach)
        .await
        .expect("detach");
    assert!(link.symlink_metadata().is_err());
    assert!(served.end(Signal::SIGINT));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_talk_to_a_running_simulator() {
    let place = Place::new();
    let served = place.serve(&[]);
    let state = place.path("state");
    let status = run(&["status", "--dir", &state]);
    assert_eq!(
        status.pointer("/endpoints/control"),
        Some(&json!(served.endpoints.control))
    );

    let script = place.dir.path().join("faults.json");
    let fault = json!({"faults": [{"method": "GET", "kind": "disks", "times": 1,
        "effect": {"do": "status", "status": 503, "code": "Busy", "message": "later"}}]});
    fs::write(&script, fault.to_string()).expect("write");
    run(&[
        "faults",
        "--dir",
        &state,
        "--set",
        script.to_str().expect("text"),
    ]);
    let mut rest = served.rest().await;
    let (status, _) = rest
        .compute(Method::GET, "disks", Value::Null)
        .await
        .expect("list");
    assert_eq!(status, 503);
    run(&["faults", "--dir", &state, "--clear"]);
    let list = run(&["requests", "--dir", &state]);
    assert!(list.to_string().contains("Busy"), "{list}");
    run(&["requests", "--dir", &state, "--violations"]);

    fs::write(&script, "{\"faults\": [{}]}").expect("write");
    let bad = refusal(&[
        "faults",
        "--dir",
        &state,
        "--set",
        script.to_str().expect("text"),
    ]);
    assert!(bad.contains("effect"), "{bad}");
    assert!(served.end(Signal::SIGTERM));
    assert!(!Path::new(&place.path("state/endpoints.json")).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_learns_of_an_attach_as_late_as_asked() {
    let place = Place::new();
    let served = place.serve(&["--imds-lag", "60", "--time-scale", "0"]);
    let node = served.endpoints.nodes.first().expect("node").clone();
    let mut rest = served.rest().await;
    rest.compute(Method::PUT, "disks/d", disk(4))
        .await
        .expect("create");
    let vm = node.provider_id.trim_start_matches("azure://").to_owned();
    let action = format!("{vm}/attachDetachDataDisks?api-version=2024-07-01");
    let attach = json!({"dataDisksToAttach": [{"diskId": rest.id("disks/d"), "lun": 3}]});
    rest.send(Method::POST, &action, attach)
        .await
        .expect("attach");
    let mut metadata = Rest::connect(&node.imds).await;
    let mut control = Rest::connect(&served.endpoints.control).await;
    let mut seen = Vec::new();
    for seconds in [0, 59, 1] {
        let body = json!({"seconds": seconds});
        control
            .send(Method::POST, "/_sim/clock/advance", body)
            .await
            .expect("advance");
        let path = "/metadata/instance/compute/storageProfile/dataDisks?api-version=2021-10-01";
        let (_, disks) = metadata
            .send(Method::GET, path, Value::Null)
            .await
            .expect("disks");
        seen.push(disks.as_array().map(Vec::len));
    }
    assert_eq!(seen, [Some(0), Some(0), Some(1)]);
    assert!(served.end(Signal::SIGTERM));
}

#[test]
fn the_power_of_a_node_is_switched_by_name() {
    let place = Place::new();
    let served = place.serve(&[]);
    let state = place.path("state");
    let node = served.endpoints.nodes.first().expect("node").name.clone();
    run(&["power", "--dir", &state, &node, "deallocate"]);
    let world = run(&["status", "--dir", &state]);
    assert!(world.to_string().contains("Deallocated"));
    assert!(refusal(&["power", "--dir", &state, "nobody", "off"]).contains("nobody"));
    assert!(served.end(Signal::SIGTERM));
}

#[test]
fn a_damaged_journal_is_refused_with_its_line() {
    let place = Place::new();
    assert!(place.serve(&[]).end(Signal::SIGTERM));
    let journal = place.state().join("world.journal");
    let text = fs::read_to_string(&journal)
        .expect("read")
        .replacen("eastus2", "eastus9", 1);
    fs::write(&journal, &text).expect("write");
    let state = place.path("state");
    let refused = refusal(&["serve", "--dir", &state]);
    assert!(
        refused.contains("world.journal:2: the saved world is damaged"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&journal).expect("read"), text);
}
