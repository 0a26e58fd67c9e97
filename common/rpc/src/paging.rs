//! Pages of a listing that survive deletions between them.
//!
//! A token is the key of the last entry of a page, and a page starts behind its token. So it does
//! not matter whether that entry, or any other, still exists.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azcsi_types::clock::Clock;

/// One page and the token of the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries.
    pub items: Vec<T>,
    /// Empty if there is no next page.
    pub next: String,
}

/// Most entries of a page. A gRPC client takes no message above 4 MiB unless it was told to, and
/// the longest entry, a disk's id and the names of fifteen nodes, has less than 2 KiB.
pub const MOST: usize = 2_000;

/// Cuts a page out of entries that are sorted by key. A page is never larger than [`MOST`], also
/// when the caller sets no limit: the rest is behind the token.
#[must_use]
pub fn page<T: Clone>(
    sorted: &[(String, T)],
    after: Option<&str>,
    most: Option<NonZeroUsize>,
) -> Page<T> {
    let from = after.map_or(0, |token| {
        sorted.partition_point(|(key, _)| key.as_str() <= token)
    });
    let rest = sorted.get(from..).unwrap_or_default();
    let count = rest
        .len()
        .min(most.map_or(MOST, |most| most.get().min(MOST)));
    let (this, more) = rest.split_at(count);
    let next = match this.last() {
        Some((key, _)) if !more.is_empty() => key.clone(),
        _ => String::new(),
    };
    Page {
        items: this.iter().map(|(_, item)| item.clone()).collect(),
        next,
    }
}

/// For how long later pages are cut from the list that the first page was cut from.
const AGE: Duration = Duration::from_secs(60);

/// The list behind the pages of one listing, sorted by key.
pub type Sorted<T> = Arc<Vec<(String, T)>>;

/// Keeps the last list, so that all pages together cost one read.
#[derive(Debug)]
pub struct Recent<T> {
    last: Mutex<Option<(Duration, Sorted<T>)>>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self {
            last: Mutex::new(None),
        }
    }
}

impl<T> Recent<T> {
    /// The last list, for a page behind a token.
    pub fn get(&self, clock: &dyn Clock) -> Option<Sorted<T>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, list) = last.as_ref()?;
        (clock.now().saturating_sub(*at) < AGE).then(|| Arc::clone(list))
    }

    /// Keeps a list that was just read.
    pub fn put(&self, clock: &dyn Clock, mut list: Vec<(String, T)>) -> Sorted<T> {
        list.sort_by(|(a, _), (b, _)| a.cmp(b));
        list.dedup_by(|(a, _), (b, _)| a == b);
        let list = Arc::new(list);
        let kept = Some((clock.now(), Arc::clone(&list)));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        list
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Page, page};
    use std::num::NonZeroUsize;

    fn list(keys: &str) -> Vec<(String, char)> {
        keys.chars().map(|key| (key.to_string(), key)).collect()
    }

    fn cut(keys: &str, after: Option<&str>, most: usize) -> (String, String) {
        let Page { items, next } = page(&list(keys), after, NonZeroUsize::new(most));
        (items.into_iter().collect(), next)
    }

    #[test]
    fn pages_cover_everything_once() {
        assert_eq!(cut("abcde", None, 2), ("ab".into(), "b".into()));
        assert_eq!(cut("abcde", Some("b"), 2), ("cd".into(), "d".into()));
        assert_eq!(cut("abcde", Some("d"), 2), ("e".into(), String::new()));
        assert_eq!(cut("abcd", Some("b"), 2), ("cd".into(), String::new()));
        assert_eq!(cut("abcde", None, 0), ("abcde".into(), String::new()));
        assert_eq!(cut("", None, 2), (String::new(), String::new()));
    }

    #[test]
    fn a_page_fits_into_a_message_when_the_caller_sets_no_limit() {
        let all: Vec<_> = (0..MOST + 1).map(|at| (format!("{at:05}"), at)).collect();
        for most in [None, NonZeroUsize::new(MOST + 1)] {
            let first = page(&all, None, most);
            assert_eq!(first.items.len(), MOST);
            let rest = page(&all, Some(&first.next), most);
            assert_eq!((rest.items, rest.next), (vec![MOST], String::new()));
        }
    }

    #[test]
    fn deletions_between_pages_do_no_harm() {
        assert_eq!(cut("acde", Some("b"), 2), ("cd".into(), "d".into()));
        assert_eq!(cut("ae", Some("d"), 2), ("e".into(), String::new()));
        assert_eq!(cut("a", Some("d"), 2), (String::new(), String::new()));
    }
}
