//! Which options a share is mounted with. Pure.
//!
//! Options are taken apart into single words before anything is looked up, so `uid=1,gid=2` in one
//! item counts as two. What the user says wins over a default; a default is added only when nothing
//! with the same effect is there; the order is the user's, then the defaults in the order below.

use azcsi_host::mount::{BadOption, MountOptions};

use crate::model::protocol::Protocol;

/// Which defaults are added (flags of the driver).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// SMB: a connection for each mount (`append-nosharesock-option`).
    pub own_connection: Toggle,
    /// SMB: close files at once (`append-closetimeo-option`).
    pub close_at_once: Toggle,
    /// NFS: a port above 1023 (`append-noresvport-option`).
    pub high_port: Toggle,
    /// NFS: attributes may be 30 seconds old (`append-actimeo-option`).
    pub cache_attributes: Toggle,
}

/// A switch that says what it is for where it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toggle {
    /// Added.
    On,
    /// Left out.
    Off,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            own_connection: Toggle::On,
            close_at_once: Toggle::Off,
            high_port: Toggle::On,
            cache_attributes: Toggle::On,
        }
    }
}

/// What a mount is asked to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The protocol.
    pub protocol: Protocol,
    /// The user's options.
    pub options: MountOptions,
    /// The group that the volume is to belong to (`volume_mount_group`).
    pub group: Option<&'a str>,
    /// Whether nothing may be written.
    pub read_only: bool,
}

/// The options, and what the user asked for beside the mount itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// For the kernel, without a login.
    pub options: MountOptions,
    /// The word `encryptInTransit` was among them.
    pub encrypt: bool,
    /// The class says one group and the pod another; the class wins.
    pub other_group: Option<String>,
}

/// Why options cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadOptions {
    /// One is not usable at all.
    #[error(transparent)]
    Word(#[from] BadOption),
    /// One is given twice with different values.
    #[error("the mount option '{name}' is given twice: as '{first}' and as '{second}'")]
    Twice {
        /// Its name.
        name: String,
        /// One value.
        first: String,
        /// The other.
        second: String,
    },
    /// One belongs to the driver.
    #[error("the mount option '{name}' cannot be set: {why}")]
    Reserved {
        /// Its name.
        name: String,
        /// Why.
        why: &'static str,
    },
    /// The group is no number.
    #[error("volume_mount_group '{0}' is not a number")]
    Group(String),
}

