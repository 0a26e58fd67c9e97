//! What DeleteVolume does with a volume that is a directory: it goes if its record and the volume's id
//! name each other, its class lets it go, and nobody else is in it.

use azcsi_types::op::Op;
use azcsi_types::share_handle::ShareHandle;

use super::common::Located;
use super::credentials::Credentials;
use super::error::ControllerError;
use super::ports::Use;
use super::record::Directory;
use super::{Controller, delete_tree, directory};
use crate::model::params::OnDelete;

/// What a delete does with the directory of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It goes, with all that is in it.
    Goes,
    /// It stays, for this reason.
    Stays(&'static str),
    /// It is decided when the cluster has said who is in it.
    Later,
}

/// What a delete does with a directory that tells this of itself.
#[must_use]
pub(super) fn decide(
    found: Option<&Directory>,
    (driver, volume): (&str, Option<&str>),
    others: Use,
) -> Verdict {
    use Verdict::{Goes, Later, Stays};
    let (Some(found), Some(volume)) = (found, volume) else {
        return Stays("no driver made the directory for a volume");
    };
    if !found.is_of(driver, volume) {
        return Stays("the directory was made for another volume");
    }
    match (found.on_delete, others) {
        (OnDelete::Retain, _) => Stays("its class says onDelete retain"),
        (OnDelete::Delete, Use::Shared) => Stays("other volumes are in the directory"),
        (OnDelete::Delete, Use::Unread) => Later,
        // Its name and its record are the volume's alone. Without a cluster there is nobody to ask.
        (OnDelete::Delete, Use::Alone | Use::Unknown) => Goes,
    }
}

/// Deletes the directory of a volume, if it is proven to be its own.
///
/// # Errors
/// If that cannot be told yet, or the delete is not complete.
pub(super) async fn delete(
    ctx: &Controller,
    op: &Op,
    (volume, place): (&ShareHandle, &Located),
    secrets: Option<&Credentials>,
) -> Result<(), ControllerError> {
    let parts = volume.parts();
    // An id that was written by hand: nothing of it is the driver's.
    let Some((path, name)) = directory::own(parts) else {
        tracing::warn!(%volume, "the directory stays: the id names no volume that it was made for");
        return Ok(());
    };
    let files = ctx.files_of(op, place, secrets).await?;
    let target = directory::at(place, path)?;
    let Some(found) = directory::look(&files, op, &target).await? else {
        return Ok(());
    };
    let others = ctx.ports.volumes.others(volume).await;
    let who = (ctx.settings.driver.as_str(), Some(name));
    match decide(found.as_ref(), who, others) {
        Verdict::Stays(reason) => {
            tracing::warn!(%volume, reason, "the directory stays");
            Ok(())
        }
        Verdict::Later => Err(ControllerError::Going(format!(
            "the PersistentVolumes are not read yet, so it cannot be told whether others are in {target}"
        ))),
        Verdict::Goes => {
            if let Some(found) = found.filter(|found| !found.deleting) {
                directory::note_delete(&files, op, (&target, found)).await?;
            }
            delete_tree::delete(&files, op, &target).await
        }
    }
}

#[cfg(test)]
mod tests {
    use azcsi_types::size::GiB;

    use super::{Directory, OnDelete, Use, Verdict, decide};

    const DRIVER: &str = "file.csi.azure.com";

    fn of(found: Option<&Directory>, volume: Option<&str>, others: Use) -> Verdict {
        decide(found, (DRIVER, volume), others)
    }

    #[test]
    fn only_a_directory_whose_record_names_the_volume_goes_pr_17() {
        let size = GiB::new(5);
        let own = Directory::new(DRIVER, "pvc-1", (OnDelete::Delete, size));
        let kept = Directory::new(DRIVER, "pvc-1", (OnDelete::Retain, size));
        let foreign = Directory::new("other.csi", "pvc-1", (OnDelete::Delete, size));
        let volume = Some("pvc-1");
        for others in [Use::Alone, Use::Unknown] {
            assert_eq!(of(Some(&own), volume, others), Verdict::Goes);
        }
        assert_eq!(of(Some(&own), volume, Use::Unread), Verdict::Later);
        for (found, volume, others) in [
            (Some(&own), volume, Use::Shared),
            (Some(&own), Some("pvc-2"), Use::Alone),
            (Some(&own), None, Use::Alone),
            (Some(&kept), volume, Use::Alone),
            (Some(&foreign), volume, Use::Alone),
            (None, volume, Use::Alone),
        ] {
            let verdict = of(found, volume, others);
            assert!(matches!(verdict, Verdict::Stays(_)), "{found:?} {volume:?}");
        }
    }
}
