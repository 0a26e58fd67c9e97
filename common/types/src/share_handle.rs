//! Volume ids and snapshot ids of the file driver, in every shape that was ever written.
//!
//! `group#account#share#disk#unique#namespace#subscription`, of which the last four may be missing,
//! and the group may be empty. The in-tree driver's translation writes the name of the volume where a
//! disk's name would be, and the namespace behind it. A snapshot id is a volume id, the snapshot's time
//! and a subscription, the last two in either order.
//!
//! What this driver adds is in places that others do not look at: a directory is behind the share's
//! name, where a hand-written id may have one too, and how the share is managed is behind an `@` in the
//! unique part. A driver that is rolled back to mounts and deletes nothing else by it.

use std::fmt;
use std::str::FromStr;

use crate::account::{AccountName, NotAnAccount};
use crate::share::{NotAShare, ShareName, SnapshotTime};

/// Longest text that is looked at, in bytes.
const LIMIT: usize = 1024;

/// How a share is managed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Plane {
    /// Through Azure Resource Manager.
    #[default]
    Management,
    /// Through the file service, with the account's key.
    Key,
    /// Through the file service, with the driver's identity.
    Oauth,
}

impl Plane {
    const MARKS: [(&'static str, Self); 2] = [("key", Self::Key), ("oauth", Self::Oauth)];
}

/// What a volume id says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShareParts {
    /// The resource group; `None` for the configured one.
    pub resource_group: Option<String>,
    /// The account; `None` where only the request's secrets tell it.
    pub account: Option<AccountName>,
    /// The share.
    pub share: ShareName,
    /// The directory in it that is the volume; `None` for the whole share.
    pub directory: Option<String>,
    /// The file that holds a filesystem, of a VHD volume.
    pub disk: Option<String>,
    /// What makes the id differ from those of other volumes in the same share: the volume's name.
    pub unique: Option<String>,
    /// How the share is managed.
    pub plane: Plane,
    /// The suffix of the account's host, if it is not the cloud's.
    pub suffix: Option<String>,
    /// Namespace of the Secret with the account's key.
    pub namespace: Option<String>,
    /// The subscription, a GUID; `None` for the configured one.
    pub subscription: Option<String>,
}

impl ShareParts {
    /// A whole share of an account in the configured place.
    #[must_use]
    pub const fn of(account: AccountName, share: ShareName) -> Self {
        Self {
            resource_group: None,
            account: Some(account),
            share,
            directory: None,
            disk: None,
            unique: None,
            plane: Plane::Management,
            suffix: None,
            namespace: None,
            subscription: None,
        }
    }

