//! Known things at the start and at the end of a device.
//!
//! Offsets and magic numbers are those of the on-disk formats, as util-linux's libblkid and the
//! kernel's headers publish them.

use std::fmt;

use super::{ExtState, Filesystem, FsKind};

/// How much of the start is looked at, in bytes.
pub(super) const HEAD: u64 = 1024 * 1024;
/// How much of the end is looked at, in bytes.
pub(super) const TAIL: u64 = 1024 * 1024;

/// What is looked at.
#[derive(Debug)]
pub(super) struct Areas<'a> {
    pub(super) head: &'a [u8],
    pub(super) tail: &'a [u8],
    pub(super) size: u64,
}

/// A known thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Signature {
    /// A filesystem that is served.
    Served(Filesystem),
    /// Anything else that has a name.
    Named(&'static str),
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Served(filesystem) => filesystem.kind.fmt(f),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// Names, offsets from the start and bytes.
const AT_START: [(&str, usize, &[u8]); 26] = [
    ("LUKS", 0, b"LUKS\xba\xbe"),
    ("LUKS", 0x4000, b"SKUL\xba\xbe"),
    ("squashfs", 0, b"hsqs"),
    ("BlueStore", 0, b"bluestore block device"),
    ("BitLocker", 3, b"-FVE-FS-"),
    ("NTFS", 3, b"NTFS    "),
    ("exFAT", 3, b"EXFAT   "),
    ("FAT", 54, b"FAT1"),
    ("FAT", 82, b"FAT32"),
    ("iso9660", 32769, b"CD001"),
    ("JFS", 32768, b"JFS1"),
    ("ReiserFS", 65536 + 52, b"ReIsEr"),
    ("F2FS", 1024, b"\x10\x20\xf5\xf2"),
    ("EROFS", 1024, b"\xe2\xe1\xf5\xe0"),
    (
        "bcache or bcachefs",
        4096 + 24,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    ("md RAID member", 0, b"\xfc\x4e\x2b\xa9"),
    ("md RAID member", 4096, b"\xfc\x4e\x2b\xa9"),
    ("swap", 4096 - 10, b"SWAPSPACE2"),
    ("swap", 8192 - 10, b"SWAPSPACE2"),
    ("swap", 16384 - 10, b"SWAPSPACE2"),
    ("swap", 65536 - 10, b"SWAPSPACE2"),
    ("swap", 4096 - 10, b"SWAP-SPACE"),
    ("LVM physical volume", 0, b"LABELONE"),
    ("LVM physical volume", 512, b"LABELONE"),
    ("LVM physical volume", 1024, b"LABELONE"),
    ("LVM physical volume", 1536, b"LABELONE"),
];

/// Every known thing, each once.
pub(super) fn find(areas: &Areas<'_>) -> Vec<Signature> {
    let head = areas.head;
    let mut found: Vec<Signature> = [ext(head), xfs(head), btrfs(head)]
        .into_iter()
        .flatten()
        .map(Signature::Served)
        .collect();
    let named = AT_START
        .iter()
        .filter(|(_, at, magic)| has(head, *at, magic))
        .map(|&(name, _, _)| name)
        .chain(unfinished_xfs(head).then_some("an unfinished xfs"))
        .chain(journal_device(head).then_some("an external ext journal"))
        .chain(gpt(areas).then_some("GPT partition table"))
        .chain(dos(head).then_some("DOS partition table"))
        .chain(md_at_end(areas).then_some("md RAID member"))
        .chain(zfs(areas).then_some("ZFS member"));
    for name in named {
        if !found.contains(&Signature::Named(name)) {
            found.push(Signature::Named(name));
        }
    }
    // A GPT comes with a protective DOS table; that is one thing.
    if found.contains(&Signature::Named("GPT partition table")) {
        found.retain(|s| *s != Signature::Named("DOS partition table"));
    }
    found
}

fn has(bytes: &[u8], at: usize, magic: &[u8]) -> bool {
    bytes.get(at..at + magic.len()) == Some(magic)
}

fn little<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut number = 0_u64;
    for &byte in bytes.get(at..at + N)?.iter().rev() {
        number = number << 8 | u64::from(byte);
    }
    Some(number)
}

fn big<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut number = 0_u64;
    for &byte in bytes.get(at..at + N)? {
        number = number << 8 | u64::from(byte);
    }
    Some(number)
}

