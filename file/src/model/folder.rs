//! Paths of directories in a share, by the stricter rule of SMB, so that one path means one directory
//! over every protocol.

use std::fmt;
use std::str::FromStr;

/// Longest part of a path, in characters (naming rules of Azure Files).
const PART_LIMIT: usize = 255;
/// Longest path, in characters.
const PATH_LIMIT: usize = 1024;

/// A path of a directory in a share, never the root. It may still hold placeholders.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Folder(String);

/// Why a text is no such path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{}' is not a path in a share: no part may be empty, '.' or '..', longer than 255 characters, hold \\ : * ? \" < > | or a control character, or end in a dot or space",
    .0.escape_debug()
)]
pub struct NotAFolder(String);

impl Folder {
    /// The path, without a slash at either end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }
}

fn is_part(part: &str) -> bool {
    let bad = |c: char| c.is_control() || "\\:*?\"<>|".contains(c);
    !part.is_empty()
        && !part.ends_with(['.', ' '])
        && part.chars().count() <= PART_LIMIT
        && !part.chars().any(bad)
}

impl FromStr for Folder {
    type Err = NotAFolder;

    fn from_str(text: &str) -> Result<Self, NotAFolder> {
        let path = text.trim_matches('/');
        if path.chars().count() <= PATH_LIMIT && path.split('/').all(is_part) {
            Ok(Self(path.to_owned()))
        } else {
            Err(NotAFolder(text.chars().take(100).collect()))
        }
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Folder;

    #[test]
    fn nothing_leads_out_of_the_share_id_17() {
        for (text, path) in [
            ("/a/b/", "a/b"),
            ("ä b", "ä b"),
            ("${pvc.metadata.name}", "${pvc.metadata.name}"),
        ] {
            assert_eq!(text.parse::<Folder>().unwrap().as_str(), path);
        }
        for bad in [
            "",
            "/",
            ".",
            "..",
            "a/../b",
            "a//b",
            "a\\b",
            "a:b",
            "a.",
            "a ",
            "a\n",
            "a\u{0}b",
            &"x".repeat(256),
        ] {
            assert!(bad.parse::<Folder>().is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(text in ".{0,40}") {
            if let Ok(folder) = text.parse::<Folder>() {
                prop_assert_eq!(folder.to_string().parse::<Folder>(), Ok(folder));
            }
        }
    }
}
