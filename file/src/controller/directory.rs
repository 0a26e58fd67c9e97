//! Volumes that are directories in a common share.
//!
//! The directory tells whose it is, in metadata that no client of the share can write. It is made with
//! that from the beginning, and whatever is done to it later is decided by that. Directories above it
//! are made where they are absent, and stay.

use azcsi_cloud::storage::data_plane::{FileAttributes, FileRef, SharePath};
use azcsi_cloud::{Files, Metadata, ShareUpdate};
use azcsi_types::op::Op;
use azcsi_types::share_handle::ShareParts;
use azcsi_types::size::{CapacityRange, GiB};

use super::Controller;
use super::access::Access;
use super::common::Located;
use super::credentials::Credentials;
use super::error::ControllerError;
use super::record::Directory;
use crate::model::folder::{Folder, NotAFolder};
use crate::model::names;
use crate::model::params::{FileParams, OnDelete};
use crate::model::protocol::Protocol;

/// Sizes that a share can have at all (Azure Files scale targets). What its SKU allows, Azure checks.
const SIZES: (GiB, GiB) = (GiB::new(1), GiB::new(262_144));

/// The directory that is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish<'a> {
    pub(super) volume: &'a str,
    pub(super) directory: &'a Folder,
    pub(super) range: CapacityRange,
    pub(super) on_delete: OnDelete,
}

/// The directory and the volume's name, of a volume that is a directory which the driver made. Ids
/// that were written by hand name no volume, and their directories are their owners'.
pub(super) fn own(parts: &ShareParts) -> Option<(&str, &str)> {
    parts.directory.as_deref().zip(parts.unique.as_deref())
}

/// The directory that is the volume: below `folderName`, with a name that no other volume gets.
pub(super) fn named(params: &FileParams, volume: &str) -> Result<Option<Folder>, ControllerError> {
    if !params.folder.per_volume {
        return Ok(None);
    }
    let base = names::Base {
        volume,
        prefix: None,
        protocol: Protocol::Smb,
        vhd: false,
    };
    let refuse = |text: String| ControllerError::Refused(format!("parameter 'folderName': {text}"));
    let name = names::derive(&base)
        .ok_or_else(|| refuse(format!("no directory can be named for '{volume}'")))?;
    let path = match &params.folder.path {
        None => name.to_string(),
        Some(above) => {
            let above = params.claim.expand(above.as_str());
            if above.contains("${") {
                return Err(refuse(format!(
                    "nothing is known for a placeholder of '{above}'"
                )));
            }
            format!("{above}/{name}")
        }
    };
    if path.contains('#') {
        let text = format!("'{path}' has a '#', which separates the parts of a volume's id");
        return Err(refuse(text));
    }
    path.parse()
        .map(Some)
        .map_err(|error: NotAFolder| refuse(error.to_string()))
}

/// A directory of a live share.
pub(super) fn at(place: &Located, path: &str) -> Result<FileRef, ControllerError> {
    let path: SharePath = path
        .parse()
        .map_err(|_| ControllerError::Refused(format!("'{path}' is no path in a share")))?;
    if path.is_root() {
        let text = "the directory of a volume is never the root of its share";
        return Err(ControllerError::Refused(text.to_owned()));
    }
    Ok(FileRef::live(place.share.clone(), path))
}

/// What a directory tells of itself: `None` if it is proven to be absent, `Some(None)` if it tells
/// nothing.
pub(super) async fn look(
    files: &Files,
    op: &Op,
    at: &FileRef,
) -> Result<Option<Option<Directory>>, ControllerError> {
    match files.get_directory(op, at).await {
        Ok(found) => Ok(Some(Directory::read(&found.metadata))),
        Err(error) if error.absence().is_some() => Ok(None),
        Err(error) => Err(ControllerError::azure(format!("reading {at}"), error)),
    }
}

/// Whether a directory above a volume's is there; a volume's own cannot be one.
async fn look_above(files: &Files, op: &Op, above: &FileRef) -> Result<bool, ControllerError> {
    match look(files, op, above).await? {
        None => Ok(false),
        Some(None) => Ok(true),
        Some(Some(_)) => Err(ControllerError::Refused(format!(
            "parameter 'folderName': {above} is the directory of a volume, and would take others along when it is deleted"
        ))),
    }
}

/// Notes that the contents of a directory are going, so that nobody takes what is left for a volume.
pub(super) async fn note_delete(
    files: &Files,
    op: &Op,
    (at, found): (&FileRef, Directory),
) -> Result<(), ControllerError> {
    let going = Directory {
        deleting: true,
        ..found
    };
    let metadata = going.metadata();
    match files.set_directory_metadata(op, at, &metadata).await {
        Ok(()) => Ok(()),
        // Gone in between: then there is nothing left to be taken for a volume.
        Err(error) if error.absence().is_some() => Ok(()),
        Err(error) => {
            let doing = format!("noting that {at} is being deleted");
            Err(ControllerError::azure(doing, error))
        }
    }
}

