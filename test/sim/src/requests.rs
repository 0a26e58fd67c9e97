//! The log of requests, with numbers, for assertions on how many calls something takes.

use std::collections::VecDeque;

use serde::Serialize;

/// Requests that are remembered.
const MOST: usize = 100_000;

/// One request.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Logged {
    /// Counted from 1.
    pub number: u64,
    /// `PUT disks`, `POST virtualMachines/attachDetachDataDisks`, `GET operation`.
    pub class: String,
    /// Method.
    pub method: String,
    /// Path, without its query.
    pub path: String,
    /// Client id.
    pub caller: String,
    /// Status; 0 when the connection was cut.
    pub status: u16,
    /// ARM error code, if any.
    pub code: Option<String>,
    /// How long the answer took, in milliseconds of simulated time.
    pub duration_ms: u64,
    /// When it came, in milliseconds on the axis of the clock.
    pub at_ms: u64,
}

/// The last of them.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    ring: VecDeque<Logged>,
    count: u64,
}

impl Requests {
    pub(crate) fn add(&mut self, mut logged: Logged) {
        self.count += 1;
        logged.number = self.count;
        if self.ring.len() >= MOST {
            self.ring.pop_front();
        }
        self.ring.push_back(logged);
    }

    /// Those after this number.
    pub(crate) fn since(&self, number: u64) -> Vec<Logged> {
        self.ring
            .iter()
            .filter(|logged| logged.number > number)
            .cloned()
            .collect()
    }
}

/// Whether a path leads to an operation.
pub(crate) fn is_poll(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    ["operations/", "operationresults/", "operationstatuses/"]
        .iter()
        .any(|word| lower.contains(word))
}

/// The class of a request: its method and what its path is about, without names.
pub(crate) fn class(method: &http::Method, path: &str) -> String {
    let lower = path.to_ascii_lowercase();
    if is_poll(path) {
        return format!("{method} operation");
    }
    let below = lower
        .find("/providers/")
        .and_then(|at| path.get(at + 11..))
        .unwrap_or(path);
    let words: Vec<&str> = below
        .split('/')
        .filter(|word| !word.is_empty())
        .skip(1)
        .collect();
    let kinds: Vec<&str> = words.iter().step_by(2).copied().collect();
    format!("{method} {}", kinds.join("/"))
}