    fn print(&self) -> String {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let account = self.account.as_ref().map(ToString::to_string);
        let directory = self.directory.as_ref().map(|path| format!("/{path}"));
        let mut unique = self.unique.as_deref().map(escape).unwrap_or_default();
        if let Some((mark, _)) = Plane::MARKS.iter().find(|(_, plane)| *plane == self.plane) {
            unique.push_str(&format!("@{mark}"));
        }
        if let Some(suffix) = &self.suffix {
            unique.push_str(&format!("@at:{suffix}"));
        }
        let mut parts = vec![
            text(&self.resource_group),
            text(&account),
            format!("{}{}", self.share, text(&directory)),
            text(&self.disk),
            unique,
            text(&self.namespace),
        ];
        parts.extend(self.subscription.clone());
        parts.join("#")
    }
}

/// The id of a volume.
#[derive(Clone)]
pub struct ShareHandle {
    text: Box<str>,
    parts: ShareParts,
}

/// Why a text is no id of the file driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAShareHandle {
    /// It does not have the parts.
    #[error(
        "'{}' is not the id of a file volume: expected <resource group>#<account>#<share>, and optionally #<disk>#<name>#<namespace>#<subscription>",
        .0.escape_debug()
    )]
    Shape(String),
    /// The account's name is wrong.
    #[error(transparent)]
    Account(#[from] NotAnAccount),
    /// The share's name is wrong.
    #[error(transparent)]
    Share(#[from] NotAShare),
    /// A part leads elsewhere, or cannot be one.
    #[error("the {part} '{}' of a file volume's id cannot be used", value.escape_debug())]
    Part {
        /// Which part.
        part: &'static str,
        /// What it is.
        value: String,
    },
    /// A snapshot id without the snapshot's time. It is never taken for the share's id.
    #[error("'{}' is not the id of a share snapshot: it holds no time of a snapshot", .0.escape_debug())]
    NoTime(String),
}

impl ShareHandle {
    /// The id of a volume, as this driver writes it.
    ///
    /// # Errors
    /// If a part cannot be part of an id.
    pub fn new(parts: ShareParts) -> Result<Self, NotAShareHandle> {
        let handle: Self = parts.print().parse()?;
        if handle.parts == parts {
            Ok(handle)
        } else {
            Err(NotAShareHandle::Shape(shorten(&handle.text)))
        }
    }

    /// What it says.
    #[must_use]
    pub const fn parts(&self) -> &ShareParts {
        &self.parts
    }

    /// The spelling that it was made from.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The one spelling that all ids of one volume share. For map keys and lock names.
    #[must_use]
    pub fn folded(&self) -> String {
        let fold = |part: &Option<String>| part.as_deref().unwrap_or_default().to_ascii_lowercase();
        let parts = &self.parts;
        let account = parts.account.as_ref().map_or("", AccountName::as_str);
        format!(
            "{}#{}#{account}#{}/{}#{}#{}",
            fold(&parts.subscription),
            fold(&parts.resource_group),
            parts.share,
            parts.directory.as_deref().unwrap_or_default(),
            parts.disk.as_deref().unwrap_or_default(),
            parts.unique.as_deref().unwrap_or_default(),
        )
    }
}

impl FromStr for ShareHandle {
    type Err = NotAShareHandle;

    fn from_str(text: &str) -> Result<Self, NotAShareHandle> {
        let segments: Vec<&str> = text.split('#').collect();
        if text.len() > LIMIT || segments.len() < 3 {
            return Err(NotAShareHandle::Shape(shorten(text)));
        }
        Ok(Self {
            text: text.into(),
            parts: read(&segments)?,
        })
    }
}

impl fmt::Display for ShareHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ShareHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for ShareHandle {
    fn eq(&self, other: &Self) -> bool {
        self.folded() == other.folded()
    }
}

impl Eq for ShareHandle {}

/// `segments` are at least three.
fn read(segments: &[&str]) -> Result<ShareParts, NotAShareHandle> {
    let at = |index: usize| segments.get(index).copied().unwrap_or_default();
    let group = optional("resource group", at(0))?;
    let account = match at(1).trim() {
        "" => None,
        name => Some(name.parse()?),
    };
    let (share, directory) = match at(2).trim_end_matches('/').split_once('/') {
        Some((share, directory)) => (share, Some(path("directory", directory)?)),
        None => (at(2), None),
    };
    let mut parts = ShareParts {
        resource_group: group,
        account,
        share: share.to_ascii_lowercase().parse()?,
        directory,
        disk: None,
        unique: None,
        plane: Plane::Management,
        suffix: None,
        namespace: None,
        subscription: None,
    };
    let vhd = at(3).to_ascii_lowercase().ends_with(".vhd");
    // The translation of in-tree volumes: the fourth is the volume's name, the fifth a namespace.
    let translated = segments.len() == 5 && (parts.resource_group.is_none() || !at(3).is_empty());
    if !vhd && (translated || segments.len() == 4) {
        parts.unique = optional("volume name", at(3))?;
        parts.namespace = optional("namespace", at(4))?;
        return Ok(parts);
    }
    parts.disk = match at(3) {
        "" => None,
        disk => Some(path("disk name", disk)?),
    };
    if segments.len() == 5 && parts.resource_group.is_none() {
        parts.namespace = optional("namespace", at(4))?;
        return Ok(parts);
    }
    unique(at(4), &mut parts)?;
    parts.namespace = optional("namespace", at(5))?;
    parts.subscription = match at(6).trim() {
        "" => None,
        text => Some(guid(text)?),
    };
    Ok(parts)
}

fn refuse(part: &'static str, value: &str) -> NotAShareHandle {
    NotAShareHandle::Part {
        part,
        value: shorten(value),
    }
}

/// A part that names one thing: no path, nothing that cannot be printed.
fn optional(part: &'static str, text: &str) -> Result<Option<String>, NotAShareHandle> {
    let bad = text.contains(['/', '\\']) || text == "." || text == "..";
    if bad || text.chars().any(char::is_control) {
        return Err(refuse(part, text));
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// A path below the share: no part of it leads up or to nowhere.
fn path(part: &'static str, text: &str) -> Result<String, NotAShareHandle> {
    let good = |name: &str| !name.is_empty() && name != "." && name != "..";
    if text.contains('\\') || text.chars().any(char::is_control) || !text.split('/').all(good) {
        return Err(refuse(part, text));
    }
    Ok(text.to_owned())
}

fn unique(text: &str, parts: &mut ShareParts) -> Result<(), NotAShareHandle> {
    if text.chars().any(char::is_control) {
        return Err(refuse("volume name", text));
    }
    let mut rest = text.to_owned();
    if let Some((before, suffix)) = rest.rsplit_once("@at:") {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        if suffix.is_empty() || !suffix.chars().all(word) {
            return Err(refuse("host suffix", suffix));
        }
        parts.suffix = Some(suffix.to_owned());
        rest = before.to_owned();
    }
    for (mark, plane) in Plane::MARKS {
        if let Some(before) = rest.strip_suffix(&format!("@{mark}")) {
            parts.plane = plane;
            rest = before.to_owned();
            break;
        }
    }
    parts.unique = (!rest.is_empty()).then(|| unescape(&rest));
    Ok(())
}

/// What a volume's name may hold, and a part of an id not.
const ESCAPES: [(char, &str); 6] = [
    ('%', "%25"),
    ('#', "%23"),
    ('@', "%40"),
    ('\t', "%09"),
    ('\n', "%0A"),
    ('\r', "%0D"),
];

fn escape(name: &str) -> String {
    let one = |c: char| {
        let found = ESCAPES.iter().find(|(plain, _)| *plain == c);
        found.map_or_else(|| c.to_string(), |(_, code)| (*code).to_owned())
    };
    name.chars().map(one).collect()
}

fn unescape(text: &str) -> String {
    let mut plain = text.to_owned();
    // The sign of escapes itself comes last.
    for (c, code) in ESCAPES.iter().rev() {
        plain = plain.replace(code, &c.to_string());
    }
    plain
}

/// A subscription: anything else would be looked up as one, and not be found.
fn guid(text: &str) -> Result<String, NotAShareHandle> {
    if is_guid(text) {
        Ok(text.to_owned())
    } else {
        Err(refuse("subscription", text))
    }
}

fn is_guid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut parts = text.split('-');
    let each = lengths.iter().all(|length| {
        parts.next().is_some_and(|part| {
            part.len() == *length && part.bytes().all(|b| b.is_ascii_hexdigit())
        })
    });
    each && parts.next().is_none()
}

fn shorten(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The id of a share snapshot. It cannot be made without the snapshot's time, so it cannot be taken
/// for its share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareSnapshotHandle {
    text: Box<str>,
    volume: ShareHandle,
    time: SnapshotTime,
    subscription: Option<String>,
}

impl ShareSnapshotHandle {
    /// The id of a snapshot of a volume, as this driver writes it.
    #[must_use]
    pub fn new(volume: &ShareHandle, time: &SnapshotTime, subscription: &str) -> Self {
        let mut volume = volume.clone();
        // Four or five parts would make it ambiguous whether a subscription is one.
        if volume.text.split('#').count() < 6 {
            let text = volume.parts.print();
            volume.text = text.into();
        }
        let subscription = is_guid(subscription).then(|| subscription.to_owned());
        let tail = subscription.as_ref().map(|text| format!("#{text}"));
        Self {
            text: format!("{volume}#{time}{}", tail.unwrap_or_default()).into(),
            volume,
            time: time.clone(),
            subscription,
        }
    }

    /// The volume that it is of. Its subscription is the snapshot's where it names none itself.
    #[must_use]
    pub const fn volume(&self) -> &ShareHandle {
        &self.volume
    }

    /// The snapshot's time.
    #[must_use]
    pub const fn time(&self) -> &SnapshotTime {
        &self.time
    }

    /// The subscription, if one is named.
    #[must_use]
    pub fn subscription(&self) -> Option<&str> {
        let own = self.volume.parts.subscription.as_deref();
        self.subscription.as_deref().or(own)
    }

    /// The spelling that it was made from.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The one spelling that all equal ids share.
    #[must_use]
    pub fn folded(&self) -> String {
        format!("{}#{}", self.volume.folded(), self.time)
    }
}

impl FromStr for ShareSnapshotHandle {
    type Err = NotAShareHandle;

    fn from_str(text: &str) -> Result<Self, NotAShareHandle> {
        let segments: Vec<&str> = text.split('#').collect();
        if text.len() > LIMIT || segments.len() < 3 {
            return Err(NotAShareHandle::Shape(shorten(text)));
        }
        let times = segments.iter().enumerate().rev();
        let mut times = times.filter_map(|(at, part)| Some((at, part.parse().ok()?)));
        let found: Option<(usize, SnapshotTime)> = times.next();
        let Some((at, time)) = found.filter(|(at, _)| *at >= 3) else {
            return Err(NotAShareHandle::NoTime(shorten(text)));
        };
        let mut volume = segments.get(..at).unwrap_or_default();
        let behind = segments.get(at + 1..).unwrap_or_default();
        let mut subscription = match behind {
            [] | [""] => None,
            [one] => Some(guid(one)?),
            _ => return Err(NotAShareHandle::Shape(shorten(text))),
        };
        // One release wrote the subscription before the time.
        if let (None, Some((last, rest))) = (&subscription, volume.split_last())
            && is_guid(last)
            && (3..=6).contains(&rest.len())
        {
            subscription = Some((*last).to_owned());
            if rest.len() < 6 {
                volume = rest;
            }
        }
        Ok(Self {
            text: text.into(),
            volume: volume.join("#").parse()?,
            time,
            subscription,
        })
    }
}

impl fmt::Display for ShareSnapshotHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
