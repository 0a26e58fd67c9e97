//! NVMe namespaces as Azure numbers them.
//!
//! QEMU cannot hot-plug a namespace, and gives its controllers neither Azure's model nor its vendor
//! number. So the kernel's own NVMe target shows every hot-plugged SCSI disk of one controller as a
//! namespace of an "accelerator", and the kernel's own NVMe host attaches to it over TCP on the
//! loopback. Arrival, removal and growth of namespaces reach the host as asynchronous events, as
//! they do on Azure. The slot of the SCSI disk is the namespace number.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{say, tools};
use crate::wire::SLOT_NVME;

const CONFIG: &str = "/sys/kernel/config";
const NAME: &str = "nqn.2014-08.com.example:accelerator";
const HOST: &str = "6f1d7a52-8a5e-4d67-9d6c-0c1e5b7f0001";
/// Facts: azure-vm-utils, kernel quirks for vendor 0x1414.
const MODEL: &str = "MSFT NVMe Accelerator v1.0";
const SERIAL: &str = "SN: 000001";
const PORT: &str = "4420";

/// Starts target and host. New disks are shown by [`follow`].
pub(super) fn serve() -> Result<()> {
    tools::run(&["modprobe", "-a", "nvmet-tcp", "nvme-tcp"])?;
    tools::mount_virtual("configfs", CONFIG)?;
    let target = subsystem();
    fs::create_dir_all(&target)?;
    tools::set(&target.join("attr_allow_any_host"), "1")?;
    tools::set(&target.join("attr_model"), MODEL)?;
    tools::set(&target.join("attr_serial"), SERIAL)?;
    let port = Path::new(CONFIG).join("nvmet/ports/1");
    fs::create_dir_all(&port)?;
    for (file, value) in [
        ("addr_adrfam", "ipv4"),
        ("addr_trtype", "tcp"),
        ("addr_traddr", "127.0.0.1"),
        ("addr_trsvcid", PORT),
    ] {
        tools::set(&port.join(file), value)?;
    }
    std::os::unix::fs::symlink(&target, port.join("subsystems").join(NAME))?;
    let mut shown = BTreeMap::new();
    follow(&mut shown);
    connect()
}

/// Shows disks that came, hides those that went, and tells of those that grew.
pub(super) fn follow(shown: &mut BTreeMap<u32, Shown>) {
    let present = present();
    let gone: Vec<u32> = shown
        .iter()
        .filter(|(number, old)| present.get(number).is_none_or(|new| new.name != old.name))
        .map(|(number, _)| *number)
        .collect();
    for number in gone {
        shown.remove(&number);
        report(number, hide(number));
    }
    for (number, new) in present {
        match shown.get(&number) {
            None => report(number, show(number, &new)),
            Some(old) if old.sectors != new.sectors => {
                let file = folder(number).join("revalidate_size");
                report(number, tools::set(&file, "1"));
            }
            Some(_) => continue,
        }
        shown.insert(number, new);
    }
}

fn report(number: u32, result: Result<()>) {
    if let Err(error) = result {
        say(&format!("namespace {number}: {error:#}"));
    }
}

/// A disk behind a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    name: String,
    sectors: String,
    wwid: String,
}

fn present() -> BTreeMap<u32, Shown> {
    let devices = Path::new("/sys/bus/scsi/devices");
    let slot = format!("0000:00:{SLOT_NVME:02x}.0");
    let mut found = BTreeMap::new();
    for address in tools::names(devices) {
        let folder = devices.join(&address);
        let ours = fs::canonicalize(&folder)
            .is_ok_and(|real| real.iter().any(|part| part.to_str() == Some(slot.as_str())));
        let number = address.rsplit(':').next().and_then(|lun| lun.parse().ok());
        let (true, Some(number)) = (ours, number) else {
            continue;
        };
        let Some(name) = tools::names(&folder.join("block")).into_iter().next() else {
            continue;
        };
        let block = Path::new("/sys/class/block").join(&name);
        let sectors = tools::text(&block.join("size")).unwrap_or_default();
        if sectors.is_empty() || sectors == "0" || !Path::new("/dev").join(&name).exists() {
            continue;
        }
        let wwid = tools::text(&folder.join("wwid")).unwrap_or_default();
        let shown = Shown {
            name,
            sectors,
            wwid,
        };
        found.insert(number, shown);
    }
    found
}

fn subsystem() -> PathBuf {
    Path::new(CONFIG).join("nvmet/subsystems").join(NAME)
}

fn folder(number: u32) -> PathBuf {
    subsystem().join("namespaces").join(number.to_string())
}

fn show(number: u32, disk: &Shown) -> Result<()> {
    let folder = folder(number);
    // The first process showed what was there at the start; the agent goes on from that.
    if tools::text(&folder.join("enable")).as_deref() == Some("1") {
        return Ok(());
    }
    fs::create_dir_all(&folder)?;
    tools::set(&folder.join("device_path"), &format!("/dev/{}", disk.name))?;
    tools::set(&folder.join("device_uuid"), &uuid(&disk.wwid))?;
    tools::set(&folder.join("enable"), "1")
}

fn hide(number: u32) -> Result<()> {
    let folder = folder(number);
    tools::set(&folder.join("enable"), "0")?;
    fs::remove_dir(&folder).with_context(|| folder.display().to_string())
}

/// A UUID that is the same wherever the disk is: its world-wide name, padded.
fn uuid(wwid: &str) -> String {
    let digits: String = wwid.chars().filter(char::is_ascii_hexdigit).collect();
    let text = format!("{digits:0<32}");
    let part = |from, to| text.get(from..to).unwrap_or_default();
    [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ]
    .join("-")
}

fn connect() -> Result<()> {
    let mut fabrics = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/nvme-fabrics")
        .context("/dev/nvme-fabrics")?;
    let wish = format!(
        "transport=tcp,traddr=127.0.0.1,trsvcid={PORT},nqn={NAME},nr_io_queues=2,\
         hostnqn=nqn.2014-08.org.nvmexpress:uuid:{HOST},hostid={HOST}"
    );
    fabrics
        .write_all(wish.as_bytes())
        .context("connecting to the NVMe target")?;
    let mut answer = String::new();
    fabrics.read_to_string(&mut answer)?;
    say(&format!("NVMe: {}", answer.trim()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn a_uuid_has_the_digits_of_the_name() {
        assert_eq!(
            uuid("naa.3123456789abcdef"),
            "aa312345-6789-abcd-ef00-000000000000"
        );
    }
}
