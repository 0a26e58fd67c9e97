//! A table of the world: a map that can tell which of its keys were touched since it was last asked,
//! for whoever keeps it elsewhere. Until it is asked the first time it remembers nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Items by key. Reading goes through the map it derefs to; every way to change it notes the key.
#[derive(Clone, Debug)]
pub struct Table<T> {
    items: BTreeMap<String, T>,
    /// None before the first question: then every key is news.
    touched: Option<BTreeSet<String>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            items: BTreeMap::new(),
            touched: None,
        }
    }
}

impl<T> Deref for Table<T> {
    type Target = BTreeMap<String, T>;

    fn deref(&self) -> &Self::Target {
        &self.items
    }
}

impl<T> Table<T> {
    fn note(&mut self, key: &str) {
        if let Some(touched) = &mut self.touched {
            touched.insert(key.to_owned());
        }
    }

    /// As the map's own.
    pub fn insert(&mut self, key: String, item: T) -> Option<T> {
        self.note(&key);
        self.items.insert(key, item)
    }

    /// As the map's own.
    pub fn remove(&mut self, key: &str) -> Option<T> {
        let gone = self.items.remove(key);
        if gone.is_some() {
            self.note(key);
        }
        gone
    }

    /// As the map's own; the item counts as changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut T> {
        let item = self.items.get_mut(key)?;
        if let Some(touched) = &mut self.touched {
            touched.insert(key.to_owned());
        }
        Some(item)
    }

    /// As the map's own; every item counts as changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        if let Some(touched) = &mut self.touched {
            touched.extend(self.items.keys().cloned());
        }
        self.items.values_mut()
    }

    /// As the map's own.
    pub fn clear(&mut self) {
        self.retain(|_, _| false);
    }

    /// Removes what does not pass.
    pub fn retain(&mut self, mut keep: impl FnMut(&String, &mut T) -> bool) {
        let touched = &mut self.touched;
        self.items.retain(|key, item| {
            let stays = keep(key, item);
            if let (false, Some(touched)) = (stays, touched.as_mut()) {
                touched.insert(key.clone());
            }
            stays
        });
    }

    /// The keys touched since [`Table::told`]; none before the first one, when nothing is known.
    pub const fn touched(&self) -> Option<&BTreeSet<String>> {
        self.touched.as_ref()
    }

    /// Everything up to now was told to whoever keeps it.
    pub fn told(&mut self) {
        self.touched = Some(BTreeSet::new());
    }
}

impl<'a, T> IntoIterator for &'a Table<T> {
    type Item = (&'a String, &'a T);
    type IntoIter = std::collections::btree_map::Iter<'a, String, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<T: Serialize> Serialize for Table<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = BTreeMap::deserialize(deserializer)?;
        Ok(Self {
            items,
            touched: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_notes_its_key_and_reading_notes_none() {
        let mut table = Table::default();
        for key in ["a", "b", "c"] {
            table.insert(key.to_owned(), 1);
        }
        assert_eq!(table.touched(), None);
        table.told();
        assert_eq!(table.get("a"), Some(&1));
        assert_eq!(table.touched().map(BTreeSet::len), Some(0));
        *table.get_mut("a").expect("a") = 2;
        table.remove("b");
        table.remove("missing");
        table.retain(|key, _| key != "c");
        let expected = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(table.touched(), Some(&BTreeSet::from(expected)));
        assert_eq!(table.len(), 1);
    }
}
