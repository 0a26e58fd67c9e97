//! The content of a share into a new one, by copies that the file service makes itself.
//!
//! Nothing is held but one path down the tree, a page of entries for each of its levels. How far a copy
//! is stands in Azure: each file that is there tells whether it came whole, and the share tells whether
//! all of them did. So a copy that was cut off is taken up by the next call, of any process.

use std::sync::Arc;
use std::time::Duration;

use azcsi_cloud::storage::data_plane::{
    CopySource, CopyStatus, DirectoryEntry, EntryKind, FileAttributes, FileRef, Preserve, Sas,
    SasPermissions, SasProtocols, SharePath,
};
use azcsi_cloud::{ArmError, Files};
use azcsi_types::clock::Clock;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use futures_util::stream::{self, TryStreamExt as _};

use super::error::ControllerError;

/// Files that are copied at once.
const AT_ONCE: usize = 16;
/// First and longest pause between two looks at a copy that takes longer.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// For how long a signature is good: longer than any operation runs.
const SIGNED: Duration = Duration::from_secs(24 * 3600);

/// A place that is copied from or to: a directory of a share, or of a snapshot of one.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its file service.
    pub files: Files,
    /// The directory.
    pub root: FileRef,
}

/// A copy from one place to another.
#[derive(Debug)]
pub struct Copier {
    /// From where.
    pub from: Place,
    /// To where.
    pub to: Place,
    /// What lets the service read the source; not needed within one account.
    pub sas: Option<Secret>,
    /// What is taken over beside the contents.
    pub preserve: Preserve,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// A directory on the way down the tree.
struct Level {
    path: SharePath,
    /// Directories of the last page that are still to be entered.
    below: Vec<String>,
    /// Where the next page begins; `None` before the first and after the last.
    next: Option<String>,
    is_read: bool,
}

impl Level {
    fn new(path: SharePath) -> Self {
        Self {
            path,
            below: Vec::new(),
            next: None,
            is_read: false,
        }
    }
}

/// A signature that lets the service read a share.
///
/// # Errors
/// If the key is none.
pub fn signature(
    clock: &dyn Clock,
    account: &azcsi_types::account::AccountName,
    (key, share): (&Secret, &azcsi_types::share::ShareName),
) -> Result<Secret, ArmError> {
    let sas = Sas {
        permissions: SasPermissions::read_only(),
        starts: None,
        expires: clock.wall() + SIGNED,
        protocols: SasProtocols::Https,
    };
    sas.for_share((account, key), share, &SharePath::root())
}

impl Copier {
    /// Copies everything that is not there yet; ends when all of it is.
    ///
    /// # Errors
    /// The first entry that cannot be copied. What was copied stays for the next call.
    pub async fn run(&self, op: &Op) -> Result<(), ControllerError> {
        let mut way = vec![Level::new(SharePath::root())];
        while let Some(level) = way.last_mut() {
            if let Some(name) = level.below.pop() {
                let path = join(&level.path, &name)?;
                self.make_directory(op, &path).await?;
                way.push(Level::new(path));
            } else if level.is_read && level.next.is_none() {
                way.pop();
            } else {
                let path = level.path.clone();
                let from = level.next.take();
                let (below, next) = self.page(op, &path, from.as_deref()).await?;
                level.below = below;
                level.next = next;
                level.is_read = true;
            }
        }
        Ok(())
    }

    /// Copies the files of one page; answers with its directories and where the next page begins.
    async fn page(
        &self,
        op: &Op,
        path: &SharePath,
        from: Option<&str>,
    ) -> Result<(Vec<String>, Option<String>), ControllerError> {
        let at = self.source(path)?;
        let page = self.from.files.list_directory_page(op, &at, from).await;
        let page = page.map_err(|error| failed("reading", &at, error))?;
        let (mut files, mut below) = (Vec::new(), Vec::new());
        for entry in page.entries {
            match &entry.kind {
                EntryKind::Directory => below.push(entry.name),
                EntryKind::File => files.push(entry),
                EntryKind::Other(kind) => {
                    return Err(ControllerError::State(format!(
                        "{at}/{} is a {kind}, which Azure cannot copy: remove it, or copy the volume from a pod",
                        entry.name
                    )));
                }
            }
        }
        stream::iter(files.into_iter().map(Ok))
            .try_for_each_concurrent(AT_ONCE, |entry| self.file(op, path, entry))
            .await?;
        Ok((below, page.next))
    }

