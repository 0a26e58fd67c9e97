//! Trees of sysfs as virtual machines of several kinds show them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use azcsi_types::lun::Lun;

use super::{Class, Devices, Found, Transport};
use crate::Roots;

/// A machine made of files.
struct Machine {
    tree: tempfile::TempDir,
    devices: u64,
}

const A: &str = "f8b3781a-1e82-4818-a1c3-63d806ec15bb";
const B: &str = "f8b3781b-1e82-4818-a1c3-63d806ec15bb";
const C: &str = "f8b3781c-1e82-4818-a1c3-63d806ec15bb";
const BEK: &str = "00000001-0001-8899-0000-000000000000";

impl Machine {
    fn new() -> Self {
        let machine = Self {
            tree: tempfile::tempdir().unwrap(),
            devices: 0,
        };
        fs::create_dir_all(machine.sys("bus/scsi/devices")).unwrap();
        fs::create_dir_all(machine.sys("class/block")).unwrap();
        fs::create_dir_all(machine.tree.path().join("dev")).unwrap();
        machine
    }

    fn sys(&self, path: impl AsRef<Path>) -> PathBuf {
        self.tree.path().join("sys").join(path)
    }

    fn put(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.sys(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn block(&mut self, folder: &str, name: &str) {
        self.devices += 16;
        self.put(format!("{folder}/dev"), &format!("8:{}\n", self.devices));
        self.put(format!("{folder}/size"), "8388608\n");
        symlink(self.sys(folder), self.sys(format!("class/block/{name}"))).unwrap();
        fs::write(self.tree.path().join("dev").join(name), "").unwrap();
    }

    fn scsi(mut self, bus: &str, address: &str, name: &str) -> Self {
        let folder = format!("devices/VMBUS:01/{bus}/host/{address}");
        for (file, text) in [
            ("type", "0"),
            ("vendor", "Msft    "),
            ("model", "Virtual Disk    "),
            ("state", "running"),
        ] {
            self.put(format!("{folder}/{file}"), text);
        }
        let block = format!("{folder}/block/{name}");
        self.block(&block, name);
        symlink(self.sys(&folder), self.sys(format!("{block}/device"))).unwrap();
        let address = self.sys(format!("bus/scsi/devices/{address}"));
        symlink(self.sys(&folder), address).unwrap();
        self
    }

    fn controller(self, name: &str, model: &str) -> Self {
        self.put(format!("devices/pci/{name}/model"), model);
        self.put(format!("devices/pci/{name}/device/vendor"), "0x1414");
        self
    }

    fn nvme(mut self, name: &str, nsid: u32) -> Self {
        let (controller, _) = name.rsplit_once('n').unwrap();
        let folder = format!("devices/pci/{controller}/{name}");
        self.put(format!("{folder}/nsid"), &nsid.to_string());
        self.block(&folder, name);
        let device = self.sys(format!("{folder}/device"));
        symlink(self.sys(format!("devices/pci/{controller}")), device).unwrap();
        self
    }

    fn other(mut self, name: &str) -> Self {
        self.block(&format!("devices/virtual/{name}"), name);
        self
    }

    fn link(self, link: &str, name: &str) -> Self {
        let path = self.tree.path().join("dev/disk/azure").join(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(self.tree.path().join("dev").join(name), path).unwrap();
        self
    }

    fn find(&self, lun: i64) -> Found {
        let devices = Devices::new(Roots {
            sys: self.tree.path().join("sys"),
            dev: self.tree.path().join("dev"),
            proc: "/proc".into(),
        });
        devices.find(Lun::try_from(lun).unwrap())
    }

    fn name_at(&self, lun: i64) -> String {
        match self.find(lun) {
            Found::One(disk) => disk.name,
            other => panic!("{other:?}"),
        }
    }
}

/// Generation 2: system disks on one controller, data disks on another.
fn gen2() -> Machine {
    Machine::new()
        .scsi(A, "0:0:0:0", "sda")
        .scsi(A, "0:0:0:1", "sdb")
        .scsi(B, "1:0:0:0", "sdc")
        .scsi(B, "1:0:0:1", "sdd")
}

#[test]
fn t1_the_data_controller_decides_without_any_link_nd_02() {
    assert_eq!(gen2().name_at(1), "sdd");
}

#[test]
fn t2_a_link_that_disagrees_is_refused() {
    let machine = gen2().link("scsi1/lun1", "sdb");
    assert!(matches!(machine.find(1), Found::Disagree { .. }));
    let good = gen2()
        .link("scsi1/lun1", "sdd")
        .link("data/by-lun/1", "sdd");
    assert_eq!(good.name_at(1), "sdd");
}

#[test]
fn t2b_a_link_to_a_system_disk_is_not_believed_even_alone() {
    let machine = gen2().link("scsi1/lun7", "sdb");
    assert!(matches!(machine.find(7), Found::Disagree { .. }));
}

#[test]
fn t3_one_lun_on_two_data_controllers_is_ambiguous() {
    let machine = Machine::new()
        .scsi(B, "1:0:0:3", "sdc")
        .scsi(C, "2:0:0:3", "sde");
    assert!(matches!(machine.find(3), Found::Ambiguous { .. }));
}

#[test]
fn t4_a_data_disk_may_be_called_sda() {
    let machine = Machine::new()
        .scsi(A, "3:0:0:0", "sdc")
        .scsi(B, "0:0:0:0", "sda");
    assert_eq!(machine.name_at(0), "sda");
}

const ACCELERATOR: &str = "MSFT NVMe Accelerator v1.0";
const LOCAL: &str = "Microsoft NVMe Direct Disk v2";

#[test]
fn t5_t6_namespace_ids_count_not_names_nd_04() {
    let machine = Machine::new()
        .controller("nvme0", ACCELERATOR)
        .controller("nvme1", ACCELERATOR)
        .controller("nvme2", LOCAL)
        .nvme("nvme0n1", 1)
        .nvme("nvme1n1", 2)
        .nvme("nvme1n2", 3)
        .nvme("nvme2n1", 1);
    assert_eq!(machine.name_at(0), "nvme1n1");
    assert_eq!(machine.name_at(1), "nvme1n2");
    let swapped = Machine::new()
        .controller("nvme0", ACCELERATOR)
        .controller("nvme1", ACCELERATOR)
        .nvme("nvme1n1", 1)
        .nvme("nvme0n2", 2)
        .nvme("nvme0n1", 3);
    assert_eq!(swapped.name_at(0), "nvme0n2");
}

#[test]
fn t7_gaps_in_the_names_do_not_matter() {
    let machine = Machine::new()
        .controller("nvme0", ACCELERATOR)
        .nvme("nvme0n4", 14);
    assert_eq!(machine.name_at(12), "nvme0n4");
}

#[test]
fn t8_a_local_disk_is_never_a_data_disk() {
    let machine = Machine::new()
        .controller("nvme0", LOCAL)
        .nvme("nvme0n1", 1)
        .nvme("nvme0n2", 2);
    assert!(matches!(machine.find(0), Found::Nothing { .. }));
    let linked = machine.link("data/by-lun/0", "nvme0n2");
    assert!(matches!(linked.find(0), Found::Disagree { .. }));
}

#[test]
fn t9_a_disk_that_comes_later_is_found_by_the_next_look_nd_05() {
    let machine = gen2();
    assert!(matches!(machine.find(5), Found::Nothing { .. }));
    assert_eq!(machine.scsi(B, "1:0:0:5", "sde").name_at(5), "sde");
}

#[test]
fn t10_an_offline_or_empty_disk_is_not_ready() {
    let machine = gen2();
    let folder = format!("devices/VMBUS:01/{B}/host/1:0:0:1");
    machine.put(format!("{folder}/state"), "offline\n");
    assert!(matches!(machine.find(1), Found::NotReady { .. }));
    machine.put(format!("{folder}/state"), "running\n");
    machine.put(format!("{folder}/block/sdd/size"), "0\n");
    assert!(matches!(machine.find(1), Found::NotReady { .. }));
}

#[test]
fn t11_the_disk_with_encryption_keys_is_no_data_disk_nd_02() {
    let machine = Machine::new()
        .scsi(BEK, "4:0:0:1", "sdb")
        .scsi(B, "1:0:0:1", "sdc");
    assert_eq!(machine.name_at(1), "sdc");
}

#[test]
fn t12_a_disk_without_a_block_device_is_looked_for_again() {
    let machine = gen2();
    let block = format!("devices/VMBUS:01/{B}/host/1:0:0:1/block/sdd");
    fs::remove_dir_all(machine.sys(block)).unwrap();
    assert!(matches!(machine.find(1), Found::Nothing { .. }));
}

#[test]
fn a_device_known_only_by_links_has_no_class() {
    let machine = Machine::new()
        .other("loop7")
        .other("loop8")
        .link("scsi1/lun3", "loop7")
        .link("data/by-lun/3", "loop7")
        .link("scsi1/lun4", "loop7")
        .link("data/by-lun/4", "loop8");
    let Found::One(disk) = machine.find(3) else {
        panic!("not found");
    };
    assert_eq!(
        (disk.class, disk.transport),
        (Class::Unknown, Transport::Other)
    );
    assert!(matches!(machine.find(4), Found::Ambiguous { .. }));
}

#[test]
fn a_disk_of_another_maker_is_never_taken() {
    let machine = gen2();
    let folder = format!("devices/VMBUS:01/{B}/host/1:0:0:1");
    machine.put(format!("{folder}/model"), "Virtual DVD-ROM");
    assert!(matches!(machine.find(1), Found::Nothing { .. }));
}
