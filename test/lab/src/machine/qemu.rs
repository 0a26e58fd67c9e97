//! The command line of a machine.
//!
//! Slots of the PCI bus are fixed, because udev rules and the guest program tell controllers by
//! them. The monitor socket that the simulator plugs disks through is `qmp.sock` in the machine's
//! folder.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use anyhow::Result;

use super::{Site, Spec};
use crate::wire::{
    AGENT_PORT, CSI_PORT, FILE_PORT, GUEST_ADDRESS, SHARES_TAG, SLOT_DATA, SLOT_KEYS, SLOT_NVME,
    SLOT_SYSTEM,
};

/// What a command line is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// What all machines share.
    pub site: &'a Site,
    /// What this one is.
    pub spec: &'a Spec,
    /// Where its disks and its monitor are.
    pub dir: &'a Path,
    /// Where its console goes.
    pub console: &'a Path,
    /// Port of the loopback that leads to its agent.
    pub agent_port: u16,
    /// Port of the loopback that leads to its driver.
    pub csi_port: u16,
    /// Port of the loopback that leads to its File driver.
    pub file_port: u16,
    /// Port of the loopback where its network cable is.
    pub lan_port: u16,
}

/// Size of a decoy, and the byte that it is full of.
pub const DECOY_BYTES: u64 = 16 << 20;
/// Files of decoys, each with the byte at its start and end.
pub const DECOYS: [(&str, u8); 4] = [
    ("temp.img", 0xa1),
    ("keys.img", 0xa2),
    ("local1.img", 0xa3),
    ("local2.img", 0xa4),
];

/// Makes the contents of the decoys: no zeros at either end, so that any format or write shows.
///
/// # Errors
/// When they cannot be written.
pub fn decoys(dir: &Path) -> Result<()> {
    for (name, byte) in DECOYS {
        let file = File::create(dir.join(name))?;
        file.set_len(DECOY_BYTES)?;
        let block = vec![byte; 1 << 20];
        file.write_all_at(&block, 0)?;
        file.write_all_at(&block, DECOY_BYTES - block.len() as u64)?;
    }
    Ok(())
}

/// Names of decoys whose contents are not what they were.
///
/// # Errors
/// When one cannot be read.
pub fn touched_decoys(dir: &Path) -> Result<Vec<String>> {
    let mut touched = Vec::new();
    for (name, byte) in DECOYS {
        let bytes = fs::read(dir.join(name))?;
        let edge = 1 << 20;
        let end = bytes.len() - edge;
        let is_whole = |(at, found): (usize, &u8)| {
            let wanted = if at < edge || at >= end { byte } else { 0 };
            *found == wanted
        };
        if !bytes.iter().enumerate().all(is_whole) {
            touched.push(name.to_owned());
        }
    }
    Ok(touched)
}

