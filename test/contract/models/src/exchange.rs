//! Recorded exchanges: one JSON object a line.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::report::Trouble;

/// One request with its response.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exchange {
    pub client: String,
    pub method: String,
    pub path: String,
    pub api_version: String,
    pub request: Option<Value>,
    pub status: u16,
    pub response: Option<Value>,
}

/// Reads a file of them.
pub fn read(path: &Path) -> Result<Vec<Exchange>, Trouble> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.lines()
        .enumerate()
        .map(|(at, line)| {
            serde_json::from_str(line)
                .map_err(|error| format!("{}:{}: {error}", path.display(), at + 1).into())
        })
        .collect()
}
