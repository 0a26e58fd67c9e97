//! Flat YAML to JSON.
//!
//! A cloud configuration in YAML is a list of `key: value` lines. Exactly that is read here: plain,
//! quoted, true/false, numbers, comments, and nested blocks and lists, which are skipped because no
//! key that is consulted is nested. Anchors, tags and block texts are refused, not guessed at.

use serde_json::{Map, Value};

/// The mapping as JSON text, or line and reason.
pub(super) fn to_json(text: &str) -> Result<String, (usize, String)> {
    let mut map = Map::new();
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim_end();
        let nested = bare.starts_with([' ', '\t', '-']) && bare != "---";
        if bare.trim().is_empty() || bare.starts_with(['#', '%']) || bare == "---" || nested {
            continue;
        }
        let at = index + 1;
        let (key, value) = pair(bare).ok_or((at, "expected JSON, or 'key: value'".to_owned()))?;
        let value = scalar(value).map_err(|reason| (at, format!("key '{key}': {reason}")))?;
        if map.insert(key.to_owned(), value).is_some() {
            return Err((at, format!("key '{key}' is there twice")));
        }
    }
    Ok(Value::Object(map).to_string())
}

/// The line on which a key stands.
pub(super) fn line_of(text: &str, key: &str) -> usize {
    let found = text
        .lines()
        .position(|line| pair(line).is_some_and(|(name, _)| name == key));
    found.map_or(1, |index| index + 1)
}

fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim().trim_matches(['"', '\'']);
    let spaced = value.is_empty() || value.starts_with([' ', '\t']);
    (spaced && !key.is_empty()).then_some((key, value.trim()))
}

fn scalar(text: &str) -> Result<Value, String> {
    if let Some(rest) = text.strip_prefix('\'') {
        let end = closing(rest, '\'').ok_or("the quote is not closed")?;
        return Ok(Value::String(rest[..end].replace("''", "'")));
    }
    if text.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let value = values.next().and_then(Result::ok);
        return value.ok_or_else(|| "the quoted text is not valid".to_owned());
    }
    let plain = text.split(" #").next().unwrap_or_default().trim();
    if plain.starts_with(['[', '{']) {
        // Not a value of any key that is consulted; such a key then complains about its type.
        return Ok(Value::Array(Vec::new()));
    }
    if plain.starts_with(['|', '>', '&', '*', '!', '@', '`']) {
        return Err("only plain and quoted values are read; use JSON for anything else".to_owned());
    }
    Ok(match plain {
        "" | "~" | "null" | "#" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => Value::String(plain.to_owned()),
    })
}

fn closing(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            match chars.peek() {
                Some((_, next)) if *next == quote => {
                    chars.next();
                }
                _ => return Some(at),
            }
        }
    }
    None
}
