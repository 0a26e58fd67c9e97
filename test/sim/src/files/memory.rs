//! Contents of shares in memory, for the library. Files are sparse: only what was written is kept.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::contents::{Contents, Found, absent, parent};

/// Data is kept in pieces of so many bytes.
const PIECE: u64 = 64 << 10;
const PIECE_BYTES: usize = 64 << 10;

#[derive(Clone, Debug, Default)]
struct Sparse {
    size: u64,
    pieces: BTreeMap<u64, Vec<u8>>,
}

#[derive(Clone, Debug)]
struct Node {
    path: String,
    number: u64,
    /// None for a directory.
    data: Option<Sparse>,
}

/// By path in small letters.
type Tree = BTreeMap<String, Node>;

/// Shares in memory.
#[derive(Debug, Default)]
pub struct Memory {
    shares: Mutex<(u64, BTreeMap<String, Tree>)>,
}

fn low(path: &str) -> String {
    path.to_lowercase()
}

impl Sparse {
    fn write(&mut self, at: u64, bytes: &[u8]) {
        let mut at = at;
        let mut rest = bytes;
        while !rest.is_empty() {
            let inside = usize::try_from(at % PIECE).unwrap_or(0);
            let count = rest.len().min(PIECE_BYTES - inside);
            let (now, later) = rest.split_at(count);
            let piece = self
                .pieces
                .entry(at / PIECE)
                .or_insert_with(|| vec![0; PIECE_BYTES]);
            if let Some(target) = piece.get_mut(inside..inside + count) {
                target.copy_from_slice(now);
            }
            at += u64::try_from(count).unwrap_or(0);
            rest = later;
        }
        self.size = self.size.max(at);
    }

    fn read(&self, at: u64, most: u64) -> Vec<u8> {
        let end = self.size.min(at.saturating_add(most));
        let length = usize::try_from(end.saturating_sub(at)).unwrap_or(0);
        let mut bytes = vec![0; length];
        let (first, last) = (at / PIECE, end / PIECE);
        for (index, piece) in self.pieces.range(first..=last) {
            let start = index * PIECE;
            let from = start.max(at);
            let to = (start + PIECE).min(end);
            let (Ok(target), Ok(source), Ok(count)) = (
                usize::try_from(from.saturating_sub(at)),
                usize::try_from(from - start),
                usize::try_from(to.saturating_sub(from)),
            ) else {
                continue;
            };
            if let (Some(target), Some(source)) = (
                bytes.get_mut(target..target + count),
                piece.get(source..source + count),
            ) {
                target.copy_from_slice(source);
            }
        }
        bytes
    }

    fn clear(&mut self, at: u64, length: u64) {
        let end = at.saturating_add(length).min(self.size);
        let inside: Vec<u64> = self
            .pieces
            .range(at / PIECE..=end / PIECE)
            .map(|(index, _)| *index)
            .collect();
        for index in inside {
            let (from, to) = ((index * PIECE).max(at), ((index + 1) * PIECE).min(end));
            if from >= to {
                continue;
            }
            if to - from == PIECE {
                self.pieces.remove(&index);
                continue;
            }
            let bounds = (
                usize::try_from(from % PIECE),
                usize::try_from(to - index * PIECE),
            );
            if let (Some(piece), (Ok(from), Ok(to))) = (self.pieces.get_mut(&index), bounds)
                && let Some(part) = piece.get_mut(from..to)
            {
                part.fill(0);
            }
        }
    }

    fn resize(&mut self, size: u64) {
        if size < self.size {
            let old = self.size;
            self.clear(size, old - size);
        }
        self.size = size;
    }
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<String, Tree>)> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        share: &str,
        path: &str,
        act: impl FnOnce(&mut Sparse) -> T,
    ) -> io::Result<T> {
        let mut guard = self.lock();
        let tree = guard.1.get_mut(share).ok_or_else(absent)?;
        let node = tree.get_mut(&low(path)).ok_or_else(absent)?;
        node.data.as_mut().map(act).ok_or_else(absent)
    }

    fn put(&self, share: &str, path: &str, data: Option<Sparse>) -> io::Result<()> {
        let mut guard = self.lock();
        guard.0 += 1;
        let number = guard.0;
        let tree = guard.1.get_mut(share).ok_or_else(absent)?;
        let above = parent(path).unwrap_or_default();
        if !above.is_empty() && tree.get(&low(above)).is_none_or(|node| node.data.is_some()) {
            return Err(absent());
        }
        let path = match path.rsplit_once('/') {
            Some((above, name)) => {
                let spelt = tree.get(&low(above)).map_or(above, |node| &node.path);
                format!("{spelt}/{name}")
            }
            None => path.to_owned(),
        };
        tree.insert(low(&path), Node { path, number, data });
        Ok(())
    }
}