/// The name of an option: what is before its value.
#[must_use]
pub fn name_of(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

fn value_of(word: &str) -> &str {
    word.split_once('=').map_or("", |(_, value)| value)
}

/// Options that name who mounts, or from where: they come from Secrets and from the volume.
const LOGIN: [&str; 15] = [
    "username",
    "user",
    "password",
    "pass",
    "passwd",
    "password2",
    "pass2",
    "credentials",
    "cred",
    "ip",
    "addr",
    "unc",
    "source",
    "cruid",
    "upcall_target",
];

/// What is fixed for NFS, and what may be said about it all the same.
const FIXED_NFS: [(&str, &[&str]); 5] = [
    ("vers", &["4", "4.1"]),
    ("nfsvers", &["4", "4.1"]),
    ("minorversion", &["1"]),
    ("sec", &["sys"]),
    ("v4.1", &[""]),
];

/// Merges the options.
///
/// # Errors
/// For contradictions, and for options that belong to the driver.
pub fn merge(asked: &Asked<'_>, defaults: &Defaults) -> Result<Merged, BadOptions> {
    let mut merged = Merged {
        options: MountOptions::default(),
        encrypt: false,
        other_group: None,
    };
    for word in asked.options.words() {
        if word.eq_ignore_ascii_case("encryptintransit") {
            merged.encrypt = true;
        } else {
            take(&mut merged.options, word, asked.protocol)?;
        }
    }
    if asked.read_only && !merged.options.is_read_only() {
        merged.options.take("rw");
        merged.options.add("ro");
    }
    if let Some(group) = asked.group.filter(|group| !group.is_empty()) {
        if group.parse::<u32>().is_err() {
            return Err(BadOptions::Group(group.chars().take(100).collect()));
        }
        if asked.protocol == Protocol::Smb {
            merged.other_group = own_group(&mut merged.options, group);
        }
    }
    match asked.protocol {
        Protocol::Smb => smb(&mut merged.options, defaults),
        Protocol::Nfs => nfs(&mut merged.options, defaults),
    }
    Ok(merged)
}

/// Takes one word of the user's.
fn take(options: &mut MountOptions, word: &str, protocol: Protocol) -> Result<(), BadOptions> {
    let (name, value) = (name_of(word), value_of(word));
    let reserved = |why| {
        Err(BadOptions::Reserved {
            name: name.to_owned(),
            why,
        })
    };
    if LOGIN.iter().any(|login| login.eq_ignore_ascii_case(name)) {
        return reserved("who mounts, and from where, comes from the volume and its Secret");
    }
    if protocol == Protocol::Nfs {
        if let Some((_, allowed)) = FIXED_NFS.iter().find(|(fixed, _)| *fixed == name) {
            if allowed.contains(&value) {
                return Ok(());
            }
            return reserved("Azure Files speaks NFS 4.1 with sec=sys only");
        }
        if matches!(name, "v3" | "v4.0" | "v4.2" | "v4" | "proto" | "port") {
            return reserved("Azure Files speaks NFS 4.1 over TCP only");
        }
    }
    let same = |there: &&String| name_of(there) == name;
    match options.words().iter().find(same) {
        Some(there) if there.as_str() == word => Ok(()),
        Some(there) => Err(BadOptions::Twice {
            name: name.to_owned(),
            first: value_of(there).to_owned(),
            second: value.to_owned(),
        }),
        None => {
            options.add(word);
            Ok(())
        }
    }
}

/// The pod's group, unless the class names one; then the class's word is returned if it is another.
fn own_group(options: &mut MountOptions, group: &str) -> Option<String> {
    match options.words().iter().find(|word| name_of(word) == "gid") {
        None => {
            options.add(&format!("gid={group}"));
            None
        }
        Some(word) if value_of(word) == group => None,
        Some(word) => Some(value_of(word).to_owned()),
    }
}

/// Adds a default unless something with the same effect is there.
fn default(options: &mut MountOptions, word: &str, instead: &[&str]) {
    let name = name_of(word);
    let said = |there: &String| name_of(there) == name || instead.contains(&name_of(there));
    if !options.words().iter().any(said) {
        options.add(word);
    }
}

fn smb(options: &mut MountOptions, defaults: &Defaults) {
    default(options, "file_mode=0777", &[]);
    default(options, "dir_mode=0777", &[]);
    default(options, "actimeo=30", &["acregmax", "acdirmax"]);
    default(options, "mfsymlinks", &["nomfsymlinks"]);
    if defaults.own_connection == Toggle::On {
        default(options, "nosharesock", &["sharesock"]);
    }
    if defaults.close_at_once == Toggle::On {
        // A kernel that does not know the second word ignores it because of the first.
        default(options, "sloppy", &[]);
        default(options, "closetimeo=0", &[]);
    }
}

fn nfs(options: &mut MountOptions, defaults: &Defaults) {
    for word in ["vers=4", "minorversion=1", "sec=sys"] {
        options.add(word);
    }
    if defaults.high_port == Toggle::On {
        default(options, "noresvport", &["resvport"]);
    }
    if defaults.cache_attributes == Toggle::On {
        let others = ["acregmin", "acregmax", "acdirmin", "acdirmax", "noac"];
        default(options, "actimeo=30", &others);
    }
}

/// The options of a filesystem in a file: the user's, and nothing of SMB.
#[must_use]
pub fn for_disk(asked: &Asked<'_>) -> Merged {
    let mut options = asked.options.clone();
    if asked.read_only && !options.is_read_only() {
        options.take("rw");
        options.add("ro");
    }
    Merged {
        options,
        encrypt: false,
        other_group: None,
    }
}

/// The options of the share that holds a filesystem in a file; the user's are for that filesystem.
#[must_use]
pub fn of_vhd_share(defaults: &Defaults) -> MountOptions {
    let mut options = MountOptions::default();
    for word in [
        "dir_mode=0777",
        "file_mode=0777",
        "cache=strict",
        "actimeo=30",
        "nostrictsync",
    ] {
        options.add(word);
    }
    if defaults.own_connection == Toggle::On {
        options.add("nosharesock");
    }
    options
}

#[cfg(test)]
mod tests;
