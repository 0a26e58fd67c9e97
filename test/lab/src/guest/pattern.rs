//! Bytes that can be told from all others: every eight of them follow from seed and place.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;

use crate::wire::Span;

const CHUNK: u64 = 1 << 20;

/// The pattern at an offset that is a multiple of 8.
fn fill(seed: u64, offset: u64, into: &mut [u8]) {
    for (at, word) in (0_u64..).zip(into.chunks_mut(8)) {
        // The mixing step of splitmix64 (public domain): neighbours have nothing in common.
        let mut z = (offset / 8 + at)
            .wrapping_add(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let bytes = (z ^ (z >> 31)).to_le_bytes();
        word.copy_from_slice(bytes.get(..word.len()).unwrap_or_default());
    }
}

fn pieces(span: &Span) -> impl Iterator<Item = (u64, usize)> {
    let (start, end) = (span.offset, span.offset.saturating_add(span.length));
    (0..span.length.div_ceil(CHUNK)).map(move |n| {
        let at = start + n * CHUNK;
        (at, usize::try_from((end - at).min(CHUNK)).unwrap_or(0))
    })
}

/// Writes the pattern and has it brought to the disk.
///
/// # Errors
/// When it cannot be written.
pub fn write(span: &Span) -> io::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&span.path)?;
    let mut buffer = Vec::new();
    for (at, length) in pieces(span) {
        buffer.resize(length, 0);
        fill(span.seed, at, &mut buffer);
        file.write_all_at(&buffer, at)?;
    }
    file.sync_all()
}

/// How many bytes are not the pattern. What is missing at the end counts.
///
/// # Errors
/// When it cannot be read.
pub fn check(span: &Span) -> io::Result<u64> {
    let file = File::open(&span.path)?;
    // What is in memory may never have reached the disk.
    nix::fcntl::posix_fadvise(
        &file,
        0,
        0,
        nix::fcntl::PosixFadviseAdvice::POSIX_FADV_DONTNEED,
    )?;
    let (mut got, mut want) = (Vec::new(), Vec::new());
    let mut wrong = 0;
    for (at, length) in pieces(span) {
        got.resize(length, 0);
        want.resize(length, 0);
        fill(span.seed, at, &mut want);
        let read = read_up_to(&file, &mut got, at)?;
        wrong += (length - read) as u64;
        let pairs = got.iter().zip(&want).take(read);
        wrong += pairs.filter(|(got, want)| got != want).count() as u64;
    }
    Ok(wrong)
}

fn read_up_to(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + done as u64)? {
            0 => break,
            got => done += got,
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(path: &std::path::Path) -> Span {
        Span {
            path: path.display().to_string(),
            offset: 4096,
            length: (1 << 20) + 500,
            seed: 7,
        }
    }

    #[test]
    fn what_was_written_is_found_and_one_changed_byte_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let span = span(&dir.path().join("f"));
        write(&span).unwrap();
        assert_eq!(check(&span).unwrap(), 0);
        let file = OpenOptions::new().write(true).open(&span.path).unwrap();
        let mut byte = [0];
        File::open(&span.path)
            .unwrap()
            .read_at(&mut byte, 70_000)
            .unwrap();
        file.write_at(&[!byte[0]], 70_000).unwrap();
        assert_eq!(check(&span).unwrap(), 1);
    }

    #[test]
    fn a_short_file_and_another_seed_are_wrong() {
        let dir = tempfile::tempdir().unwrap();
        let span = span(&dir.path().join("f"));
        write(&span).unwrap();
        let longer = Span {
            length: span.length + 10,
            ..span.clone()
        };
        assert_eq!(check(&longer).unwrap(), 10);
        let other = Span { seed: 8, ..span };
        assert!(check(&other).unwrap() > 1 << 19);
    }
}
