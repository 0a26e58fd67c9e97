//! What a share tells of itself: the metadata that CreateVolume writes, and deletes are decided by.

use azcsi_cloud::{Metadata, Share};
use sha2::{Digest as _, Sha256};

use crate::model::names::{self, hex};

/// The driver that made the share. Every driver of old writes it, but not for every share.
pub const CREATED_BY: &str = "createdBy";
/// The volume that it was made for.
pub const CREATED_FOR: &str = "createdFor";
/// A digest of the id of what it is a copy of.
pub const COPY_OF: &str = "copyOf";
/// [`COPYING`] until all of the copy is there, then [`COPIED`].
pub const COPY_STATE: &str = "copyState";
/// The copy is not complete.
pub const COPYING: &str = "copying";
/// The copy is complete.
pub const COPIED: &str = "copied";

/// Metadata of a new share.
#[must_use]
pub fn new(driver: &str, volume: &str, copy_of: Option<&str>) -> Metadata {
    let mut all = Metadata::from([
        (CREATED_BY.to_owned(), driver.to_owned()),
        (CREATED_FOR.to_owned(), value(volume)),
    ]);
    if let Some(source) = copy_of {
        all.insert(COPY_OF.to_owned(), digest(source));
        all.insert(COPY_STATE.to_owned(), COPYING.to_owned());
    }
    all
}

/// A text as a value of metadata: names that are no plain ASCII become a digest.
#[must_use]
pub fn value(text: &str) -> String {
    let plain = text.bytes().all(|b| (b'!'..=b'~').contains(&b)) && text.len() <= 256;
    if plain { text.to_owned() } else { digest(text) }
}

/// A short text that stands for a longer one.
#[must_use]
pub fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()), 40)
}

/// Whose a share is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// It was made for the volume.
    Volume,
    /// This driver, or one of old, made it for a volume that it does not name.
    Driver,
    /// It was made for another volume.
    OtherVolume,
    /// Somebody else made it.
    Somebody,
}

/// Whose a share is, as far as a volume of this name is concerned; `None` for a volume of which only
/// the share is known.
#[must_use]
pub fn owner(share: &Share, driver: &str, volume: Option<&str>) -> Owner {
    let by = share.meta(CREATED_BY);
    if by.is_some_and(|by| !by.eq_ignore_ascii_case(driver)) {
        return Owner::Somebody;
    }
    match (share.meta(CREATED_FOR), volume) {
        (Some(made_for), Some(volume)) if made_for == value(volume) => Owner::Volume,
        (Some(_), Some(_)) => Owner::OtherVolume,
        // An id without a name is one of a share that the driver named.
        (Some(_), None) => Owner::Volume,
        (None, _) if by.is_some() => Owner::Driver,
        // Drivers of old wrote nothing into shares that they made past Azure Resource Manager.
        (None, _) => match share.name.parse() {
            Ok(name) if names::is_made_up(&name) => Owner::Driver,
            _ => Owner::Somebody,
        },
    }
}
