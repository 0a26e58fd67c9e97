//! Images of everything that must not be taken for a blank disk.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use super::{Content, inspect};

const SIZE: u64 = 160 * 1024 * 1024;

fn image(folder: &Path, size: u64, writes: &[(u64, &[u8])]) -> std::path::PathBuf {
    let path = folder.join("image");
    let mut file = File::create(&path).unwrap();
    file.set_len(size).unwrap();
    for (at, bytes) in writes {
        file.seek(SeekFrom::Start(*at)).unwrap();
        file.write_all(bytes).unwrap();
    }
    path
}

fn content(writes: &[(u64, &[u8])]) -> Content {
    let folder = tempfile::tempdir().unwrap();
    inspect(&image(folder.path(), SIZE, writes), 7).unwrap()
}

#[test]
fn only_zeros_are_blank() {
    assert_eq!(content(&[]), Content::Blank);
}

#[test]
fn one_byte_is_data() {
    for at in [0, 70_000, 3 << 20, 64 << 20, SIZE - 1, SIZE / 4] {
        assert_eq!(content(&[(at, b"x")]), Content::Data { offset: at }, "{at}");
    }
    let (random, _) = super::samples(SIZE, 7)[5];
    assert!(matches!(
        content(&[(random, b"\x01")]),
        Content::Data { .. }
    ));
}

#[test]
fn known_things_are_named() {
    let dos: Vec<u8> = {
        let mut sector = vec![0_u8; 512];
        sector[446 + 4] = 0x83;
        sector[446 + 12] = 8;
        sector[510..].copy_from_slice(b"\x55\xaa");
        sector
    };
    let md = b"\xfc\x4e\x2b\xa9".as_slice();
    let zfs = b"\x0c\xb1\xba\x00\x00\x00\x00\x00".as_slice();
    let label = SIZE - 256 * 1024 + 128 * 1024;
    for (at, bytes, name) in [
        (0, b"LUKS\xba\xbe".as_slice(), "LUKS"),
        (512, b"LABELONE", "LVM physical volume"),
        (0, md, "md RAID member"),
        (4096, md, "md RAID member"),
        (SIZE - 65536, md, "md RAID member"),
        (SIZE - 8192, md, "md RAID member"),
        (4086, b"SWAPSPACE2", "swap"),
        (0, b"hsqs", "squashfs"),
        (SIZE - 512, b"EFI PART", "GPT partition table"),
        (512, b"EFI PART", "GPT partition table"),
        (0, &dos, "DOS partition table"),
        (label, zfs, "ZFS member"),
        (3, b"NTFS    ", "NTFS"),
    ] {
        assert_eq!(
            content(&[(at, bytes)]),
            Content::Other(vec![name.to_owned()])
        );
    }
}

#[test]
fn a_protective_table_is_part_of_gpt_and_two_things_are_two() {
    let mut sector = vec![0_u8; 512];
    sector[446 + 4] = 0xee;
    sector[446 + 12] = 1;
    sector[510..].copy_from_slice(b"\x55\xaa");
    let found = content(&[(0, &sector), (512, b"EFI PART")]);
    assert_eq!(
        found,
        Content::Other(vec!["GPT partition table".to_owned()])
    );
    let Content::Other(both) = content(&[(0, b"XFSB"), (65536 + 64, b"_BHRfS_M")]) else {
        panic!("one of two was chosen");
    };
    assert_eq!(both, ["xfs", "btrfs"]);
}

#[test]
fn an_unfinished_xfs_is_no_filesystem() {
    let found = content(&[(0, b"XFSB"), (126, b"\x01")]);
    assert_eq!(found, Content::Other(vec!["an unfinished xfs".to_owned()]));
}

#[test]
fn a_disk_that_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(inspect(&folder.path().join("missing"), 1).is_err());
    assert!(inspect(folder.path(), 1).is_err(), "a folder");
    assert!(inspect(&image(folder.path(), 0, &[]), 1).is_err(), "empty");
}

#[test]
fn small_and_odd_sizes_are_read_to_the_end() {
    for size in [512, 4096, 5 * 512, 1 << 20, (1 << 20) + 512] {
        let folder = tempfile::tempdir().unwrap();
        let path = image(folder.path(), size, &[]);
        assert_eq!(inspect(&path, 1).unwrap(), Content::Blank, "{size}");
        let path = image(folder.path(), size, &[(size - 1, b"x")]);
        assert_eq!(
            inspect(&path, 1).unwrap(),
            Content::Data { offset: size - 1 }
        );
    }
}
