//! What a volume is made of: a snapshot, or another volume.

use std::sync::Arc;

use azcsi_cloud::Share;
use azcsi_cloud::storage::data_plane::{FileRef, Preserve, SharePath};
use azcsi_proto::csi::v1;
use azcsi_types::op::Op;
use azcsi_types::share_handle::{ShareHandle, ShareParts, ShareSnapshotHandle};
use azcsi_types::size::{Bytes, CapacityRange, GiB};

use super::Controller;
use super::access::Access;
use super::common::Located;
use super::copy::{self, Copier, Place};
use super::credentials::Credentials;
use super::error::ControllerError;
use super::keys::Which;
use super::record;
use super::taken::parts_of;
use crate::model::protocol::Protocol;

/// What a volume is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A snapshot.
    Snapshot(Box<ShareSnapshotHandle>),
    /// A volume.
    Volume(Box<ShareHandle>),
}

impl Source {
    /// Reads it.
    ///
    /// # Errors
    /// If an id names nothing.
    pub fn read(wire: Option<v1::VolumeContentSource>) -> Result<Option<Self>, ControllerError> {
        use v1::volume_content_source::Type;
        let absent = |id, source| ControllerError::NoSuchId { id, source };
        match wire.map(|source| source.r#type) {
            None => Ok(None),
            Some(Some(Type::Snapshot(source))) => match source.snapshot_id.parse() {
                Ok(snapshot) => Ok(Some(Self::Snapshot(Box::new(snapshot)))),
                Err(error) => Err(absent(source.snapshot_id, error)),
            },
            Some(Some(Type::Volume(source))) => match source.volume_id.parse() {
                Ok(volume) => Ok(Some(Self::Volume(Box::new(volume)))),
                Err(error) => Err(absent(source.volume_id, error)),
            },
            Some(None) => Err(ControllerError::Refused(
                "volume_content_source names neither a snapshot nor a volume".to_owned(),
            )),
        }
    }

    /// The one spelling of its id.
    #[must_use]
    pub fn folded(&self) -> String {
        match self {
            Self::Snapshot(id) => id.folded(),
            Self::Volume(id) => id.folded(),
        }
    }

    /// What the id of its volume says.
    #[must_use]
    pub fn parts(&self) -> ShareParts {
        match self {
            Self::Snapshot(id) => parts_of(id),
            Self::Volume(id) => id.parts().clone(),
        }
    }
}

/// A source that is there.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) at: Located,
    root: FileRef,
    size: GiB,
    nfs: bool,
}

/// The sizes that a copy may have: never less than its source.
///
/// # Errors
/// If less is asked for.
pub fn copy_range(range: CapacityRange, source: GiB) -> Result<CapacityRange, String> {
    let least = source.bytes();
    if range.required().is_some_and(|required| required < least) {
        return Err(format!(
            "a copy cannot be smaller than its source, which has {source}"
        ));
    }
    let required = range.required().unwrap_or(least);
    let limit = range.limit().map_or(0, Bytes::as_i64);
    CapacityRange::from_wire(required.as_i64(), limit).map_err(|error| error.to_string())
}

impl Found {
    /// What the copy of it has to be like.
    ///
    /// # Errors
    /// If it cannot be so.
    pub(super) fn check(
        &self,
        range: CapacityRange,
        protocol: Protocol,
    ) -> Result<CapacityRange, ControllerError> {
        if self.nfs != (protocol == Protocol::Nfs) {
            let other = if self.nfs { "nfs" } else { "smb" };
            return Err(ControllerError::Refused(format!(
                "the source is a share for {other}: a copy has the same protocol"
            )));
        }
        copy_range(range, self.size).map_err(ControllerError::Range)
    }
}

