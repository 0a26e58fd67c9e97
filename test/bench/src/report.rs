//! The table: what was measured, how, and the budget beside it.

use std::io::Write as _;
use std::time::Duration;

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// What was measured.
    pub(crate) what: String,
    /// The figure, with its unit.
    pub(crate) figure: String,
    /// What it may be at the most; empty where there is no budget.
    pub(crate) budget: &'static str,
    /// Whether it is within the budget.
    pub(crate) within: Option<bool>,
}

impl Row {
    /// A figure without a budget.
    pub(crate) fn plain(what: impl Into<String>, figure: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            figure: figure.into(),
            budget: "",
            within: None,
        }
    }

    /// A figure beside its budget.
    pub(crate) fn held(
        what: impl Into<String>,
        figure: impl Into<String>,
        budget: &'static str,
        within: Within,
    ) -> Self {
        let within = Some(within == Within::Yes);
        Self {
            what: what.into(),
            figure: figure.into(),
            budget,
            within,
        }
    }
}

/// Whether a figure keeps its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// It does.
    Yes,
    /// It does not.
    No,
}

impl From<bool> for Within {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// Prints the head of the table.
pub(crate) fn head() {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{:<58} {:>22}   {:<14}", "what", "measured", "budget");
}

/// Prints lines of the table.
pub(crate) fn print(rows: &[Row]) {
    let mut out = std::io::stdout().lock();
    for row in rows {
        let mark = match row.within {
            None => "",
            Some(true) => "ok",
            Some(false) => "OVER",
        };
        let _ = writeln!(
            out,
            "{:<58} {:>22}   {:<14} {mark}",
            row.what, row.figure, row.budget
        );
    }
}

/// Several runs of one thing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series(Vec<Duration>);

impl Series {
    /// Adds a run.
    pub(crate) fn push(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// The value below which so many percent of the runs lie.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted.get(index).copied().unwrap_or_default()
    }

    /// `median (p99)`, in milliseconds.
    pub(crate) fn text(&self) -> String {
        let ms = |percent| self.percentile(percent).as_secs_f64() * 1000.0;
        format!("{:.2} ms (p99 {:.2})", ms(50), ms(99))
    }
}
