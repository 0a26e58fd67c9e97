//! The link against a monitor that keeps the rules of QEMU's.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::QmpLink;
use super::line::{block_name, device_name};
use crate::link::Attachment;

/// Serves one monitor connection after another; tells of every command that changes something.
fn machine(folder: &Path) -> Receiver<(String, Value)> {
    machine_with(folder, [])
}

/// The same, with devices that are there already.
fn machine_with<const N: usize>(folder: &Path, names: [String; N]) -> Receiver<(String, Value)> {
    let listener = UnixListener::bind(folder.join("qmp.sock")).unwrap();
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut devices: BTreeMap<String, Value> = names.map(|name| (name, Value::Null)).into();
        for stream in listener.incoming().flatten() {
            if serve(stream, &mut devices, &tell).is_none() {
                return;
            }
        }
    });
    told
}

fn serve(
    stream: UnixStream,
    devices: &mut BTreeMap<String, Value>,
    tell: &Sender<(String, Value)>,
) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    writeln!(writer, "{}", json!({"QMP": {}})).ok()?;
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { break };
        let message: Value = serde_json::from_str(&line).unwrap();
        let command = message["execute"].as_str().unwrap().to_owned();
        let arguments = message["arguments"].clone();
        let id = arguments["id"].as_str().unwrap_or_default().to_owned();
        let mut reply = json!({"return": {}});
        match command.as_str() {
            "device_add" => {
                devices.insert(id, arguments.clone());
            }
            "device_del" => {
                devices.remove(&id);
                let event = json!({"event": "DEVICE_DELETED", "data": {"device": id}});
                writeln!(writer, "{event}").ok()?;
            }
            "qom-list" => {
                let names = devices.keys().map(|name| json!({"name": name}));
                reply = json!({"return": names.collect::<Vec<_>>()});
            }
            _ => {}
        }
        writeln!(writer, "{reply}").ok()?;
        if !matches!(
            command.as_str(),
            "qmp_capabilities" | "query-status" | "qom-list"
        ) {
            tell.send((command, arguments)).ok()?;
        }
    }
    Some(())
}

fn attachment(lun: u32, disk: &str) -> Attachment {
    Attachment {
        node: "n1".to_owned(),
        lun,
        disk: disk.to_owned(),
        sector: 512,
    }
}

/// The next command, which has to be this one.
fn next(told: &Receiver<(String, Value)>, wanted: &str) -> Value {
    let (command, arguments) = told.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(command, wanted, "{arguments}");
    arguments
}

fn link(dir: &Path, wanted: &[Attachment]) -> QmpLink {
    QmpLink::start(dir, &["n1".to_owned()], wanted).unwrap()
}

#[test]
fn a_disk_that_was_attached_while_the_machine_was_off_appears_when_it_comes_up() {
    let dir = tempfile::tempdir().unwrap();
    let link = link(dir.path(), &[]);
    link.attach(&attachment(3, "one")).unwrap();
    let told = machine(&dir.path().join("nodes/n1"));
    assert_eq!(next(&told, "blockdev-add")["driver"], "raw");
    let device = next(&told, "device_add");
    assert_eq!(device["bus"], "scsi1.0");
    assert_eq!(device["lun"], 3);
    assert_eq!(device["vendor"], "Msft");
    assert_eq!(device["product"], "Virtual Disk");
}

#[test]
fn a_namespace_has_the_number_of_its_slot_and_two() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("nodes/n1");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("nvme"), "").unwrap();
    let told = machine(&folder);
    let link = link(dir.path(), &[]);
    link.attach(&attachment(12, "one")).unwrap();
    next(&told, "blockdev-add");
    let device = next(&told, "device_add");
    assert_eq!(device["bus"], "nvme.0");
    assert_eq!(device["lun"], 14);
}

#[test]
fn a_slot_that_another_disk_gets_is_emptied_first() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("nodes/n1");
    std::fs::create_dir_all(&folder).unwrap();
    let told = machine(&folder);
    let first = attachment(0, "one");
    let link = link(dir.path(), std::slice::from_ref(&first));
    next(&told, "blockdev-add");
    let device = next(&told, "device_add");
    link.detach(&first).unwrap();
    assert_eq!(next(&told, "device_del")["id"], device["id"]);
    next(&told, "blockdev-del");
    link.attach(&attachment(0, "two")).unwrap();
    next(&told, "blockdev-add");
    let other = next(&told, "device_add");
    assert_eq!(other["lun"], 0);
    assert_ne!(other["id"], device["id"]);
    assert_ne!(other["wwn"], device["wwn"]);
}

#[test]
fn what_an_earlier_simulator_plugged_is_taken_over_and_growth_reaches_the_machine() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("nodes/n1");
    std::fs::create_dir_all(&folder).unwrap();
    let kept = attachment(1, "one");
    let name = device_name(&kept);
    let told = machine_with(&folder, [name.clone(), "azure-9-512-stale".to_owned()]);
    let link = link(dir.path(), &[kept, attachment(2, "two")]);
    assert_eq!(next(&told, "device_del")["id"], "azure-9-512-stale");
    next(&told, "blockdev-del");
    next(&told, "blockdev-add");
    assert_eq!(next(&told, "device_add")["lun"], 2, "only the new one");
    link.resize("one", 4096).unwrap();
    let resized = next(&told, "block_resize");
    assert_eq!(resized["size"], 4096);
    assert_eq!(resized["node-name"], block_name(&name));
}
