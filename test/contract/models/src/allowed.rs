//! Fields that the models of 2024 do not know, with the version of the API that has them.

use crate::compare::Difference;
use crate::report::{Report, Trouble};

/// The list, as committed.
const LIST: &str = include_str!("../allowed.tsv");

#[derive(Debug)]
struct Entry {
    model: String,
    path: String,
    used: bool,
}

/// What may differ.
#[derive(Debug)]
pub struct Allowed {
    entries: Vec<Entry>,
}

impl Allowed {
    /// Reads the committed list.
    pub fn read() -> Result<Self, Trouble> {
        Self::parse(LIST)
    }

    fn parse(text: &str) -> Result<Self, Trouble> {
        let mut entries = Vec::new();
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let columns: Vec<&str> = line.split('\t').collect();
            let [model, path, since, _note] = columns.as_slice() else {
                return Err(format!("allowed.tsv: {line:?} has not four columns").into());
            };
            let dated = since.len() >= 10 && since.starts_with("20");
            if !dated && *since != "any" {
                return Err(format!("allowed.tsv: {since:?} is no API version").into());
            }
            entries.push(Entry {
                model: (*model).to_owned(),
                path: (*path).to_owned(),
                used: false,
            });
        }
        Ok(Self { entries })
    }

    /// Whether this difference is listed, for this model or (`*`) for any.
    pub fn permits(&mut self, model: &str, found: &Difference) -> bool {
        let mut hit = false;
        for entry in &mut self.entries {
            let below = found.path.strip_suffix(entry.path.as_str());
            let same = match entry.model.as_str() {
                "*" => below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
                name => name == model && below == Some(""),
            };
            if same {
                entry.used = true;
                hit = true;
            }
        }
        hit
    }

    /// A line that nothing needs any more is taken out.
    pub fn report_unused(&self, report: &mut Report) {
        let unused: Vec<String> = self
            .entries
            .iter()
            .filter(|entry| !entry.used)
            .map(|entry| format!("{} {} was not met", entry.model, entry.path))
            .collect();
        report.line("every line of allowed.tsv is needed", &unused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> Difference {
        Difference {
            path: path.to_owned(),
            what: String::new(),
        }
    }

    #[test]
    fn an_entry_holds_for_its_model_and_path_only() -> Result<(), Trouble> {
        let mut list =
            Allowed::parse("# x\nDisk\tproperties.a\t2025-01-02\tnote\n*\tb\t2025-01-02\tnote\n")?;
        assert!(list.permits("Disk", &at("properties.a")));
        assert!(!list.permits("Disk", &at("a")));
        assert!(!list.permits("Snapshot", &at("properties.a")));
        assert!(list.permits("Snapshot", &at("value[].properties.b")));
        assert!(!list.permits("Snapshot", &at("properties.crab")));
        Ok(())
    }

    #[test]
    fn a_line_without_version_is_refused() {
        assert!(Allowed::parse("Disk\ta\tsoon\tnote").is_err());
    }
}
