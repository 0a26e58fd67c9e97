//! String maps that are taken apart once, at the edge.
//!
//! Parameters of a StorageClass, a VolumeSnapshotClass or a VolumeAttributesClass arrive as a map of
//! strings whose keys ignore case. [`ParamMap`] hands each value out once; what is left at the end
//! was not understood and is refused with the nearest known key. So no typing error is ever
//! swallowed.

use std::collections::BTreeMap;

/// A map of parameters from which values are taken.
#[derive(Clone, Debug, Default)]
pub struct ParamMap {
    entries: BTreeMap<String, Entry>,
    known: Vec<&'static str>,
}

#[derive(Clone, Debug)]
struct Entry {
    key: String,
    value: String,
}

/// A parameter that was taken: its key as written, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The key as the user wrote it.
    pub key: String,
    /// The value.
    pub value: String,
}

/// Why parameters were refused. Each names the key, the value and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadParam {
    /// Two spellings of one key.
    #[error("parameter '{first}' is given twice: also as '{second}'")]
    Duplicate {
        /// One spelling.
        first: String,
        /// The other.
        second: String,
    },
    /// A key that means nothing here.
    #[error("unknown parameter '{key}'{}", .nearest.map(|near| format!(": did you mean '{near}'?")).unwrap_or_default())]
    Unknown {
        /// The key as written.
        key: String,
        /// The known key most like it, if one is.
        nearest: Option<&'static str>,
    },
    /// A value that the key cannot have.
    #[error("parameter '{key}' is '{value}': expected {allowed}")]
    Value {
        /// The key as written.
        key: String,
        /// The value as written.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Values that exclude each other, or one that is missing.
    #[error("parameter '{key}' {problem}")]
    Conflict {
        /// The key.
        key: &'static str,
        /// What is wrong, with the remedy.
        problem: String,
    },
}

impl BadParam {
    /// A value that does not go with another one.
    pub fn conflict(key: &'static str, problem: impl Into<String>) -> Self {
        Self::Conflict {
            key,
            problem: problem.into(),
        }
    }
}

impl ParamMap {
    /// Takes over a map.
    ///
    /// # Errors
    /// If two keys differ only by case.
    pub fn new<I>(map: I) -> Result<Self, BadParam>
    where
        I: IntoIterator<Item = (String, String)>,
    {
        let mut params = Self::default();
        // Sorted, so that the error does not depend on the order of a hash map.
        for (key, value) in map.into_iter().collect::<BTreeMap<_, _>>() {
            params.add(key, value)?;
        }
        Ok(params)
    }

    fn add(&mut self, key: String, value: String) -> Result<(), BadParam> {
        let folded = key.to_ascii_lowercase();
        if let Some(there) = self.entries.get(&folded) {
            return Err(BadParam::Duplicate {
                first: there.key.clone(),
                second: key,
            });
        }
        self.entries.insert(folded, Entry { key, value });
        Ok(())
    }

    /// Lays a second map over the first: its values win (CSI, `mutable_parameters`).
    ///
    /// # Errors
    /// If two keys of the second map differ only by case.
    pub fn overlay(mut self, over: Self) -> Self {
        self.entries.extend(over.entries);
        self
    }

    /// Takes the value of a key, whatever the case of its spelling.
    pub fn take(&mut self, key: &'static str) -> Option<Param> {
        self.known.push(key);
        let Entry { key, value } = self.entries.remove(&key.to_ascii_lowercase())?;
        Some(Param { key, value })
    }

    /// Takes the value of a key that has several names.
    ///
    /// # Errors
    /// If more than one of the names is present.
    pub fn take_any(&mut self, keys: &[&'static str]) -> Result<Option<Param>, BadParam> {
        let mut found: Option<Param> = None;
        for key in keys {
            match (self.take(key), &found) {
                (None, _) => {}
                (Some(param), None) => found = Some(param),
                (Some(second), Some(first)) => {
                    return Err(BadParam::Duplicate {
                        first: first.key.clone(),
                        second: second.key,
                    });
                }
            }
        }
        Ok(found)
    }

    /// Takes every entry whose key begins with `prefix`; the keys are returned in lower case,
    /// without the prefix.
    pub fn take_prefixed(&mut self, prefix: &'static str) -> Vec<(String, String)> {
        self.known.push(prefix);
        let prefix = prefix.to_ascii_lowercase();
        let keys: Vec<String> = self
            .entries
            .keys()
            .filter(|key| key.starts_with(&prefix))
            .cloned()
            .collect();
        keys.into_iter()
            .filter_map(|key| {
                let entry = self.entries.remove(&key)?;
                Some((key[prefix.len()..].to_owned(), entry.value))
            })
            .collect()
    }

    /// Every key that was asked for so far, present or not; prefixes as they were given.
    #[must_use]
    pub fn known(&self) -> &[&'static str] {
        &self.known
    }

    /// Ends the taking.
    ///
    /// # Errors
    /// If anything is left.
    pub fn finish(self) -> Result<(), BadParam> {
        match self.entries.into_values().next() {
            None => Ok(()),
            Some(Entry { key, .. }) => {
                let nearest = nearest(&key, &self.known);
                Err(BadParam::Unknown { key, nearest })
            }
        }
    }
}

impl Param {
    /// The error for a value that the key cannot have.
    #[must_use]
    pub fn refuse(&self, allowed: impl Into<String>) -> BadParam {
        BadParam::Value {
            key: self.key.clone(),
            value: self.value.clone(),
            allowed: allowed.into(),
        }
    }

    /// Reads the value, or says what is allowed.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn parse<T: std::str::FromStr>(&self, allowed: &str) -> Result<T, BadParam> {
        self.value.trim().parse().map_err(|_| self.refuse(allowed))
    }

    /// Reads `true` or `false`, whatever the case.
    ///
    /// # Errors
    /// If it is neither.
    pub fn flag(&self) -> Result<bool, BadParam> {
        match self.value.trim() {
            yes if yes.eq_ignore_ascii_case("true") => Ok(true),
            no if no.eq_ignore_ascii_case("false") => Ok(false),
            _ => Err(self.refuse("true or false")),
        }
    }

    /// Reads one of a list of words, whatever the case.
    ///
    /// # Errors
    /// If it is none of them.
    pub fn one_of<T: Copy>(&self, words: &[(&'static str, T)]) -> Result<T, BadParam> {
        words
            .iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(self.value.trim()))
            .map(|&(_, value)| value)
            .ok_or_else(|| {
                let words: Vec<_> = words.iter().map(|&(word, _)| word).collect();
                self.refuse(format!("one of {}", words.join(", ")))
            })
    }
}

/// The known key within a third of the length in edits, if any: what somebody who typed `key` may
/// have meant.
#[must_use]
pub fn nearest<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let key = key.to_ascii_lowercase();
    known
        .iter()
        .map(|&other| (distance(&key, &other.to_ascii_lowercase()), other))
        .min()
        .filter(|&(edits, other)| edits <= other.len().max(3) / 3)
        .map(|(_, other)| other)
}

/// Levenshtein distance over bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replace = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
