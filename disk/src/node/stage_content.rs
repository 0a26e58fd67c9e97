//! Staging a filesystem, the part before the mount: what is on the device, and what is made of it.

use azcsi_host::growfs;
use azcsi_host::mkfs::Overwrite;
use azcsi_host::probe::{self, Content, FsKind};

use super::device;
use super::error::NodeError;
use super::record::Intent;
use super::stage_disk::Job;
use super::stage_plan::{self, OnDevice, Rights};

impl Job<'_> {
    /// Looks at the device, and checks or makes the filesystem.
    pub(super) async fn prepare(&self) -> Result<(), NodeError> {
        let devices = &self.node.powers.devices;
        self.guard()
            .prove_unclaimed(devices)
            .map_err(|error| device::changed(&self.request.volume, error))?;
        let content = self.look().await?;
        let context = &self.request.context;
        match stage_plan::on_device(&content, self.wish.kind, &self.rights(), context.fsck) {
            OnDevice::Refuse(why) => Err(NodeError::NotFormatted {
                volume: self.volume().to_owned(),
                why,
            }),
            OnDevice::Mount { check } => {
                self.refuse_twin(&content)?;
                if check {
                    self.check().await?;
                }
                self.grow_before_mount(&content).await
            }
            OnDevice::Format(overwrite) => self.format(overwrite).await,
        }
    }

    async fn check(&self) -> Result<(), NodeError> {
        self.verify()?;
        let fsck = &self.node.powers.fsck;
        let begin = self.node.clock.now();
        let check = fsck.preen(self.op, &self.target.node);
        let slow = ("FilesystemCheckSlow", "checking the filesystem of");
        let checked = self.node.in_sight(self.request, slow, check).await;
        let took = self.node.clock.now().saturating_sub(begin);
        let kind = self.wish.kind.name();
        self.node.metrics.checked(kind, &checked, took);
        checked
            .map(drop)
            .map_err(|error| NodeError::step("checking", self.volume(), error))
    }

    /// Kernels that take two btrfs of one UUID for the same filesystem could mount the other one.
    fn refuse_twin(&self, content: &Content) -> Result<(), NodeError> {
        let powers = &self.node.powers;
        let Content::Filesystem(found) = content else {
            return Ok(());
        };
        if found.kind != FsKind::Btrfs || powers.tells_btrfs_twins {
            return Ok(());
        }
        let twins = powers.devices.btrfs_twins(&self.target, &found.uuid);
        if twins.is_empty() {
            return Ok(());
        }
        Err(NodeError::Refused {
            volume: self.volume().to_owned(),
            why: format!(
                "its btrfs has the UUID of the one on '{}', and this kernel cannot tell them apart: \
                 use the copy on another node, or kernel 6.7 or newer",
                twins.join("', '")
            ),
        })
    }

    /// Grows an ext filesystem while it is not mounted, if this process could not do it later. It
    /// costs a full check, so it is only the second choice.
    async fn grow_before_mount(&self, content: &Content) -> Result<(), NodeError> {
        let powers = &self.node.powers;
        let Content::Filesystem(found) = content else {
            return Ok(());
        };
        let size = self.size()?;
        let is_wanted = found.kind.is_ext() && !self.wish.read_only;
        if powers.grows_mounted_ext || !is_wanted || !growfs::is_needed(found.bytes, size) {
            return Ok(());
        }
        self.verify()?;
        let node = &self.target.node;
        let checked = powers.fsck.preen_fully(self.op, node).await;
        checked.map_err(|error| NodeError::step("checking", self.volume(), error))?;
        self.verify()?;
        let grown = powers
            .grow
            .unmounted_ext(self.op, &self.to_grow(size))
            .await;
        grown.map_err(|error| NodeError::step("growing the filesystem", self.volume(), error))
    }

    async fn look(&self) -> Result<Content, NodeError> {
        let path = self.target.node.clone();
        let seed = self.request.volume.key().seed();
        let looked = tokio::task::spawn_blocking(move || probe::inspect(&path, seed)).await;
        match looked {
            Ok(Ok(content)) => Ok(content),
            Ok(Err(error)) => Err(NodeError::step("reading the disk", self.volume(), error)),
            Err(_) => Err(NodeError::NotReady {
                volume: self.volume().to_owned(),
                why: "reading the disk was cut off".to_owned(),
            }),
        }
    }

    fn rights(&self) -> Rights {
        let earlier = self.node.records.get(&self.request.volume.key());
        let is_unfinished = earlier.is_some_and(|record| {
            record.intent == Intent::Formatting
                && record.mark.is_same_attachment(&self.proven.mark)
                && record.fs_type.as_deref() == Some(self.wish.kind.name())
        });
        Rights {
            trust: self.proven.trust,
            check: self.node.config.identity,
            origin: self.request.context.origin,
            opt_in: self.request.context.opt_in,
            read_only: self.wish.read_only,
            is_partition: self.part.is_some(),
            is_unfinished,
        }
    }

    /// Makes the filesystem. That it is being made is on the disk of the node before it begins.
    async fn format(&self, overwrite: Overwrite) -> Result<(), NodeError> {
        let key = self.request.volume.key();
        let put = |intent| {
            self.node
                .records
                .put(&key, self.record(intent, ""))
                .map_err(|error| NodeError::io("writing the record", self.volume(), error))
        };
        put(Intent::Formatting)?;
        self.verify()?;
        tracing::info!(volume = self.volume(), device = self.target.name, kind = %self.wish.kind, "making a filesystem");
        self.make(overwrite).await?;
        self.verify()?;
        match self.look().await? {
            Content::Filesystem(made) if made.kind == self.wish.kind => put(Intent::None),
            other => Err(NodeError::NotReady {
                volume: self.volume().to_owned(),
                why: format!("after making a filesystem the disk holds {other:?}"),
            }),
        }
    }

    async fn make(&self, overwrite: Overwrite) -> Result<(), NodeError> {
        let mkfs = &self.node.powers.mkfs;
        let begin = self.node.clock.now();
        let make = mkfs.make(self.op, self.wish.kind, &self.target.node, overwrite);
        let slow = ("FormatSlow", "making the filesystem of");
        let made = self.node.in_sight(self.request, slow, make).await;
        let took = self.node.clock.now().saturating_sub(begin);
        let kind = self.wish.kind.name();
        self.node.metrics.formatted(kind, &made, took);
        made.map_err(|error| NodeError::step("making the filesystem", self.volume(), error))
    }
}
