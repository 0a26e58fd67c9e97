//! What the suite reported, and whether it counts as passed.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::capabilities::{Advertised, excuse};

/// Specs in the pinned version; another number means that something was left out.
pub const SPECS: usize = 103;

/// Specs that the pinned version itself has switched off.
const PENDING: &[&str] = &[
    "pagination should detect volumes added between pages and accept tokens when the last volume from a page is deleted",
];

/// Ginkgo's JSON report, as far as it is judged.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Report {
    pre_run_stats: Stats,
    #[serde(default)]
    special_suite_failure_reasons: Option<Vec<String>>,
    spec_reports: Vec<Spec>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Stats {
    total_specs: usize,
    specs_that_will_run: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Spec {
    #[serde(default)]
    container_hierarchy_texts: Option<Vec<String>>,
    leaf_node_type: String,
    #[serde(default)]
    leaf_node_text: String,
    state: String,
    #[serde(default)]
    failure: Failure,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Failure {
    message: String,
    location: Location,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Location {
    file_name: String,
    line_number: u32,
}

/// The judgement.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// How many specs passed.
    pub passed: usize,
    /// Names of the specs that the suite has switched off.
    pub pending: Vec<String>,
    /// Skips by the capability that is absent.
    pub excused: BTreeMap<&'static str, usize>,
    /// Everything that makes the run fail, one entry each.
    pub problems: Vec<String>,
}

impl Spec {
    fn name(&self) -> String {
        let mut parts = self.container_hierarchy_texts.clone().unwrap_or_default();
        if self.leaf_node_text.is_empty() {
            parts.push(self.leaf_node_type.clone());
        } else {
            parts.push(self.leaf_node_text.clone());
        }
        parts.join(" · ")
    }

    fn story(&self) -> String {
        let file = self.failure.location.file_name.rsplit('/').next();
        let line = self.failure.location.line_number;
        format!(
            "{} ({}, {}:{line}): {}",
            self.name(),
            self.state,
            file.unwrap_or_default(),
            self.failure.message.trim()
        )
    }
}

impl Report {
    /// Reads the file that the suite wrote.
    ///
    /// # Errors
    /// If there is none, or it is none of Ginkgo's.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("the suite wrote no report {}", path.display()))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut suites: Vec<Self> = serde_json::from_str(text).context("report of the suite")?;
        ensure!(suites.len() == 1, "a report of {} suites", suites.len());
        suites.pop().context("a report of no suite")
    }

    /// Judges every spec.
    #[must_use]
    pub fn judge(&self, advertised: &Advertised) -> Verdict {
        let mut verdict = Verdict::default();
        for reason in self.special_suite_failure_reasons.iter().flatten() {
            verdict.problems.push(reason.clone());
        }
        let mut seen = 0;
        for spec in &self.spec_reports {
            seen += usize::from(spec.leaf_node_type == "It");
            verdict.count(spec, advertised);
        }
        let (total, run) = (
            self.pre_run_stats.total_specs,
            self.pre_run_stats.specs_that_will_run,
        );
        if (seen, total, run + PENDING.len()) != (SPECS, SPECS, SPECS) {
            verdict.problems.push(format!(
                "{SPECS} specs, {} of them pending, were expected: the report has {seen}, the suite {total}, to run were {run}",
                PENDING.len()
            ));
        }
        verdict
    }
}

impl Verdict {
    fn count(&mut self, spec: &Spec, advertised: &Advertised) {
        match spec.state.as_str() {
            "passed" if spec.leaf_node_type == "It" => self.passed += 1,
            "passed" => {}
            "pending" => {
                if !PENDING.contains(&spec.leaf_node_text.as_str()) {
                    let name = spec.name();
                    self.problems
                        .push(format!("{name}: pending, but not known to be"));
                }
                self.pending.push(spec.name());
            }
            "skipped" => match excuse(&spec.failure.message, advertised) {
                Some(capability) => *self.excused.entry(capability).or_default() += 1,
                None => self.problems.push(spec.story()),
            },
            _ => self.problems.push(spec.story()),
        }
    }
}

#[cfg(test)]
mod tests;