impl Controller {
    /// The file service of a share: directories are not known to Azure Resource Manager.
    pub(super) async fn files_of(
        &self,
        op: &Op,
        place: &Located,
        secrets: Option<&Credentials>,
    ) -> Result<Files, ControllerError> {
        match &place.access {
            Access::Data(files) => Ok(files.clone()),
            Access::Management(..) => Ok(self.data_plane(op, place, secrets).await?.0),
        }
    }

    /// Finds or makes the directory of a volume, and answers with the volume's size.
    pub(super) async fn make_volume_directory(
        &self,
        op: &Op,
        place: &Located,
        wish: &Wish<'_>,
        secrets: Option<&Credentials>,
    ) -> Result<GiB, ControllerError> {
        let files = self.files_of(op, place, secrets).await?;
        let target = at(place, wish.directory.as_str())?;
        if let Some(found) = look(&files, op, &target).await? {
            return self.accept(&target, found, wish);
        }
        let share = self.need_share(op, place).await?;
        let quota = share.quota().unwrap_or(SIZES.0);
        let size = wish.range.pick(SIZES.0, SIZES.1, quota)?;
        self.make_above(op, &files, &target).await?;
        self.grow_share(op, place, size).await?;
        let record = Directory::new(&self.settings.driver, wish.volume, (wish.on_delete, size));
        let (plain, metadata) = (FileAttributes::default(), record.metadata());
        let made = files
            .create_directory_with(op, &target, (&plain, &metadata))
            .await;
        match made {
            Ok(_) => Ok(size),
            // An earlier sending made it, or somebody else: its own words tell.
            Err(error) if error.has_code("ResourceAlreadyExists") => {
                let found = look(&files, op, &target).await?.flatten();
                self.accept(&target, found, wish)
            }
            Err(error) => {
                let failed = ControllerError::azure(format!("making {target}"), error);
                Err(failed.half_way(format!("directory {target}")))
            }
        }
    }

    /// A directory that is there has to be the one that was asked for.
    fn accept(
        &self,
        at: &FileRef,
        found: Option<Directory>,
        wish: &Wish<'_>,
    ) -> Result<GiB, ControllerError> {
        let differs = |difference: String| ControllerError::Differs {
            what: format!("directory {at}"),
            difference,
        };
        let driver = &self.settings.driver;
        let Some(found) = found.filter(|found| found.is_of(driver, wish.volume)) else {
            return Err(differs("it was not made for this volume".to_owned()));
        };
        if found.deleting {
            return Err(ControllerError::Going(format!(
                "{at} is being deleted: its volume is made anew when it is gone"
            )));
        }
        if !wish.range.admits(found.size.bytes()) {
            return Err(differs(format!("its size is {}", found.size)));
        }
        if found.on_delete != wish.on_delete {
            let word = found.on_delete.word();
            return Err(differs(format!("its onDelete is {word}")));
        }
        Ok(found.size)
    }

    /// The directories above that of a volume. None of them may be a volume's own: it would take this
    /// one along.
    async fn make_above(
        &self,
        op: &Op,
        files: &Files,
        target: &FileRef,
    ) -> Result<(), ControllerError> {
        let mut way = Vec::new();
        let mut path = target.path.parent();
        while let Some(above) = path.filter(|path| !path.is_root()) {
            path = above.parent();
            way.push(target.with_path(above));
        }
        for above in way.into_iter().rev() {
            if look_above(files, op, &above).await? {
                continue;
            }
            let none = (&FileAttributes::default(), &Metadata::new());
            match files.create_directory_with(op, &above, none).await {
                Ok(_) => {}
                // Somebody was faster, perhaps with a volume's own.
                Err(error) if error.has_code("ResourceAlreadyExists") => {
                    look_above(files, op, &above).await?;
                }
                Err(error) => {
                    return Err(ControllerError::azure(format!("making {above}"), error));
                }
            }
        }
        Ok(())
    }

    /// Makes a common share as large as the largest volume in it. It never becomes smaller.
    pub(super) async fn grow_share(
        &self,
        op: &Op,
        place: &Located,
        size: GiB,
    ) -> Result<(), ControllerError> {
        let turn = format!("share {} {}", place.account.folded(), place.share);
        let _turn = self.serial.turn(&turn).await;
        let share = self.need_share(op, place).await?;
        if share.quota().is_none_or(|quota| quota >= size) {
            return Ok(());
        }
        let change = ShareUpdate {
            share_quota: Some(size.get()),
            ..ShareUpdate::default()
        };
        let grown = place.access.update(op, &place.share, &change).await;
        grown.map_err(|error| super::expand::failed(place, size, error))
    }

    /// The record of a volume's directory, which has to exist.
    pub(super) async fn need_directory(
        &self,
        op: &Op,
        place: &Located,
        (parts, secrets): (&ShareParts, Option<&Credentials>),
    ) -> Result<Option<Directory>, ControllerError> {
        let Some((path, volume)) = own(parts) else {
            return Ok(None);
        };
        let files = self.files_of(op, place, secrets).await?;
        let target = at(place, path)?;
        let found = look(&files, op, &target).await?.flatten();
        let found = found.filter(|found| found.is_of(&self.settings.driver, volume));
        found.map(Some).ok_or_else(|| ControllerError::Absent {
            what: format!("directory {target} of volume {volume}"),
        })
    }
}
