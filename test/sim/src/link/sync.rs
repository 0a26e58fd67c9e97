//! Brings files and devices in line with the world, whatever led to it.
//!
//! It compares what should be with what it did last time, so a change that was missed is made up
//! for by the next one. Contents are made before the world that names them is saved, and removed
//! only after the world without them is saved: a process that dies in between never leaves a disk
//! without contents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::disks::Backing;
use super::qmp::QmpLink;
use super::{Attachment, LinkError, LoopLink, Taken};

/// How devices appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As loop devices of this machine.
    Loop,
    /// In QEMU virtual machines.
    Qmp,
}

#[derive(Debug)]
enum Link {
    Loop(LoopLink),
    Qmp(QmpLink),
}

impl Link {
    const fn backing(&self) -> &Backing {
        match self {
            Self::Loop(link) => link.backing(),
            Self::Qmp(link) => link.backing(),
        }
    }

    fn attach(&self, wanted: &Attachment) -> Result<(), LinkError> {
        match self {
            Self::Loop(link) => link.attach(wanted),
            Self::Qmp(link) => link.attach(wanted),
        }
    }

    fn detach(&self, gone: &Attachment) -> Result<Taken, LinkError> {
        match self {
            Self::Loop(link) => link.detach(gone),
            // Who uses a disk inside a virtual machine is not to be seen from here.
            Self::Qmp(link) => link.detach(gone).map(|()| Taken::Clean),
        }
    }

    fn resize(&self, disk: &str, bytes: u64) -> Result<(), LinkError> {
        match self {
            Self::Loop(link) => link.resize(disk, bytes),
            Self::Qmp(link) => link.resize(disk, bytes),
        }
    }
}

/// Contents that should exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// How large.
    pub bytes: u64,
    /// Whose contents it began with; `None` for zeroes.
    pub source: Option<String>,
}

/// What should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desired {
    /// Disks and snapshots by their unique id.
    pub contents: BTreeMap<String, Contents>,
    /// Which node should see which disk.
    pub attachments: BTreeSet<Attachment>,
}

/// A device that was taken from someone who used it: a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// Where it was attached.
    pub attachment: Attachment,
    /// Mount points; empty when it was merely open.
    pub mounts: Vec<PathBuf>,
}

/// Keeps files and devices in line.
#[derive(Debug)]
pub struct Sync {
    link: Link,
    done: Desired,
}

impl Sync {
    /// Takes over the state directory.
    ///
    /// # Errors
    /// When a disk of the world has no contents, or devices cannot be made.
    pub fn start(
        kind: Kind,
        dir: &Path,
        nodes: &[String],
        desired: &Desired,
    ) -> Result<Self, LinkError> {
        let backing = Backing::open(&dir.join("disks"))?;
        let found: BTreeSet<String> = backing.keys()?.into_iter().collect();
        if let Some(missing) = desired.contents.keys().find(|key| !found.contains(*key)) {
            return Err(LinkError::NoContents(
                backing.path(missing).display().to_string(),
            ));
        }
        let attachments: Vec<Attachment> = desired.attachments.iter().cloned().collect();
        let link = match kind {
            Kind::Loop => Link::Loop(LoopLink::start(dir, nodes, &attachments)?),
            Kind::Qmp => Link::Qmp(QmpLink::start(dir, nodes, &attachments)?),
        };
        let this = Self {
            link,
            done: desired.clone(),
        };
        this.collect()?;
        Ok(this)
    }

    /// Makes contents and devices as the world has them now, except for removing contents.
    ///
    /// # Errors
    /// When a file or device cannot be made; what could be done is done.
    pub fn apply(&mut self, desired: &Desired) -> Result<Vec<Pulled>, LinkError> {
        let mut pulled = Vec::new();
        let gone: Vec<Attachment> = self
            .done
            .attachments
            .difference(&desired.attachments)
            .cloned()
            .collect();
        for attachment in gone {
            let taken = self.link.detach(&attachment)?;
            self.done.attachments.remove(&attachment);
            if let Taken::InUse { mounts } = taken {
                pulled.push(Pulled { attachment, mounts });
            }
        }
        for (key, wanted) in &desired.contents {
            match self.done.contents.get(key) {
                Some(same) if same == wanted => continue,
                Some(_) => self.link.resize(key, wanted.bytes)?,
                None => self.create(key, wanted)?,
            }
            self.done.contents.insert(key.clone(), wanted.clone());
        }
        for attachment in &desired.attachments {
            if !self.done.attachments.contains(attachment) {
                self.link.attach(attachment)?;
                self.done.attachments.insert(attachment.clone());
            }
        }
        self.done
            .contents
            .retain(|key, _| desired.contents.contains_key(key));
        Ok(pulled)
    }

    /// Removes contents that no resource has any more. Call it once the world is saved.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn collect(&self) -> Result<(), LinkError> {
        for key in self.link.backing().keys()? {
            if !self.done.contents.contains_key(&key) {
                self.link.backing().remove(&key)?;
            }
        }
        Ok(())
    }

    /// Has devices appear so much later than Azure says; `false` where they cannot.
    #[must_use]
    pub fn set_lag(&self, lag: Duration) -> bool {
        match &self.link {
            Link::Loop(_) => false,
            Link::Qmp(link) => {
                link.set_lag(lag);
                true
            }
        }
    }

    /// Takes all devices away; contents stay.
    pub fn shutdown(&self) {
        match &self.link {
            Link::Loop(link) => link.shutdown(),
            Link::Qmp(link) => link.shutdown(),
        }
    }

    fn create(&self, key: &str, wanted: &Contents) -> Result<(), LinkError> {
        let backing = self.link.backing();
        match &wanted.source {
            // A source that has gone since had nothing to give: the disk would have failed.
            Some(source) if backing.path(source).exists() => {
                backing.copy(source, key, wanted.bytes)
            }
            _ => backing.ensure(key, wanted.bytes),
        }
    }
}
