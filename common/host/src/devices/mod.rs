//! Which device is at which LUN.
//!
//! The answer comes from sysfs, each time anew: names such as `sdc` move to other disks after a
//! detach or a reboot. Links under `/dev/disk/azure` are only a cross-check, because many images
//! lack them and some had wrong ones. Two devices that could both be meant are an error, never a
//! choice.

mod facts;
mod guard;
mod links;
mod nvme;
mod scsi;

use std::path::{Path, PathBuf};

use azcsi_types::lun::Lun;

pub use facts::Impatient;
pub use guard::{Changed, Guard};
pub(crate) use nvme::controllers as nvme_controllers;
pub(crate) use scsi::data_hosts as scsi_data_hosts;

use crate::mountinfo::DevT;
use crate::roots::Roots;
use crate::sysfs;

/// What the place of a device in sysfs says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// On a controller that only carries data disks.
    Data,
    /// On a controller that only carries system, temporary or key disks.
    System,
    /// Neither: nothing is known.
    Unknown,
}

/// How a device is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// SCSI over Hyper-V's storage bus.
    Scsi,
    /// NVMe.
    Nvme,
    /// Known only through a link under the device root.
    Other,
}

/// A whole disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The kernel's name of it, as of now.
    pub name: String,
    /// Its device number.
    pub device: DevT,
    /// Its device node.
    pub node: PathBuf,
    /// What its place says.
    pub class: Class,
    /// How it is connected.
    pub transport: Transport,
}

/// The answer to "which device is at this LUN".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Exactly one.
    One(Disk),
    /// None yet; what was seen instead, for the error message.
    Nothing {
        /// Names of devices that were looked at.
        seen: Vec<String>,
    },
    /// More than one.
    Ambiguous {
        /// Their names.
        names: Vec<String>,
    },
    /// sysfs and a link under the device root say different things. udev may still be working.
    Disagree {
        /// What sysfs says; empty when it knows none.
        sysfs: String,
        /// The link.
        link: PathBuf,
        /// Where it leads.
        leads_to: String,
    },
    /// There, but not usable yet.
    NotReady {
        /// The device.
        name: String,
        /// Why.
        why: String,
    },
}

/// Looks for devices under configurable roots.
#[derive(Clone, Debug)]
pub struct Devices {
    roots: Roots,
}

