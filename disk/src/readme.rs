//! The tables of `disk/README.md` are made here from the code, so that they cannot be wrong.
//! `AZCSI_BLESS=1 cargo test -p azcsi-disk readme` writes them anew.

use std::any::TypeId;
use std::fmt::Write as _;
use std::path::Path;

use azcsi_rpc::goflags::KLOG;
use clap::{Arg, CommandFactory as _};

use crate::config::args::LowArgs;
use crate::config::retired::RETIRED;
use crate::model::params::table::{
    Key, STORAGE_CLASS, VOLUME_ATTRIBUTES_CLASS, VOLUME_SNAPSHOT_CLASS, Values,
};

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn parameters(table: &[Key]) -> String {
    let mut out = "| key | values | default | meaning |\n|---|---|---|---|\n".to_owned();
    for key in table {
        let values = match key.values {
            Values::Words(words) => words.iter().map(|word| format!("`{word}`")).collect(),
            Values::Text { what, .. } => vec![what.to_owned()],
        };
        let default = key.default.map(|text| format!("`{text}`"));
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} |",
            key.name,
            cell(&values.join(", ")),
            cell(&default.unwrap_or_default()),
            cell(key.meaning)
        );
    }
    out
}

fn default(arg: &Arg) -> String {
    let values = arg.get_default_values().first();
    let text = values.map(|value| value.to_string_lossy().into_owned());
    match text.as_deref() {
        None | Some("") => String::new(),
        // Depends on where the process runs.
        Some(_) if arg.get_id() == "endpoint" => {
            "`csi.sock` in the folder for temporary files".into()
        }
        Some(text) => format!("`{text}`"),
    }
}

fn flags() -> String {
    let mut out = String::new();
    let mut heading = None;
    for arg in LowArgs::command().get_arguments() {
        let Some(long) = arg.get_long() else { continue };
        if arg.get_help_heading() != heading {
            heading = arg.get_help_heading();
            let _ = writeln!(
                out,
                "\n**{}**\n\n| flag | value | default | meaning |\n|---|---|---|---|",
                heading.unwrap_or("Other")
            );
        }
        let is_bool = arg.get_value_parser().type_id() == TypeId::of::<bool>();
        let names = arg.get_value_names().unwrap_or_default();
        let value = match (is_bool, names.first()) {
            (true, _) => "`true` or `false`".to_owned(),
            (false, Some(name)) => format!("`{name}`"),
            (false, None) => String::new(),
        };
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(
            out,
            "| `--{long}` | {value} | {} | {}. |",
            default(arg),
            cell(help.trim_end_matches('.'))
        );
    }
    out.trim_start().to_owned()
}

fn retired() -> String {
    let mut out = "| flag | why it has no effect |\n|---|---|\n".to_owned();
    for flag in RETIRED.iter().chain(&KLOG) {
        let _ = writeln!(out, "| `--{}` | {} |", flag.name, cell(flag.why));
    }
    out
}

/// `text` with the part between the markers of `name` replaced.
fn replaced(text: &str, name: &str, part: &str) -> String {
    let (begin, end) = (
        format!("<!-- {name}: made from the code -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let (head, rest) = text.split_once(&begin).expect("the README has the marker");
    let (_, tail) = rest
        .split_once(&end)
        .expect("the README has the end marker");
    format!("{head}{begin}\n{}\n\n{end}{tail}", part.trim_end())
}

#[test]
fn the_tables_of_the_readme_are_those_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let there = std::fs::read_to_string(&path).unwrap();
    let mut wanted = there.clone();
    for (name, part) in [
        ("StorageClass", parameters(STORAGE_CLASS)),
        ("VolumeAttributesClass", parameters(VOLUME_ATTRIBUTES_CLASS)),
        ("VolumeSnapshotClass", parameters(VOLUME_SNAPSHOT_CLASS)),
        ("flags", flags()),
        ("retired flags", retired()),
    ] {
        wanted = replaced(&wanted, name, &part);
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "asks the person who runs the test"
    )]
    let bless = std::env::var_os("AZCSI_BLESS").is_some();
    if bless {
        std::fs::write(&path, &wanted).unwrap();
    }
    assert!(
        bless || there == wanted,
        "disk/README.md is out of date: run AZCSI_BLESS=1 cargo test -p azcsi-disk readme"
    );
}

/// The text of every source file of a folder, long literals joined.
fn sources(folder: &Path, out: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|end| end == "rs") {
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                out.push_str(line.trim_start().trim_end_matches('\\'));
            }
        }
    }
}

/// The fixed parts of a quoted refusal: what stands between values and the head of the text.
fn fixed_parts(quoted: &str) -> Vec<&str> {
    const HEAD: &str = "it has no filesystem and";
    let quoted = quoted.strip_prefix(HEAD).unwrap_or(quoted);
    let parts = quoted
        .split("...")
        .flat_map(|part| part.split(['N', 'X', 'Y']));
    let parts = parts.map(|part| part.trim_matches([' ', '\'', '(', ')']));
    parts.filter(|part| part.len() > 3).collect()
}

#[test]
fn the_refusals_of_the_readme_are_texts_of_the_code() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(own.join("README.md")).unwrap();
    let mut code = String::new();
    sources(&own.join("src/controller"), &mut code);
    sources(&own.join("src/node"), &mut code);
    sources(&own.join("../common/host/src"), &mut code);
    let (_, section) = readme.split_once("## When a volume is refused").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let quoted: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    assert!(quoted.len() > 25, "the tables of refusals are not found");
    for text in quoted {
        for part in fixed_parts(text) {
            assert!(code.contains(part), "no text of the code has '{part}'");
        }
    }
}
