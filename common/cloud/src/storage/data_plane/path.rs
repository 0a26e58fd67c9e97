//! Paths inside a share.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the characters that a URL never has to encode (RFC 3986, 2.3), so that what is
/// signed and what is sent cannot differ.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Encodes a text for a URL.
pub(super) fn encode(text: &str) -> impl fmt::Display + '_ {
    utf8_percent_encode(text, ENCODED)
}

/// A path of a file or directory, relative to the root of its share. Empty is the root.
///
/// NFS allows nearly everything in a name, so only what would name something else is refused; the
/// stricter rule of SMB is Azure's to check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SharePath(String);

/// Why a text is no path inside a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{}' is not a path inside a share: a part is empty, '.' or '..'", .0.escape_debug())]
pub struct NotASharePath(String);

impl SharePath {
    /// The root of the share.
    #[must_use]
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Something in this directory.
    ///
    /// # Errors
    /// If the name is empty, `.`, `..` or holds a `/`.
    pub fn join(&self, name: &str) -> Result<Self, NotASharePath> {
        if !is_name(name) || name.contains('/') {
            return Err(NotASharePath(name.chars().take(100).collect()));
        }
        Ok(if self.is_root() {
            Self(name.to_owned())
        } else {
            Self(format!("{}/{name}", self.0))
        })
    }

    /// The directory that this is in; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let above = self.0.rsplit_once('/').map_or("", |(above, _)| above);
        Some(Self(above.to_owned()))
    }

    /// The last part; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Whether it is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, without a slash at either end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As part of a URL, with a slash before each part.
    pub(super) fn encoded(&self) -> String {
        let mut url = String::new();
        for part in self.0.split('/').filter(|part| !part.is_empty()) {
            url.push_str(&format!("/{}", encode(part)));
        }
        url
    }
}

fn is_name(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && !part.contains('\0')
}

impl FromStr for SharePath {
    type Err = NotASharePath;

    /// Slashes at the ends do not count.
    fn from_str(text: &str) -> Result<Self, NotASharePath> {
        let body = text.trim_matches('/');
        if body.is_empty() || body.split('/').all(is_name) {
            Ok(Self(body.to_owned()))
        } else {
            Err(NotASharePath(text.chars().take(100).collect()))
        }
    }
}

impl fmt::Display for SharePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::SharePath;
    use proptest::prelude::*;

    #[test]
    fn nothing_leads_out_of_the_share() {
        for bad in ["..", "a/../b", "a//b", "./a", "a/."] {
            assert!(bad.parse::<SharePath>().is_err(), "{bad}");
        }
        let dir: SharePath = "/a/b/".parse().unwrap();
        for bad in ["", ".", "..", "x/y"] {
            assert!(dir.join(bad).is_err(), "{bad}");
        }
        assert_eq!(dir.join("c d").unwrap().encoded(), "/a/b/c%20d");
        assert_eq!(dir.parent().unwrap().as_str(), "a");
        assert_eq!(dir.parent().unwrap().parent(), Some(SharePath::root()));
        assert_eq!(SharePath::root().parent(), None);
        assert_eq!(dir.name(), "b");
    }

    proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(parts in proptest::collection::vec("[^/\\x00]{1,12}", 0..5)) {
            prop_assume!(parts.iter().all(|p| p != "." && p != ".."));
            let path: SharePath = parts.join("/").parse().unwrap();
            prop_assert_eq!(&path.to_string().parse::<SharePath>().unwrap(), &path);
            let decoded: Vec<String> = path.encoded().split('/').skip(1)
                .map(|s| percent_encoding::percent_decode_str(s).decode_utf8().unwrap().into_owned())
                .collect();
            prop_assert_eq!(decoded, parts);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,80}") {
            let _ = text.parse::<SharePath>();
        }
    }
}
