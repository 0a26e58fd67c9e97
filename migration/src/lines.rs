//! Searches inside one line of a text, as the patterns of Kubernetes do: they are not anchored,
//! prefer the longest match, and their wildcard stops at a line feed.

/// The text between the first `prefix` and the last `suffix` behind it, at least one character,
/// in the first line that has such a thing.
pub(crate) fn between<'a>(text: &'a str, prefix: &str, suffix: &str) -> Option<&'a str> {
    text.split('\n').find_map(|line| {
        let rest = &line[line.find(prefix)? + prefix.len()..];
        let end = rest.rfind(suffix)?;
        let found = &rest[..end];
        (!found.is_empty()).then_some(found)
    })
}

/// What follows the last `mark`, at least one character, in the first line where the `guides`
/// stand before that mark one after the other.
pub(crate) fn after_last<'a>(
    text: &'a str,
    guides: &[&str],
    mark: impl Fn(&str) -> Option<usize>,
) -> Option<&'a str> {
    text.split('\n').find_map(|line| {
        let mut rest = line;
        for guide in guides {
            rest = &rest[rest.find(guide)? + guide.len()..];
        }
        let starts = rest.char_indices().rev().map(|(start, _)| start);
        starts
            .filter_map(|start| mark(&rest[start..]).map(|length| &rest[start + length..]))
            .find(|name| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::{after_last, between};

    #[test]
    fn between_takes_the_widest_part_of_one_line() {
        assert_eq!(between("xa-1-z-2-zy", "a-", "-z"), Some("1-z-2"));
        assert_eq!(between("a--z", "a-", "-z"), None);
        assert_eq!(between("a-1\n-z\na-2-z", "a-", "-z"), Some("2"));
        assert_eq!(between("", "a-", "-z"), None);
    }

    #[test]
    fn after_last_wants_the_guides_in_order_and_something_behind() {
        let mark = |rest: &str| rest.starts_with("/v/").then_some(3);
        assert_eq!(after_last("h://x/v/a/v/b", &["h", "://"], mark), Some("b"));
        assert_eq!(
            after_last("h://x/v/a/v/", &["h", "://"], mark),
            Some("a/v/")
        );
        assert_eq!(after_last("://h/v/a", &["h", "://"], mark), None);
        assert_eq!(after_last("h://\n/v/a", &["h", "://"], mark), None);
    }
}
