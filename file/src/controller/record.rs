//! What a share tells of itself: the metadata that CreateVolume writes, and deletes are decided by.

use azcsi_cloud::storage::shares::lookup;
use azcsi_cloud::{Metadata, Share};
use azcsi_types::size::GiB;
use sha2::{Digest as _, Sha256};

use crate::model::names::{self, hex};
use crate::model::params::OnDelete;

/// The driver that made the share. Every driver of old writes it, but not for every share.
pub const CREATED_BY: &str = "createdBy";
/// The volume that it was made for.
pub const CREATED_FOR: &str = "createdFor";
/// A digest of the id of what it is a copy of.
pub const COPY_OF: &str = "copyOf";
/// [`COPYING`] until all of the copy is there, then [`COPIED`].
pub const COPY_STATE: &str = "copyState";
/// What becomes of a directory with its volume: a word of [`OnDelete`].
pub const ON_DELETE: &str = "onDelete";
/// Size in GiB of the volume that is a directory.
pub const SIZE: &str = "sizeGiB";
/// [`DELETING`] from when a directory begins to be deleted.
pub const STATE: &str = "state";
/// The contents of the directory are on their way out.
pub const DELETING: &str = "deleting";
/// In place of a volume: the share is for directories of many. No volume's value has a space.
const MANY: &str = "many volumes";
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

/// Metadata of a new share in which volumes have their directories. It is nobody's own, so it goes
/// with no volume.
#[must_use]
pub fn new_common(driver: &str) -> Metadata {
    Metadata::from([
        (CREATED_BY.to_owned(), driver.to_owned()),
        (CREATED_FOR.to_owned(), MANY.to_owned()),
    ])
}

/// What the directory of a volume tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// The driver that made it.
    pub by: String,
    /// The volume that it was made for, as [`value`] writes it.
    pub volume: String,
    /// What becomes of it with the volume.
    pub on_delete: OnDelete,
    /// Size of the volume; zero where nothing tells it.
    pub size: GiB,
    /// Whether a delete of it has begun.
    pub deleting: bool,
}

impl Directory {
    /// What a new one tells.
    #[must_use]
    pub fn new(driver: &str, volume: &str, (on_delete, size): (OnDelete, GiB)) -> Self {
        Self {
            by: driver.to_owned(),
            volume: value(volume),
            on_delete,
            size,
            deleting: false,
        }
    }

    /// As metadata.
    #[must_use]
    pub fn metadata(&self) -> Metadata {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut all = Metadata::from([
            pair(CREATED_BY, &self.by),
            pair(CREATED_FOR, &self.volume),
            pair(ON_DELETE, self.on_delete.word()),
            pair(SIZE, &self.size.get().to_string()),
        ]);
        if self.deleting {
            all.extend([pair(STATE, DELETING)]);
        }
        all
    }

    /// Reads it; `None` for a directory of which no driver says that it is a volume's. An unknown
    /// word means that it stays.
    #[must_use]
    pub fn read(metadata: &Metadata) -> Option<Self> {
        let one = |key| lookup(metadata, key);
        Some(Self {
            by: one(CREATED_BY)?.to_owned(),
            volume: one(CREATED_FOR)?.to_owned(),
            on_delete: match one(ON_DELETE) {
                Some(word) if word == OnDelete::Delete.word() => OnDelete::Delete,
                _ => OnDelete::Retain,
            },
            size: GiB::new(
                one(SIZE)
                    .and_then(|text| text.parse().ok())
                    .unwrap_or_default(),
            ),
            deleting: one(STATE).is_some_and(|word| word == DELETING),
        })
    }

    /// Whether it was made by this driver for a volume.
    #[must_use]
    pub fn is_of(&self, driver: &str, volume: &str) -> bool {
        self.by.eq_ignore_ascii_case(driver) && self.volume == value(volume)
    }
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

/// Whether a share was made for one volume, and may go with it.
#[must_use]
pub fn is_of_one(share: &Share) -> bool {
    share
        .meta(CREATED_FOR)
        .is_some_and(|made_for| made_for != MANY)
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
        // Also for an id without a name: the share is nobody's own.
        (Some(MANY), _) => Owner::OtherVolume,
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
