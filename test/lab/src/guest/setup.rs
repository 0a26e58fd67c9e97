//! Second stage, in the root filesystem: mounts, names, addresses, udev; then the agent.

use std::fs;
use std::path::Path;

use anyhow::Result;
use nix::mount::{MsFlags, mount};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::{STAGE_AGENT, facts::Facts, nvme, say, sysview, tools};
use crate::wire::{GUEST_ADDRESS, RUN};

pub(super) fn run() -> Result<()> {
    let facts = Facts::read()?;
    mounts()?;
    tools::set(Path::new("/proc/sys/kernel/hostname"), &facts.name)?;
    network(&facts)?;
    if facts.udev {
        udev()?;
    }
    if facts.nvme {
        nvme::serve()?;
    }
    sysview::build()?;
    let mut agent = tools::command(&[&format!("{RUN}/guest"), STAGE_AGENT])?;
    let agent = agent.stdin(std::process::Stdio::null()).spawn()?;
    let agent = Pid::from_raw(i32::try_from(agent.id())?);
    // Children of programs that end become ours.
    loop {
        match waitpid(None::<Pid>, None) {
            Ok(WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..)) if pid == agent => break,
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    say("the agent ended");
    tools::power_off();
    Ok(())
}

fn mounts() -> Result<()> {
    fs::create_dir_all("/dev/pts")?;
    tools::mount_virtual("devpts", "/dev/pts")?;
    tools::mount_virtual("tmpfs", "/dev/shm")?;
    tools::mount_virtual("tmpfs", "/tmp")?;
    tools::mount_virtual("cgroup2", "/sys/fs/cgroup")?;
    // As on a node under systemd: what a pod mounts is seen by all.
    mount(
        None::<&str>,
        "/",
        None::<&str>,
        MsFlags::MS_REC | MsFlags::MS_SHARED,
        None::<&str>,
    )?;
    Ok(())
}

fn network(facts: &Facts) -> Result<()> {
    let ip = |argv: &str| {
        let words: Vec<&str> = argv.split(' ').collect();
        tools::run(&words)
    };
    ip("ip link set lo up")?;
    // The metadata service and Resource Manager answer on addresses of this machine; the agent
    // carries what comes there to the host.
    ip("ip addr add 169.254.169.254/32 dev lo")?;
    ip("ip addr add 169.254.169.253/32 dev lo")?;
    let host = tools::wait_for("the network card", || link_in_slot(3))?;
    ip(&format!("ip addr add {GUEST_ADDRESS}/24 dev {host}"))?;
    ip(&format!("ip link set {host} up"))?;
    if let Some(lan) = link_in_slot(4).filter(|_| !facts.lan.is_empty()) {
        ip(&format!("ip addr add {} dev {lan}", facts.lan))?;
        ip(&format!("ip link set {lan} up"))?;
    }
    Ok(())
}

/// The network card in a slot of the PCI bus.
fn link_in_slot(slot: u8) -> Option<String> {
    let address = format!("0000:00:{slot:02x}.0");
    tools::names(Path::new("/sys/class/net"))
        .into_iter()
        .find(|name| {
            fs::canonicalize(Path::new("/sys/class/net").join(name)).is_ok_and(|real| {
                real.iter()
                    .any(|part| part.to_str() == Some(address.as_str()))
            })
        })
}

fn udev() -> Result<()> {
    tools::run(&["/lib/systemd/systemd-udevd", "--daemon"])?;
    tools::run(&[
        "udevadm",
        "trigger",
        "--action=add",
        "--subsystem-match=block",
    ])?;
    tools::run(&["udevadm", "settle", "--timeout=60"])
}
