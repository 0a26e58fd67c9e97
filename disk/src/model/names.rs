//! Names of disks and snapshots, derived from the names of the requests.
//!
//! The same request always leads to the same name, so that a retry finds what an earlier try made.
//! A name that had to be altered carries a hash of the original, so that two originals never meet.

use azcsi_types::disk_uri::{DISK_NAME_LIMIT, is_disk_name};
use sha2::{Digest, Sha256};

/// Hexadecimal digits of the hash in an altered name.
const DIGITS: usize = 12;

/// A valid name for the text; the text itself if it is one.
#[must_use]
pub fn derive(text: &str) -> String {
    within(text, DISK_NAME_LIMIT)
}

/// The same with a nearer limit, so that a prefix or suffix fits as well.
#[must_use]
pub fn within(text: &str, limit: usize) -> String {
    if is_disk_name(text) && text.len() <= limit {
        return text.to_owned();
    }
    let digest = Sha256::digest(text.as_bytes());
    let mut hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hash.truncate(DIGITS);
    let clean: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "_.-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .skip_while(|c| !c.is_ascii_alphanumeric())
        .take(limit.saturating_sub(DIGITS + 1))
        .collect();
    if clean.is_empty() {
        return format!("pvc-{hash}");
    }
    format!("{clean}-{hash}")
}

#[cfg(test)]
mod tests {
    use super::{derive, within};
    use azcsi_types::disk_uri::is_disk_name;
    use proptest::prelude::*;

    #[test]
    fn good_names_stay_and_others_are_told_apart() {
        assert_eq!(derive("pvc-1"), "pvc-1");
        let long = "x".repeat(81);
        let longer = "x".repeat(82);
        assert_ne!(derive(&long), derive(&longer));
        assert_ne!(derive("a b"), derive("a-b"));
        assert_ne!(derive("ä"), derive("ö"));
        assert_eq!(derive("a b"), derive("a b"));
    }

    proptest! {
        #[test]
        fn every_text_has_a_valid_name(text in ".{0,200}", limit in 30_usize..=80) {
            let name = within(&text, limit);
            prop_assert!(is_disk_name(&name), "{name}");
            prop_assert!(name.len() <= limit);
            prop_assert_eq!(within(&text, limit), name);
        }
    }
}