impl Controller {
    /// Looks for a source, before anything is made for its copy.
    pub(super) async fn find_source(
        &self,
        op: &Op,
        source: &Source,
        secrets: Option<&Credentials>,
    ) -> Result<Found, ControllerError> {
        let parts = source.parts();
        if parts.disk.is_some() {
            let text = "the source is a disk file on a share: copy it from a pod";
            return Err(ControllerError::Refused(text.to_owned()));
        }
        let own = secrets.filter(|own| Some(&own.account) == parts.account.as_ref());
        let at = self.locate(op, &parts, own).await?;
        let (share, time): (Share, _) = match source {
            Source::Volume(_) => {
                let share = self.need_share(op, &at).await?;
                self.need_directory(op, &at, (&parts, own)).await?;
                (share, None)
            }
            Source::Snapshot(id) => {
                let found = at.access.snapshot(op, &at.share, id.time()).await;
                let doing = || format!("reading snapshot {}", id.time());
                let found = found.map_err(|error| ControllerError::azure(doing(), error))?;
                let found = found.ok_or_else(|| ControllerError::Absent {
                    what: format!("snapshot {id}"),
                })?;
                (found.share, Some(id.time().clone()))
            }
        };
        let path = parts.directory.as_deref().unwrap_or_default();
        let path: SharePath = path
            .parse()
            .map_err(|_| ControllerError::Refused(format!("'{path}' is no path in a share")))?;
        Ok(Found {
            root: FileRef {
                share: at.share.clone(),
                snapshot: time,
                path,
            },
            size: share.quota().unwrap_or_default(),
            nfs: share.is_nfs(),
            at,
        })
    }

    /// Copies the source into a share, and notes in it that all is there.
    pub(super) async fn copy_content(
        &self,
        op: &Op,
        (found, to): (&Found, &Located),
        secrets: Option<&Credentials>,
    ) -> Result<(), ControllerError> {
        let within = found.at.account == to.account;
        let (from, key) = self.data_plane(op, &found.at, secrets).await?;
        let (target, _) = self.data_plane(op, to, secrets).await?;
        let sas = if within {
            None
        } else {
            let name = from.endpoint().account().clone();
            let made = copy::signature(&*self.clock, &name, (&key, &found.at.share));
            Some(made.map_err(|error| ControllerError::azure("signing the source", error))?)
        };
        let copier = Copier {
            from: Place {
                files: from,
                root: found.root.clone(),
            },
            to: Place {
                files: target,
                root: FileRef::live(to.share.clone(), SharePath::root()),
            },
            sas,
            preserve: if found.nfs {
                Preserve::Nfs
            } else {
                Preserve::Smb
            },
            clock: Arc::clone(&self.clock),
        };
        copier.run(op).await?;
        self.note_copied(op, to).await
    }

    /// The file service of an account with its key: copies are made there, however shares are managed.
    pub(super) async fn data_plane(
        &self,
        op: &Op,
        at: &Located,
        secrets: Option<&Credentials>,
    ) -> Result<(azcsi_cloud::Files, azcsi_types::secret::Secret), ControllerError> {
        let endpoint = match &at.access {
            Access::Data(files) => files.endpoint().clone(),
            Access::Management(..) => self.endpoint(op, &at.account, None).await?,
        };
        let own = secrets.filter(|own| &own.account == endpoint.account());
        let key = match own {
            Some(own) => own.key.clone(),
            None => self.keys.of_azure(op, &at.account, Which::First).await?,
        };
        let credential = azcsi_cloud::FilesCredential::SharedKey(key.clone());
        Ok((self.azure.files(endpoint, credential), key))
    }

    async fn note_copied(&self, op: &Op, at: &Located) -> Result<(), ControllerError> {
        let share = self.need_share(op, at).await?;
        let mut metadata = share.properties.metadata.unwrap_or_default();
        metadata.retain(|key, _| !key.eq_ignore_ascii_case(record::COPY_STATE));
        metadata.insert(record::COPY_STATE.to_owned(), record::COPIED.to_owned());
        let change = azcsi_cloud::ShareUpdate {
            metadata: Some(metadata),
            ..azcsi_cloud::ShareUpdate::default()
        };
        let noted = at.access.update(op, &at.share, &change).await;
        noted.map_err(|error| {
            let doing = format!("noting that share {} is complete", at.share);
            ControllerError::azure(doing, error)
        })
    }
}

#[cfg(test)]
mod tests {
    use azcsi_types::size::{CapacityRange, GiB};

    use super::copy_range;

    #[test]
    fn a_copy_is_never_smaller_than_its_source_sn_05() {
        let gib = 1_i64 << 30;
        let range = |required, limit| CapacityRange::from_wire(required, limit).unwrap();
        for (asked, least) in [
            (CapacityRange::ANY, Some(10 * gib)),
            (range(10 * gib, 0), Some(10 * gib)),
            (range(20 * gib, 0), Some(20 * gib)),
            (range(0, 30 * gib), Some(10 * gib)),
            (range(9 * gib, 0), None),
            (range(0, 9 * gib), None),
        ] {
            let found = copy_range(asked, GiB::new(10)).ok();
            let found = found
                .and_then(|range| range.required())
                .map(|size| size.as_i64());
            assert_eq!(found, least, "{asked:?}");
        }
    }
}
