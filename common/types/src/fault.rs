//! What kind of thing went wrong.
//!
//! An error says what happened in its own words; [`Faulty::fault`] says what kind of thing that is.
//! `azcsi-rpc` holds the only table from here to gRPC codes.

use std::error::Error;

/// The kinds of failure that a caller can react to differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The request itself is wrong; repeating it cannot help.
    Invalid,
    /// The thing it names does not exist, proven by an exact answer.
    NotFound,
    /// It exists already, but differs from what is asked.
    Exists,
    /// The size is not possible.
    OutOfRange,
    /// No room: quota, zone capacity, or no free slot on the node.
    Exhausted,
    /// The present state forbids it; somebody has to change that state first.
    Precondition,
    /// Another operation on the same thing is running.
    InProgress,
    /// Not now: try again, nothing is known to be wrong with the request.
    Unavailable,
    /// Time ran out while the work goes on.
    Deadline,
    /// The credentials are valid, but not allowed to do this.
    Denied,
    /// The credentials are not valid.
    Unauthenticated,
    /// This plugin does not offer it.
    Unimplemented,
    /// A defect, or a failure that left nothing behind and that repeating is not known to cure.
    Internal,
}

impl Fault {
    /// Every kind, for tables and for tests that must not miss one.
    pub const ALL: [Self; 13] = [
        Self::Invalid,
        Self::NotFound,
        Self::Exists,
        Self::OutOfRange,
        Self::Exhausted,
        Self::Precondition,
        Self::InProgress,
        Self::Unavailable,
        Self::Deadline,
        Self::Denied,
        Self::Unauthenticated,
        Self::Unimplemented,
        Self::Internal,
    ];
}

/// An error that knows its kind.
pub trait Faulty: Error + Send + Sync + 'static {
    /// The kind of failure.
    fn fault(&self) -> Fault;
}

/// Longest report that leaves the process, in bytes.
pub const REPORT_LIMIT: usize = 990;

/// Renders an error and its causes as one line: `what: why: why`.
///
/// `Display` of an error never includes its source, so each part appears once. A cause that repeats
/// the text before it is left out; what is too long keeps its beginning and its end, because Azure
/// puts the decisive sentence last.
#[must_use]
pub fn report(error: &(dyn Error + 'static)) -> String {
    let mut line = one_line(&error.to_string());
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = one_line(&error.to_string());
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    shorten(&line, REPORT_LIMIT)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shorten(text: &str, limit: usize) -> String {
    const GAP: &str = " … ";
    if text.len() <= limit {
        return text.to_owned();
    }
    let room = limit - GAP.len();
    let head = floor_char_boundary(text, room * 2 / 5);
    let mut tail = text.len() - (room - head);
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}{GAP}{}", &text[..head], &text[tail..])
}

fn floor_char_boundary(text: &str, mut index: usize) -> usize {
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::{REPORT_LIMIT, report};

    #[derive(Debug, thiserror::Error)]
    #[error("attaching disk\r\n 'd'")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_report_is_one_line_with_every_cause_once() {
        let error = Outer(std::io::Error::other("no route"));
        assert_eq!(report(&error), "attaching disk 'd': no route");
    }

    #[test]
    fn a_long_report_keeps_both_ends() {
        let text = format!("begin {} end", "ä".repeat(2000));
        let line = report(&Outer(std::io::Error::other(text)));
        assert!(line.len() <= REPORT_LIMIT);
        assert!(line.starts_with("attaching disk 'd': begin"));
        assert!(line.ends_with("end"));
    }
}