/// Program and arguments.
#[must_use]
pub fn command_line(parts: &Parts<'_>) -> Vec<String> {
    let mut argv = words(
        // The machine ends with the runner, however that ends.
        "setpriv --pdeathsig KILL -- qemu-system-x86_64 -machine q35 -smp 2 -nodefaults -no-user-config -display none",
    );
    argv.extend(parts.site.accel.options().map(str::to_owned));
    let image = &parts.site.image;
    for (option, value) in [
        ("-m", parts.spec.memory.to_string()),
        ("-kernel", image.kernel().display().to_string()),
        ("-initrd", parts.site.ramdisk.display().to_string()),
        ("-append", kernel_arguments(parts.spec)),
        ("-serial", format!("file:{}", parts.console.display())),
        (
            "-qmp",
            format!("unix:{}/qmp.sock,server=on,wait=off", parts.dir.display()),
        ),
    ] {
        argv.extend([option.to_owned(), value]);
    }
    network(&mut argv, parts);
    controllers(&mut argv, parts.spec);
    system_disk(&mut argv, parts);
    if parts.spec.decoys {
        decoy_disks(&mut argv, parts);
    }
    if let Some(folder) = &parts.spec.shares {
        argv.extend([
            "-virtfs".to_owned(),
            format!(
                "local,path={},mount_tag={SHARES_TAG},security_model=none",
                folder.display()
            ),
        ]);
    }
    argv
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// What made machines start faster; and `no_timer_check`, because on a busy host the kernel's test of
/// its timer comes too late and it gives up.
fn kernel_arguments(spec: &Spec) -> String {
    let mut line = format!(
        "console=ttyS0 mitigations=off no5lvl nokaslr nowatchdog audit=0 apparmor=0 tsc=reliable \
         clocksource=tsc quiet panic=0 no_timer_check lab.name={} lab.lan={}/24",
        spec.name,
        spec.address()
    );
    if spec.udev {
        line.push_str(" lab.udev");
    }
    if spec.nvme {
        line.push_str(" lab.nvme");
    }
    line
}

fn network(argv: &mut Vec<String>, parts: &Parts<'_>) {
    let (agent, csi, lan) = (parts.agent_port, parts.csi_port, parts.lan_port);
    let forward =
        |host: u16, guest: u16| format!("hostfwd=tcp:127.0.0.1:{host}-{GUEST_ADDRESS}:{guest}");
    let mac = |link: u8| format!("mac=52:54:00:77:{link:02x}:{:02x}", parts.spec.number);
    argv.extend([
        "-netdev".to_owned(),
        format!(
            "user,id=host,{},{},{}",
            forward(agent, AGENT_PORT),
            forward(csi, CSI_PORT),
            forward(parts.file_port, FILE_PORT)
        ),
        "-device".to_owned(),
        format!("virtio-net-pci,netdev=host,addr=3,romfile=,{}", mac(1)),
        "-netdev".to_owned(),
        format!("socket,id=lan,connect=127.0.0.1:{lan}"),
        "-device".to_owned(),
        format!("virtio-net-pci,netdev=lan,addr=4,romfile=,{}", mac(2)),
    ]);
}

fn controllers(argv: &mut Vec<String>, spec: &Spec) {
    for (id, slot) in [
        ("scsi0", SLOT_SYSTEM),
        ("scsi1", SLOT_DATA),
        ("keys", SLOT_KEYS),
        ("nvme", SLOT_NVME),
    ] {
        // A controller for data disks tells nobody that a disk grew: the driver has to look.
        let silent = match (id, spec.silent) {
            ("scsi1", true) => ",param_change=off,hotplug=off",
            ("scsi1", false) => ",param_change=off",
            _ => "",
        };
        argv.extend([
            "-device".to_owned(),
            format!("virtio-scsi-pci,id={id},addr={slot:02x}{silent}"),
        ]);
    }
}

fn system_disk(argv: &mut Vec<String>, parts: &Parts<'_>) {
    let file = parts.dir.join("os.qcow2").display().to_string();
    blockdev(
        argv,
        &format!("driver=qcow2,node-name=os,file.driver=file,file.filename={file}"),
    );
    azure_disk(argv, "scsi0", 0, "os");
    if let Some(drivers) = &parts.site.drivers {
        let drivers = drivers.display();
        blockdev(
            argv,
            &format!(
                "driver=raw,node-name=drivers,read-only=on,file.driver=file,file.locking=off,file.filename={drivers}"
            ),
        );
        argv.extend([
            "-device".to_owned(),
            "virtio-blk-pci,drive=drivers,addr=14".to_owned(),
        ]);
    }
}

/// What else looks like a disk of Azure: the temporary disk and the volume with keys, at LUN 1
/// each, the NVMe system disk in namespace 1, and two namespaces of a local NVMe disk, one of them
/// with a number that a data disk would have.
fn decoy_disks(argv: &mut Vec<String>, parts: &Parts<'_>) {
    for (name, _) in DECOYS {
        let file = parts.dir.join(name).display().to_string();
        let node = name.trim_end_matches(".img");
        blockdev(
            argv,
            &format!("driver=raw,node-name={node},file.driver=file,file.filename={file}"),
        );
    }
    azure_disk(argv, "scsi0", 1, "temp");
    azure_disk(argv, "keys", 1, "keys");
    argv.extend(words(
        "-device nvme,id=local,addr=15,serial=local -device nvme-ns,bus=local,nsid=1,drive=local1 \
         -device nvme-ns,bus=local,nsid=2,drive=local2",
    ));
}

fn blockdev(argv: &mut Vec<String>, options: &str) {
    argv.extend(["-blockdev".to_owned(), options.to_owned()]);
}

fn azure_disk(argv: &mut Vec<String>, bus: &str, lun: u8, node: &str) {
    argv.extend([
        "-device".to_owned(),
        format!(
            "scsi-hd,bus={bus}.0,channel=0,scsi-id=0,lun={lun},drive={node},vendor=Msft,product=Virtual Disk"
        ),
    ]);
}
