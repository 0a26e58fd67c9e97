//! Names of shares that the driver makes up.
//!
//! A name follows from the volume's name alone, so that a repeated request finds the share of the
//! first. Names of other drivers' making stay: `pvc-<uid>` gives the share `pvc-<uid>`.

use azcsi_types::share::{SHARE_NAME_LENGTH, ShareName};
use sha2::{Digest as _, Sha256};

use super::protocol::Protocol;

/// What the name of a share is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base<'a> {
    /// The volume's name.
    pub volume: &'a str,
    /// What goes before it.
    pub prefix: Option<&'a str>,
    /// The protocol of the share.
    pub protocol: Protocol,
    /// Whether it holds a disk file.
    pub vhd: bool,
}

/// The name of a volume's share.
#[must_use]
pub fn derive(base: &Base<'_>) -> Option<ShareName> {
    let source = match (base.prefix, base.protocol, base.vhd) {
        (Some(prefix), _, _) => format!("{prefix}-{}", base.volume),
        (None, _, true) => base.volume.replacen("pvc", "pvcd", 1),
        (None, Protocol::Nfs, false) => base.volume.replacen("pvc", "pvcn", 1),
        (None, Protocol::Smb, false) => base.volume.to_owned(),
    };
    let lower = source.to_ascii_lowercase();
    if let Ok(name) = lower.parse() {
        return Some(name);
    }
    // What was changed or cut could make two volumes one share: a digest keeps them apart.
    let digest = hex(&Sha256::digest(source.as_bytes()), 12);
    let mut text = String::new();
    for c in lower.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '-' };
        if c != '-' || !(text.is_empty() || text.ends_with('-')) {
            text.push(c);
        }
    }
    text.truncate(SHARE_NAME_LENGTH.1 - digest.len() - 1);
    let text = text.trim_end_matches('-');
    let text = if text.is_empty() {
        "pvc-file-dynamic"
    } else {
        text
    };
    format!("{text}-{digest}").parse().ok()
}

/// The first characters of a digest.
#[must_use]
pub fn hex(digest: &[u8], length: usize) -> String {
    let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    text.chars().take(length).collect()
}

/// Whether a share's name looks like one that a driver made up for a single volume: those of old have
/// nothing else that tells it.
#[must_use]
pub fn is_made_up(share: &ShareName) -> bool {
    let name = share.as_str();
    let uid = |text: &str| {
        let lengths = text.split('-').map(str::len);
        lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
    };
    let starts = ["pvc-", "pvcn-", "pvcd-", "pvc-file-dynamic-"];
    starts
        .iter()
        .any(|start| name.strip_prefix(start).is_some_and(uid))
        || name.contains("-dynamic-pvc-")
        || name.contains("-pvc-")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Base, derive, is_made_up};
    use crate::model::protocol::Protocol;

    fn name(volume: &str, prefix: Option<&str>, protocol: Protocol) -> String {
        let base = Base {
            volume,
            prefix,
            protocol,
            vhd: false,
        };
        derive(&base).unwrap().to_string()
    }

    const UID: &str = "pvc-3f0e3b4a-1111-2222-3333-444455556666";

    #[test]
    fn usual_names_are_those_of_old() {
        assert_eq!(name(UID, None, Protocol::Smb), UID);
        assert_eq!(name(UID, None, Protocol::Nfs), UID.replace("pvc", "pvcn"));
        assert_eq!(
            name(UID, Some("team"), Protocol::Nfs),
            format!("team-{UID}")
        );
        assert!(is_made_up(&UID.parse().unwrap()));
        assert!(is_made_up(&format!("team-{UID}").parse().unwrap()));
        assert!(is_made_up(&"kubernetes-dynamic-pvc-1".parse().unwrap()));
        assert!(!is_made_up(&"shared-data".parse().unwrap()));
    }

    #[test]
    fn names_that_had_to_be_changed_do_not_meet_id_14() {
        let long = "x".repeat(80);
        let names = [
            "a--b",
            "a-b!",
            "A_b",
            "ä",
            "-",
            "..",
            &long,
            &format!("{long}y"),
        ];
        let mut made: Vec<String> = names.iter().map(|n| name(n, None, Protocol::Smb)).collect();
        made.sort();
        made.dedup();
        assert_eq!(made.len(), names.len());
    }

    proptest! {
        #[test]
        fn every_volume_has_a_name(volume in ".{1,140}", prefix in proptest::option::of("[a-z0-9][a-z0-9-]{0,19}")) {
            let once = name(&volume, prefix.as_deref(), Protocol::Nfs);
            prop_assert_eq!(once, name(&volume, prefix.as_deref(), Protocol::Nfs));
        }
    }
}
