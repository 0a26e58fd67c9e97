//! A second view of sysfs with the places and names that a virtual machine on Azure shows.
//!
//! QEMU's controllers hang on the PCI bus; Azure's hang on Hyper-V's bus, and their ids say whether
//! a disk is a data disk. The view binds the real sysfs piece by piece, and puts the SCSI
//! controllers below folders with Azure's ids. Everything in it is live: a disk that comes or goes
//! comes and goes there as well. What the view cannot show is Hyper-V's own driver.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::tools;
use crate::wire::{AZURE_SYS, SLOT_DATA, SLOT_KEYS, SLOT_SYSTEM};

const PCI: &str = "pci0000:00";
/// Microsoft's PCI vendor number.
const VENDOR: &str = "0x1414\n";
const LOCAL_MODEL: &str = "Microsoft NVMe Direct Disk v2\n";

/// Azure's id of the controller in a slot (facts: udev rules of WALinuxAgent).
fn azure_id(address: &str) -> Option<&'static str> {
    let ids = [
        (SLOT_SYSTEM, "f8b3781a-1e82-4818-a1c3-63d806ec15bb"),
        (SLOT_DATA, "f8b3781b-1e82-4818-a1c3-63d806ec15bb"),
        (SLOT_KEYS, "00000001-0001-8899-0000-000000000000"),
    ];
    ids.into_iter()
        .find(|(slot, _)| address == format!("0000:00:{slot:02x}.0"))
        .map(|(_, id)| id)
}

/// Builds the view.
pub(super) fn build() -> Result<()> {
    let real = Path::new("/sys");
    let view = Path::new(AZURE_SYS);
    for folder in ["bus", "class", "block", "dev", "fs"] {
        mirror(&real.join(folder), &view.join(folder))?;
    }
    let (real, view) = (real.join("devices"), view.join("devices"));
    children(&real, &view, &[PCI, "virtual"])?;
    pci(&real.join(PCI), &view)?;
    children(
        &real.join("virtual"),
        &view.join("virtual"),
        &["nvme-fabrics"],
    )?;
    fabrics(&real, &view)
}

/// Shows a folder as it is.
fn mirror(real: &Path, view: &Path) -> Result<()> {
    fs::create_dir_all(view)?;
    tools::bind(real, view)
}

/// Shows every folder below a folder, but for some.
fn children(real: &Path, view: &Path, but: &[&str]) -> Result<()> {
    fs::create_dir_all(view)?;
    for name in tools::names(real) {
        if real.join(&name).is_dir() && !but.contains(&name.as_str()) {
            mirror(&real.join(&name), &view.join(&name))?;
        }
    }
    Ok(())
}

fn pci(real: &Path, view: &Path) -> Result<()> {
    for address in tools::names(real) {
        let (from, to) = (real.join(&address), view.join(PCI).join(&address));
        if !from.is_dir() {
            continue;
        }
        match azure_id(&address) {
            Some(id) => controller(&from, &to, view, id)?,
            None => mirror(&from, &to)?,
        }
        local_disk(&to)?;
    }
    Ok(())
}

/// A SCSI controller: the driver's folder moves below Azure's id, and a link leads there from
/// where the kernel's own links look for it.
fn controller(from: &Path, to: &Path, view: &Path, id: &str) -> Result<()> {
    fs::create_dir_all(to)?;
    let bus = view.join("VMBUS:01").join(id);
    for name in tools::names(from) {
        if name.starts_with("virtio") {
            mirror(&from.join(&name), &bus)?;
            symlink(&bus, to.join(&name))?;
        }
    }
    Ok(())
}

/// A local NVMe disk gets the names of Azure's.
fn local_disk(place: &Path) -> Result<()> {
    for name in tools::names(&place.join("nvme")) {
        shadow(&place.join("nvme").join(name).join("model"), LOCAL_MODEL)?;
        shadow(&place.join("vendor"), VENDOR)?;
    }
    Ok(())
}

fn shadow(file: &Path, text: &str) -> Result<()> {
    let name = file.display().to_string().replace('/', "_");
    let stand_in = PathBuf::from(format!("{AZURE_SYS}.{name}"));
    fs::write(&stand_in, text)?;
    tools::bind(&stand_in, file)
}

/// The accelerator: its controller hangs on no PCI device, so one is put below its `device` link.
fn fabrics(real: &Path, view: &Path) -> Result<()> {
    let place = Path::new("virtual/nvme-fabrics/ctl");
    let (real, view) = (real.join(place), view.join(place));
    if !real.is_dir() {
        return Ok(());
    }
    children(&real, &view, &[])?;
    fs::write(view.join("vendor"), VENDOR)?;
    Ok(())
}
