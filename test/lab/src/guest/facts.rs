//! What the runner tells a machine on the kernel's command line.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::tools;

/// The facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Host name.
    pub(super) name: String,
    /// Address on the network of the machines, with the length of its prefix.
    pub(super) lan: String,
    /// Whether udev runs.
    pub(super) udev: bool,
    /// Whether data disks are NVMe namespaces.
    pub(super) nvme: bool,
    /// Only start and end: the question is whether this kind of machine works at all.
    pub(super) probe: bool,
}

impl Facts {
    /// Those of this machine.
    pub(super) fn read() -> Result<Self> {
        let line = tools::text(Path::new("/proc/cmdline")).context("/proc/cmdline")?;
        Ok(Self::parse(&line))
    }

    fn parse(line: &str) -> Self {
        let mut facts = Self::default();
        let words = line
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("lab."));
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            match key {
                "name" => value.clone_into(&mut facts.name),
                "lan" => value.clone_into(&mut facts.lan),
                "udev" => facts.udev = true,
                "nvme" => facts.nvme = true,
                "probe" => facts.probe = true,
                _ => {}
            }
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::Facts;

    #[test]
    fn the_command_line_is_read() {
        let line = "console=ttyS0 quiet lab.name=n1 lab.lan=10.77.0.11/24 lab.udev lab.other=x";
        let facts = Facts::parse(line);
        assert_eq!(facts.name, "n1");
        assert_eq!(facts.lan, "10.77.0.11/24");
        assert!(facts.udev && !facts.nvme && !facts.probe);
    }
}
