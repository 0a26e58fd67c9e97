//! Absolute paths on a node.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// An absolute path without `.` or `..`, as the kubelet sends it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPath(PathBuf);

/// Why a text is not such a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{path}' is not usable as a path: {reason}")]
pub struct BadPath {
    path: String,
    reason: &'static str,
}

/// Longest path that Linux takes, in bytes (`PATH_MAX`, without the terminator).
const PATH_LIMIT: usize = 4095;

impl HostPath {
    /// The path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The folder that holds it; the root holds itself.
    #[must_use]
    pub fn parent(&self) -> &Path {
        self.0.parent().unwrap_or(&self.0)
    }
}

impl FromStr for HostPath {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        let bad = |reason| BadPath {
            path: text
                .chars()
                .take(200)
                .collect::<String>()
                .escape_debug()
                .to_string(),
            reason,
        };
        if text.len() > PATH_LIMIT {
            return Err(bad("it is longer than 4095 bytes"));
        }
        if text.contains('\0') {
            return Err(bad("it holds a NUL byte"));
        }
        let path = Path::new(text);
        if !path.is_absolute() {
            return Err(bad("it is not absolute"));
        }
        if path
            .components()
            .any(|part| matches!(part, Component::ParentDir))
        {
            return Err(bad("it holds '..'"));
        }
        // Rebuilding drops doubled slashes, '.' and a trailing slash, so equal places compare equal.
        Ok(Self(path.components().collect()))
    }
}

impl AsRef<Path> for HostPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<OsStr> for HostPath {
    fn as_ref(&self) -> &OsStr {
        self.0.as_os_str()
    }
}

impl fmt::Display for HostPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl fmt::Debug for HostPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::HostPath;
    use proptest::prelude::*;

    #[test]
    fn only_plain_absolute_paths_are_taken() {
        for (text, path) in [
            ("/a/b", "/a/b"),
            ("/a//b/./c/", "/a/b/c"),
            ("/", "/"),
            ("/with space", "/with space"),
        ] {
            assert_eq!(text.parse::<HostPath>().unwrap().to_string(), path);
        }
        for text in [
            "",
            "a/b",
            "some/path",
            "/a/../b",
            "/..",
            "/a\0b",
            &format!("/{}", "x".repeat(4096)),
        ] {
            assert!(text.parse::<HostPath>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn paths_round_trip(parts in proptest::collection::vec("[a-zA-Z0-9 _~.-]{1,12}", 1..8)) {
            prop_assume!(parts.iter().all(|p| p != "." && p != ".."));
            let path: HostPath = format!("/{}", parts.join("/")).parse().unwrap();
            prop_assert_eq!(&path.to_string().parse::<HostPath>().unwrap(), &path);
        }
    }
}