fn show(node: &Node) -> Found {
    Found {
        path: node.path.clone(),
        size: node.data.as_ref().map(|data| data.size),
        number: node.number,
    }
}

impl Contents for Memory {
    fn make(&self, share: &str) -> io::Result<()> {
        self.lock().1.insert(share.to_owned(), Tree::new());
        Ok(())
    }

    fn copy(&self, from: &str, to: &str) -> io::Result<()> {
        let mut guard = self.lock();
        let tree = guard.1.get(from).cloned().ok_or_else(absent)?;
        guard.1.insert(to.to_owned(), tree);
        Ok(())
    }

    fn discard(&self, share: &str) {
        self.lock().1.remove(share);
    }

    fn collect(&self) -> io::Result<()> {
        Ok(())
    }

    fn used(&self, share: &str) -> u64 {
        let guard = self.lock();
        let nodes = guard.1.get(share).into_iter().flat_map(BTreeMap::values);
        nodes
            .filter_map(|node| node.data.as_ref())
            .map(|data| data.size)
            .sum()
    }

    fn find(&self, share: &str, path: &str) -> io::Result<Option<Found>> {
        let guard = self.lock();
        let tree = guard.1.get(share).ok_or_else(absent)?;
        if path.is_empty() {
            return Ok(Some(Found {
                path: String::new(),
                size: None,
                number: 0,
            }));
        }
        Ok(tree.get(&low(path)).map(show))
    }

    fn list(&self, share: &str, path: &str) -> io::Result<Vec<Found>> {
        let guard = self.lock();
        let tree = guard.1.get(share).ok_or_else(absent)?;
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{}/", low(path))
        };
        let below = tree.iter().filter(|(key, _)| {
            key.strip_prefix(&prefix)
                .is_some_and(|rest| !rest.is_empty() && !rest.contains('/'))
        });
        Ok(below.map(|(_, node)| show(node)).collect())
    }

    fn make_dir(&self, share: &str, path: &str) -> io::Result<()> {
        self.put(share, path, None)
    }

    fn make_file(&self, share: &str, path: &str, size: u64) -> io::Result<()> {
        self.put(
            share,
            path,
            Some(Sparse {
                size,
                pieces: BTreeMap::new(),
            }),
        )
    }

    fn remove(&self, share: &str, path: &str) -> io::Result<()> {
        let mut guard = self.lock();
        let tree = guard.1.get_mut(share).ok_or_else(absent)?;
        tree.remove(&low(path)).map(drop).ok_or_else(absent)
    }

    fn rename(&self, share: &str, from: &str, to: &str) -> io::Result<()> {
        let mut guard = self.lock();
        let tree = guard.1.get_mut(share).ok_or_else(absent)?;
        let (old, below) = (low(from), format!("{}/", low(from)));
        let moved: Vec<String> = tree
            .keys()
            .filter(|key| **key == old || key.starts_with(&below))
            .cloned()
            .collect();
        if moved.is_empty() {
            return Err(absent());
        }
        for key in moved {
            if let Some(mut node) = tree.remove(&key) {
                let rest = node.path.get(from.len()..).unwrap_or_default().to_owned();
                node.path = format!("{to}{rest}");
                tree.insert(low(&node.path), node);
            }
        }
        Ok(())
    }

    fn resize(&self, share: &str, path: &str, size: u64) -> io::Result<()> {
        self.with(share, path, |data| data.resize(size))
    }

    fn read(&self, share: &str, path: &str, at: u64, most: u64) -> io::Result<Vec<u8>> {
        self.with(share, path, |data| data.read(at, most))
    }

    fn write(&self, share: &str, path: &str, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.with(share, path, |data| data.write(at, bytes))
    }

    fn clear(&self, share: &str, path: &str, at: u64, length: u64) -> io::Result<()> {
        self.with(share, path, |data| data.clear(at, length))
    }

    fn ranges(&self, share: &str, path: &str) -> io::Result<Vec<(u64, u64)>> {
        self.with(share, path, |data| {
            let mut found: Vec<(u64, u64)> = Vec::new();
            for index in data.pieces.keys() {
                let (from, to) = (index * PIECE, ((index + 1) * PIECE).min(data.size));
                match found.last_mut() {
                    Some(last) if last.1 == from => last.1 = to,
                    _ => found.push((from, to)),
                }
            }
            found
        })
    }
}
