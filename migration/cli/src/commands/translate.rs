//! `translate`: one object, in the shapes of the shared vectors.

use std::io::Read as _;

use azcsi_migration::request::answer;
use serde_json::{Value, json};

use super::Report;
use crate::args::Translate;
use crate::failure::{Exit, Failure};

pub(super) fn run(args: &Translate) -> Result<Report, Failure> {
    let mut content = Vec::new();
    let (read, name) = match &args.file {
        Some(path) => (
            std::fs::read(path).map(|read| content = read),
            path.display().to_string(),
        ),
        None => (
            std::io::stdin().read_to_end(&mut content).map(|_| ()),
            "standard input".to_owned(),
        ),
    };
    read.map_err(|source| Failure::File {
        what: "read",
        path: name.clone(),
        source,
    })?;
    let input: Value = match serde_json::from_slice(&content) {
        Ok(input) => input,
        Err(why) => {
            let error = Failure::Document {
                what: name,
                why: why.to_string(),
            };
            return Ok(refused(&error.to_string(), "NotJson"));
        }
    };
    Ok(match answer(args.mode, args.direction, &input) {
        Ok(result) => Report::done(format!("{result}\n")),
        Err(error) => refused(&error.to_string(), error.reason()),
    })
}

/// Every refusal of this command is JSON, because programs read it.
fn refused(error: &str, reason: &str) -> Report {
    Report {
        text: format!("{}\n", json!({"error": error, "reason": reason})),
        exit: Exit::Internal,
    }
}