    fn source(&self, path: &SharePath) -> Result<FileRef, ControllerError> {
        within(&self.from.root, path)
    }

    fn target(&self, path: &SharePath) -> Result<FileRef, ControllerError> {
        within(&self.to.root, path)
    }

    async fn make_directory(&self, op: &Op, path: &SharePath) -> Result<(), ControllerError> {
        let (from, to) = (self.source(path)?, self.target(path)?);
        let found = self.from.files.get_directory(op, &from).await;
        let found = found.map_err(|error| failed("reading", &from, error))?;
        let attributes = FileAttributes {
            // The key is one of the source's share.
            permission_key: None,
            change_time: None,
            ..found.attributes
        };
        match self.to.files.create_directory(op, &to, &attributes).await {
            Ok(_) => Ok(()),
            Err(error) if error.has_code("ResourceAlreadyExists") => Ok(()),
            Err(error) => Err(failed("making", &to, error)),
        }
    }

    async fn file(
        &self,
        op: &Op,
        path: &SharePath,
        entry: DirectoryEntry,
    ) -> Result<(), ControllerError> {
        let path = join(path, &entry.name)?;
        let (from, to) = (self.source(&path)?, self.target(&path)?);
        if self.is_there(op, (&from, &to)).await? {
            return Ok(());
        }
        let source = CopySource {
            endpoint: self.from.files.endpoint().clone(),
            at: from.clone(),
            sas: self.sas.clone(),
        };
        match self
            .to
            .files
            .start_copy(op, &to, (&source, self.preserve))
            .await
        {
            Ok(_) => {}
            // One that an earlier try began is waited for.
            Err(error) if error.has_code("PendingCopyOperation") => {}
            Err(error) => return Err(failed("copying", &from, error)),
        }
        self.wait(op, (&from, &to)).await
    }

    /// Whether a file came whole: the service says so, and its size is that of the source.
    async fn is_there(
        &self,
        op: &Op,
        (from, to): (&FileRef, &FileRef),
    ) -> Result<bool, ControllerError> {
        let there = match self.to.files.get_file(op, to).await {
            Ok(there) => there,
            Err(error) if error.absence().is_some() => return Ok(false),
            Err(error) => return Err(failed("reading", to, error)),
        };
        let whole =
            |copy: &azcsi_cloud::storage::data_plane::CopyState| copy.status == CopyStatus::Success;
        if !there.copy.as_ref().is_some_and(whole) {
            return Ok(false);
        }
        let source = self.from.files.get_file(op, from).await;
        let source = source.map_err(|error| failed("reading", from, error))?;
        Ok(source.size == there.size)
    }

    async fn wait(&self, op: &Op, (from, to): (&FileRef, &FileRef)) -> Result<(), ControllerError> {
        let (mut pause, longest) = PAUSES;
        loop {
            let there = self.to.files.get_file(op, to).await;
            let there = there.map_err(|error| failed("reading", to, error))?;
            let Some(copy) = there.copy else {
                let text = format!("{to} was written by somebody else during the copy");
                return Err(ControllerError::Going(text));
            };
            match copy.status {
                CopyStatus::Success if self.is_there(op, (from, to)).await? => return Ok(()),
                CopyStatus::Success => {
                    let text = format!("{from} changed while it was copied");
                    return Err(ControllerError::Going(text));
                }
                CopyStatus::Pending => {}
                CopyStatus::Aborted | CopyStatus::Failed | CopyStatus::Other(_) => {
                    let why = copy.description.unwrap_or_default();
                    let text = format!("copying {from} failed and is tried again: {why}");
                    return Err(ControllerError::Going(text));
                }
            }
            if op.deadline().remaining(&*self.clock) < pause {
                let text = format!("{from} is still being copied");
                return Err(ControllerError::Going(text));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }
}

fn join(path: &SharePath, name: &str) -> Result<SharePath, ControllerError> {
    path.join(name)
        .map_err(|error| ControllerError::State(error.to_string()))
}

/// A path below a directory.
fn within(root: &FileRef, path: &SharePath) -> Result<FileRef, ControllerError> {
    let mut at = root.clone();
    for name in path.as_str().split('/').filter(|name| !name.is_empty()) {
        at.path = join(&at.path, name)?;
    }
    Ok(at)
}

fn failed(doing: &str, at: &FileRef, error: ArmError) -> ControllerError {
    ControllerError::azure(format!("{doing} {at}"), error)
}