impl Devices {
    /// Looks under these roots.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self { roots }
    }

    /// The device at a LUN.
    #[must_use]
    pub fn find(&self, lun: Lun) -> Found {
        let mut all = scsi::at(&self.roots, lun);
        all.extend(nvme::at(&self.roots, lun));
        let links = links::at(&self.roots, lun);
        match decide(&all, &links) {
            Found::One(disk) => self.ready(disk),
            other => other,
        }
    }

    /// A disk by its device number: what is behind a mount.
    #[must_use]
    pub fn by_number(&self, device: DevT) -> Option<Disk> {
        let block = self.roots.sys.join("class/block");
        let name = sysfs::names(&block).into_iter().find(|name| {
            sysfs::text(&block.join(name).join("dev"))
                .and_then(|text| DevT::parse(&text))
                .is_some_and(|found| found == device)
        })?;
        disk(&self.roots, &name, Class::Unknown, transport_of(&name))
    }

    /// Size in bytes, as the kernel believes it now.
    #[must_use]
    pub fn size(&self, disk: &Disk) -> u64 {
        let sectors = sysfs::number(&self.folder(disk).join("size")).unwrap_or(0);
        sectors.saturating_mul(512)
    }

    /// A number that no two devices of one boot share (kernel 5.15).
    #[must_use]
    pub fn sequence(&self, disk: &Disk) -> Option<u64> {
        sysfs::number(&self.folder(disk).join("diskseq"))
    }

    /// The world-wide name of the disk, if it has one. Names that the kernel makes up from model and
    /// serial are left out: on Azure they are the same for all disks.
    #[must_use]
    pub fn hardware_id(&self, disk: &Disk) -> Option<String> {
        let folder = self.folder(disk);
        let file = match disk.transport {
            Transport::Scsi => folder.join("device/wwid"),
            Transport::Nvme | Transport::Other => folder.join("wwid"),
        };
        let text = sysfs::text(&file)?;
        (!text.is_empty() && !text.starts_with("nvme.")).then_some(text)
    }

    /// `false` once the kernel has given the device up.
    #[must_use]
    pub fn is_alive(&self, device: DevT) -> bool {
        self.by_number(device)
            .is_some_and(|disk| matches!(self.ready(disk), Found::One(_)))
    }

    /// What sits on top of the device or its partitions: multipath, LVM, md.
    #[must_use]
    pub fn holders(&self, disk: &Disk) -> Vec<String> {
        let folder = self.folder(disk);
        let mut holders = sysfs::names(&folder.join("holders"));
        for (_, name) in self.partitions(disk) {
            holders.extend(sysfs::names(&folder.join(name).join("holders")));
        }
        holders
    }

    /// Partition numbers and names.
    #[must_use]
    pub fn partitions(&self, disk: &Disk) -> Vec<(u32, String)> {
        let folder = self.folder(disk);
        sysfs::names(&folder)
            .into_iter()
            .filter_map(|name| {
                let number = sysfs::number(&folder.join(&name).join("partition"))?;
                Some((u32::try_from(number).ok()?, name))
            })
            .collect()
    }

    /// Whether this is a part of a disk.
    #[must_use]
    pub fn is_partition(&self, disk: &Disk) -> bool {
        exists(&self.folder(disk).join("partition"))
    }

    /// One partition as a device of its own.
    #[must_use]
    pub fn partition(&self, whole: &Disk, number: u32) -> Option<Disk> {
        let found = self
            .partitions(whole)
            .into_iter()
            .find(|(n, _)| *n == number);
        disk(&self.roots, &found?.1, whole.class, whole.transport)
    }

    /// How many errors ext4 has recorded since the filesystem was last checked.
    #[must_use]
    pub fn ext_errors(&self, disk: &Disk) -> Option<u64> {
        let folder = self.roots.sys.join("fs/ext4").join(&disk.name);
        sysfs::number(&folder.join("errors_count"))
    }

    /// Keeps a device open, so that its name and number cannot move to another disk.
    ///
    /// # Errors
    /// When it cannot be opened, or is already another device.
    pub fn guard(&self, disk: &Disk) -> Result<Guard, Changed> {
        Guard::open(self, disk)
    }

    fn folder(&self, disk: &Disk) -> PathBuf {
        self.roots.sys.join("class/block").join(&disk.name)
    }

    fn ready(&self, disk: Disk) -> Found {
        let state = sysfs::text(&self.folder(&disk).join("device/state"));
        let why = match state.as_deref() {
            Some(state) if state != "running" && state != "live" => {
                format!("the kernel says it is {state}")
            }
            _ if self.size(&disk) == 0 => "its size is 0".to_owned(),
            _ => return Found::One(disk),
        };
        Found::NotReady {
            name: disk.name,
            why,
        }
    }
}

fn transport_of(name: &str) -> Transport {
    if name.starts_with("nvme") {
        Transport::Nvme
    } else if name.starts_with("sd") {
        Transport::Scsi
    } else {
        Transport::Other
    }
}

/// Pure: candidates of sysfs and links of the device root, to an answer.
fn decide(all: &[Disk], links: &[links::Link]) -> Found {
    let data: Vec<&Disk> = all.iter().filter(|d| d.class == Class::Data).collect();
    match data.as_slice() {
        [] => by_links(all, links),
        [disk] => match links.iter().find(|link| link.disk.device != disk.device) {
            Some(link) => Found::Disagree {
                sysfs: disk.name.clone(),
                link: link.path.clone(),
                leads_to: link.disk.name.clone(),
            },
            None => Found::One((*disk).clone()),
        },
        many => Found::Ambiguous {
            names: many.iter().map(|disk| disk.name.clone()).collect(),
        },
    }
}

/// sysfs knows no data disk there. A device of unknown class is taken when the links agree on it;
/// its identity then has to be proven by other means. A link to a system disk is not believed.
fn by_links(all: &[Disk], links: &[links::Link]) -> Found {
    let Some(first) = links.first() else {
        return Found::Nothing {
            seen: all.iter().map(|disk| disk.name.clone()).collect(),
        };
    };
    if let Some(other) = links.iter().find(|l| l.disk.device != first.disk.device) {
        return Found::Ambiguous {
            names: vec![first.disk.name.clone(), other.disk.name.clone()],
        };
    }
    if first.disk.class == Class::Unknown {
        return Found::One(first.disk.clone());
    }
    Found::Disagree {
        sysfs: String::new(),
        link: first.path.clone(),
        leads_to: first.disk.name.clone(),
    }
}

/// A disk by its kernel name, if sysfs and the device root both know it.
fn disk(roots: &Roots, name: &str, class: Class, transport: Transport) -> Option<Disk> {
    let number = sysfs::text(&roots.sys.join("class/block").join(name).join("dev"))?;
    let node = roots.dev.join(name);
    exists(&node).then_some(Disk {
        name: name.to_owned(),
        device: DevT::parse(&number)?,
        node,
        class,
        transport,
    })
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests;
