//! Tables for people, JSON and YAML for programs.

use std::fmt::Write as _;

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::failure::Failure;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Columns.
    #[default]
    Table,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Rows as a table, or the same facts in another form.
///
/// # Errors
/// The facts cannot be written in that form: a defect.
pub fn render<T: Serialize>(
    format: Format,
    facts: &T,
    table: impl FnOnce() -> String,
) -> Result<String, Failure> {
    let wrong = |why: String| Failure::Document {
        what: "the output".to_owned(),
        why,
    };
    match format {
        Format::Table => Ok(table()),
        Format::Json => serde_json::to_string_pretty(facts)
            .map(|text| text + "\n")
            .map_err(|error| wrong(error.to_string())),
        Format::Yaml => yaml(facts).map_err(wrong),
    }
}

/// YAML text.
///
/// # Errors
/// Says why not.
pub fn yaml<T: Serialize>(facts: &T) -> Result<String, String> {
    // One line per value, however long: handles are searched for.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let text =
        serde_saphyr::to_string_with_options(facts, options).map_err(|error| error.to_string())?;
    Ok(if text.ends_with('\n') {
        text
    } else {
        text + "\n"
    })
}

/// Columns as wide as their widest cell.
#[must_use]
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for (cell, width) in cells.zip(&widths) {
            let _ = write!(text, "{cell:<width$}  ");
        }
        let _ = writeln!(out, "{}", text.trim_end());
    };
    line(&mut head.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    out
}

/// A time of day in whole seconds (RFC 3339).
#[must_use]
pub fn timestamp(at: OffsetDateTime) -> String {
    at.replace_nanosecond(0)
        .unwrap_or(at)
        .format(&Rfc3339)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Format, render, table};

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        let rows = [
            vec!["a".to_owned(), "x".to_owned()],
            vec!["long".to_owned(), String::new()],
        ];
        assert_eq!(table(&["N", "V"], &rows), "N     V\na     x\nlong\n");
    }

    #[test]
    fn facts_come_in_every_form() {
        let facts = json!({"a": ["b"]});
        assert_eq!(
            render(Format::Json, &facts, String::new).unwrap(),
            "{\n  \"a\": [\n    \"b\"\n  ]\n}\n"
        );
        let yaml = render(Format::Yaml, &facts, String::new).unwrap();
        let back: serde_json::Value = serde_saphyr::from_str(&yaml).unwrap();
        assert_eq!(back, facts);
    }
}
