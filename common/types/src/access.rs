//! Access mode and volume mode, and which combinations a volume supports.

/// How many nodes and writers a volume is asked for (CSI, `VolumeCapability.AccessMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessMode {
    /// One node reads and writes.
    SingleNodeWriter,
    /// One node reads.
    SingleNodeReaderOnly,
    /// Several nodes read.
    MultiNodeReaderOnly,
    /// Several nodes, one of them writes.
    MultiNodeSingleWriter,
    /// Several nodes read and write.
    MultiNodeMultiWriter,
    /// One workload on one node reads and writes.
    SingleNodeSingleWriter,
    /// Several workloads on one node read and write.
    SingleNodeMultiWriter,
}

impl AccessMode {
    /// The mode behind its number on the wire; `None` for 0 and for numbers not yet defined.
    #[must_use]
    pub const fn from_wire(number: i32) -> Option<Self> {
        Some(match number {
            1 => Self::SingleNodeWriter,
            2 => Self::SingleNodeReaderOnly,
            3 => Self::MultiNodeReaderOnly,
            4 => Self::MultiNodeSingleWriter,
            5 => Self::MultiNodeMultiWriter,
            6 => Self::SingleNodeSingleWriter,
            7 => Self::SingleNodeMultiWriter,
            _ => return None,
        })
    }

    /// The number on the wire.
    #[must_use]
    pub const fn to_wire(self) -> i32 {
        match self {
            Self::SingleNodeWriter => 1,
            Self::SingleNodeReaderOnly => 2,
            Self::MultiNodeReaderOnly => 3,
            Self::MultiNodeSingleWriter => 4,
            Self::MultiNodeMultiWriter => 5,
            Self::SingleNodeSingleWriter => 6,
            Self::SingleNodeMultiWriter => 7,
        }
    }

    /// Whether several nodes may use the volume at once.
    #[must_use]
    pub const fn is_multi_node(self) -> bool {
        matches!(
            self,
            Self::MultiNodeReaderOnly | Self::MultiNodeSingleWriter | Self::MultiNodeMultiWriter
        )
    }

    /// Whether nobody may write.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        matches!(self, Self::SingleNodeReaderOnly | Self::MultiNodeReaderOnly)
    }

    /// Every mode.
    pub const ALL: [Self; 7] = [
        Self::SingleNodeWriter,
        Self::SingleNodeReaderOnly,
        Self::MultiNodeReaderOnly,
        Self::MultiNodeSingleWriter,
        Self::MultiNodeMultiWriter,
        Self::SingleNodeSingleWriter,
        Self::SingleNodeMultiWriter,
    ];
}

/// What the workload sees (CSI, `VolumeCapability.access_type`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum VolumeMode {
    /// A raw block device.
    Block,
    /// A mounted filesystem.
    Filesystem {
        /// The filesystem that is asked for; empty for the driver's default.
        fs_type: String,
        /// Mount options in the order given.
        mount_flags: Vec<String>,
    },
}

/// One capability of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// How many nodes and writers.
    pub mode: AccessMode,
    /// Block or filesystem.
    pub volume: VolumeMode,
}

/// How many machines a disk may be attached to at once (REST reference, `Disk.maxShares`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MaxShares(u8);

impl MaxShares {
    /// An ordinary disk.
    pub const ONE: Self = Self(1);

    /// Reads a count; `None` outside 1 to 255.
    #[must_use]
    pub fn new(count: i64) -> Option<Self> {
        u8::try_from(count)
            .ok()
            .filter(|&count| count >= 1)
            .map(Self)
    }

    /// The count.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Whether several machines may hold the disk.
    #[must_use]
    pub const fn is_shared(self) -> bool {
        self.0 > 1
    }
}

/// Why a disk cannot be used as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// A filesystem on several nodes would destroy itself.
    #[error("{0:?} needs volumeMode Block: a disk's filesystem cannot be mounted on several nodes")]
    SharedFilesystem(AccessMode),
    /// The disk is not shared.
    #[error("{0:?} needs a shared disk: set the parameter maxShares to 2 or more")]
    NotShared(AccessMode),
}

impl Access {
    /// Whether a disk that allows so many attachments can be used this way.
    ///
    /// # Errors
    /// The reason if it cannot.
    pub const fn on_disk(&self, shares: MaxShares) -> Result<(), Unsupported> {
        match (&self.volume, self.mode.is_multi_node()) {
            (_, false) => Ok(()),
            (VolumeMode::Filesystem { .. }, true) => Err(Unsupported::SharedFilesystem(self.mode)),
            (VolumeMode::Block, true) if shares.is_shared() => Ok(()),
            (VolumeMode::Block, true) => Err(Unsupported::NotShared(self.mode)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, AccessMode, MaxShares, Unsupported, VolumeMode};

    #[test]
    fn the_wire_numbers_round_trip() {
        for mode in AccessMode::ALL {
            assert_eq!(AccessMode::from_wire(mode.to_wire()), Some(mode));
        }
        for unknown in [0, -1, 8, i32::MAX] {
            assert_eq!(AccessMode::from_wire(unknown), None);
        }
    }

    #[test]
    fn several_nodes_need_a_shared_raw_disk() {
        let filesystem = VolumeMode::Filesystem {
            fs_type: String::new(),
            mount_flags: Vec::new(),
        };
        let two = MaxShares::new(2).unwrap();
        for mode in AccessMode::ALL {
            let on = |volume: &VolumeMode, shares| {
                Access {
                    mode,
                    volume: volume.clone(),
                }
                .on_disk(shares)
            };
            let multi = mode.is_multi_node();
            assert_eq!(on(&VolumeMode::Block, two), Ok(()));
            assert_eq!(on(&VolumeMode::Block, MaxShares::ONE).is_err(), multi);
            let expected = if multi {
                Err(Unsupported::SharedFilesystem(mode))
            } else {
                Ok(())
            };
            assert_eq!(on(&filesystem, two), expected);
        }
    }
}
