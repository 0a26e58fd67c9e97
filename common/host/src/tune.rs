//! Queue settings of a device. Best effort: a disk that is not tuned still works.

use azcsi_types::op::Op;

use crate::devices::Disk;
use crate::roots::Roots;
use crate::sysfs;

/// What may be set, in the order in which it has to be: another scheduler resets the rest.
pub const SETTINGS: [&str; 9] = [
    "queue/scheduler",
    "queue/max_sectors_kb",
    "device/queue_depth",
    "queue/nr_requests",
    "queue/read_ahead_kb",
    "queue/rq_affinity",
    "queue/nomerges",
    "queue/io_timeout",
    "queue/wbt_lat_usec",
];

/// Settings for one device, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<(&'static str, String)>);

impl Settings {
    /// Takes the settings that are allowed; returns the names of the others as well.
    pub fn new(wanted: impl IntoIterator<Item = (String, String)>) -> (Self, Vec<String>) {
        let mut kept = Vec::new();
        let mut refused = Vec::new();
        for (name, value) in wanted {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            match SETTINGS.iter().position(|setting| *setting == name) {
                Some(at) if !value.is_empty() && value.chars().all(plain) => {
                    kept.push((at, value));
                }
                _ => refused.push(name),
            }
        }
        kept.sort();
        let kept = kept.into_iter().map(|(at, value)| (SETTINGS[at], value));
        (Self(kept.collect()), refused)
    }

    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

/// Writes queue settings.
#[derive(Clone, Debug)]
pub struct Tune {
    roots: Roots,
}

impl Tune {
    /// Under these roots.
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self { roots }
    }

    /// Writes the settings; returns what could not be set and why.
    #[must_use]
    pub fn apply(&self, _op: &Op, disk: &Disk, settings: &Settings) -> Vec<String> {
        let folder = self.roots.sys.join("class/block").join(&disk.name);
        let limit = sysfs::number(&folder.join("queue/max_hw_sectors_kb"));
        settings
            .iter()
            .filter_map(|(name, value)| {
                let value = clamp(name, value, limit);
                sysfs::write(&folder.join(name), &value).err()
            })
            .map(|error| azcsi_types::fault::report(&error))
            .collect()
    }
}

/// Keeps a value inside what the kernel takes.
fn clamp(name: &str, value: &str, limit: Option<u64>) -> String {
    let number: Option<u64> = value.parse().ok();
    match (name, number, limit) {
        ("queue/max_sectors_kb", Some(number), Some(limit)) => number.min(limit).to_string(),
        ("queue/nr_requests", Some(number), _) => number.max(4).to_string(),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use azcsi_types::clock::Deadline;
    use azcsi_types::op::Op;

    use super::{Settings, Tune};
    use crate::Roots;
    use crate::devices::{Class, Disk, Transport};
    use crate::mountinfo::DevT;

    fn settings(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::new(pairs.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())))
    }

    #[test]
    fn only_listed_settings_are_taken_in_a_fixed_order() {
        let (kept, refused) = settings(&[
            ("queue/nr_requests", "64"),
            ("device/delete", "1"),
            ("queue/../device/state", "offline"),
            ("queue/scheduler", "mq-deadline"),
            ("queue/read_ahead_kb", "8\n9"),
        ]);
        let names: Vec<_> = kept.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["queue/scheduler", "queue/nr_requests"]);
        assert_eq!(refused.len(), 3);
    }

    #[test]
    fn what_is_missing_does_not_stop_the_rest() {
        let tree = tempfile::tempdir().unwrap();
        let queue = tree.path().join("class/block/sdc/queue");
        fs::create_dir_all(&queue).unwrap();
        for (file, text) in [
            ("max_sectors_kb", ""),
            ("max_hw_sectors_kb", "512"),
            ("nr_requests", ""),
        ] {
            fs::write(queue.join(file), text).unwrap();
        }
        let roots = Roots {
            sys: tree.path().to_owned(),
            ..Roots::default()
        };
        let disk = Disk {
            name: "sdc".to_owned(),
            device: DevT {
                major: 8,
                minor: 32,
            },
            node: "/dev/sdc".into(),
            class: Class::Data,
            transport: Transport::Scsi,
        };
        let (kept, _) = settings(&[
            ("queue/max_sectors_kb", "1024"),
            ("device/queue_depth", "11"),
            ("queue/nr_requests", "2"),
        ]);
        let op = Op::start("test", Deadline::NEVER);
        let failed = Tune::new(roots).apply(&op, &disk, &kept);
        assert_eq!(failed.len(), 1);
        assert_eq!(
            fs::read_to_string(queue.join("max_sectors_kb")).unwrap(),
            "512"
        );
        assert_eq!(fs::read_to_string(queue.join("nr_requests")).unwrap(), "4");
    }
}