fn uuid(bytes: &[u8], at: usize) -> Option<String> {
    let bytes = bytes.get(at..at + 16)?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

const EXT: usize = 1024;
const COMPAT_JOURNAL: u64 = 0x4;
const INCOMPAT_RECOVER: u64 = 0x4;
const INCOMPAT_JOURNAL_DEVICE: u64 = 0x8;
const INCOMPAT_64BIT: u64 = 0x80;
/// What ext3 already knew; anything beyond makes it ext4.
const INCOMPAT_EXT3: u64 = 0x2 | INCOMPAT_RECOVER | 0x10;
const RO_COMPAT_EXT3: u64 = 0x7;

/// An ext filesystem.
pub(super) fn ext(head: &[u8]) -> Option<Filesystem> {
    let word = |at| little::<4>(head, EXT + at);
    let half = |at| little::<2>(head, EXT + at);
    if half(0x38)? != 0xef53 {
        return None;
    }
    let (compat, incompat, ro_compat) = (word(0x5c)?, word(0x60)?, word(0x64)?);
    if incompat & INCOMPAT_JOURNAL_DEVICE != 0 {
        return None;
    }
    let kind = if incompat & !INCOMPAT_EXT3 != 0 || ro_compat & !RO_COMPAT_EXT3 != 0 {
        FsKind::Ext4
    } else if compat & COMPAT_JOURNAL != 0 {
        FsKind::Ext3
    } else {
        FsKind::Ext2
    };
    let high = if incompat & INCOMPAT_64BIT != 0 {
        word(0x150)?
    } else {
        0
    };
    let blocks = high << 32 | word(0x4)?;
    let block_size = 1024_u64.checked_shl(u32::try_from(word(0x18)?).ok()?)?;
    let state = half(0x3a)?;
    Some(Filesystem {
        kind,
        uuid: uuid(head, EXT + 0x68)?,
        bytes: blocks.checked_mul(block_size)?,
        ext: Some(ExtState {
            is_clean: state & 1 != 0,
            has_errors: state & 2 != 0,
            needs_replay: incompat & INCOMPAT_RECOVER != 0,
        }),
    })
}

fn journal_device(head: &[u8]) -> bool {
    little::<2>(head, EXT + 0x38) == Some(0xef53)
        && little::<4>(head, EXT + 0x60).is_some_and(|i| i & INCOMPAT_JOURNAL_DEVICE != 0)
}

const XFS_IN_PROGRESS: usize = 126;

fn xfs(head: &[u8]) -> Option<Filesystem> {
    (has(head, 0, b"XFSB") && head.get(XFS_IN_PROGRESS) == Some(&0)).then_some(())?;
    Some(Filesystem {
        kind: FsKind::Xfs,
        uuid: uuid(head, 32)?,
        bytes: big::<8>(head, 8)?.checked_mul(big::<4>(head, 4)?)?,
        ext: None,
    })
}

fn unfinished_xfs(head: &[u8]) -> bool {
    has(head, 0, b"XFSB") && head.get(XFS_IN_PROGRESS) != Some(&0)
}

const BTRFS: usize = 65536;

fn btrfs(head: &[u8]) -> Option<Filesystem> {
    has(head, BTRFS + 0x40, b"_BHRfS_M").then_some(())?;
    Some(Filesystem {
        kind: FsKind::Btrfs,
        uuid: uuid(head, BTRFS + 0x20)?,
        // The size of this device's item; the total would count other devices as well.
        bytes: little::<8>(head, BTRFS + 0xc9 + 8)?,
        ext: None,
    })
}

fn gpt(areas: &Areas<'_>) -> bool {
    let at_start = [512, 4096]
        .iter()
        .any(|&at| has(areas.head, at, b"EFI PART"));
    let from_end = |back: usize| areas.tail.len().checked_sub(back);
    let at_end = [512, 4096]
        .iter()
        .any(|&back| from_end(back).is_some_and(|at| has(areas.tail, at, b"EFI PART")));
    at_start || at_end
}

/// A table with at least one entry that could be one. Boot code of FAT ends the same way, but has
/// no sane entries.
fn dos(head: &[u8]) -> bool {
    let entry = |at: usize| {
        let flag = head.get(at).is_some_and(|&f| f == 0 || f == 0x80);
        let kind = head.get(at + 4).is_some_and(|&k| k != 0);
        flag && kind && little::<4>(head, at + 12).is_some_and(|sectors| sectors != 0)
    };
    has(head, 510, b"\x55\xaa") && [446, 462, 478, 494].into_iter().any(entry)
}

/// md keeps its superblock at the end in the formats 0.90 and 1.0.
fn md_at_end(areas: &Areas<'_>) -> bool {
    let size = areas.size;
    let old = (size / 65536 * 65536).checked_sub(65536);
    let new = (size / 512)
        .checked_sub(16)
        .map(|sector| sector / 8 * 8 * 512);
    let start = size - u64::try_from(areas.tail.len()).unwrap_or(size);
    [old, new].into_iter().flatten().any(|at| {
        let Some(at) = at
            .checked_sub(start)
            .and_then(|at| usize::try_from(at).ok())
        else {
            return false;
        };
        has(areas.tail, at, b"\xfc\x4e\x2b\xa9") || has(areas.tail, at, b"\xa9\x2b\x4e\xfc")
    })
}

/// ZFS has four labels of 256 KiB, two at each end; the second half of each holds uberblocks.
fn zfs(areas: &Areas<'_>) -> bool {
    const LABEL: usize = 256 * 1024;
    let in_label = |bytes: &[u8], start: usize| {
        (LABEL / 2..LABEL).step_by(1024).any(|at| {
            has(bytes, start + at, b"\x0c\xb1\xba\x00\x00\x00\x00\x00")
                || has(bytes, start + at, b"\x00\x00\x00\x00\x00\xba\xb1\x0c")
        })
    };
    let skew = usize::try_from(areas.size % 262_144).unwrap_or(0);
    let tail = areas
        .tail
        .get(..areas.tail.len().saturating_sub(skew))
        .unwrap_or(&[]);
    let at_end = [LABEL, 2 * LABEL]
        .iter()
        .filter_map(|back| tail.len().checked_sub(*back))
        .any(|start| in_label(tail, start));
    in_label(areas.head, 0) || in_label(areas.head, LABEL) || at_end
}
