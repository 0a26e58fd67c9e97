//! Every shared vector: an object, and what Kubernetes makes of it.

use azcsi_migration::request::{Direction, answer};
use azcsi_migration::{Mode, TranslateError};
use serde_json::Value;

fn vectors() -> Vec<Value> {
    serde_json::from_str(include_str!("../vectors/translation.json")).unwrap()
}

fn text<'a>(vector: &'a Value, key: &str) -> &'a str {
    vector.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn run(vector: &Value, mode: Mode) -> Result<Value, TranslateError> {
    let direction = Direction::of_name(text(vector, "direction")).unwrap();
    answer(mode, direction, &vector["input"])
}

/// What is wrong with the answer to one vector.
fn complaint(vector: &Value) -> Option<String> {
    let name = text(vector, "name");
    let fails = vector.get("error").is_some_and(|error| error == true);
    match (fails, run(vector, Mode::Compat)) {
        (true, Ok(value)) => Some(format!("{name}: no error, but {value}")),
        (true, Err(error)) => {
            let marker = text(vector, "errorContains");
            (!error.to_string().contains(marker))
                .then(|| format!("{name}: {error:?} lacks {marker:?}"))
        }
        (false, Err(error)) => Some(format!("{name}: {error}")),
        (false, Ok(value)) => {
            let wanted = &vector["expected"];
            (value != *wanted).then(|| format!("{name}:\n  found  {value}\n  wanted {wanted}"))
        }
    }
}

#[test]
fn every_vector_is_answered_as_kubernetes_does() {
    let vectors = vectors();
    assert!(vectors.len() >= 124, "only {} vectors", vectors.len());
    let wrong: Vec<String> = vectors.iter().filter_map(complaint).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_input_is_never_changed_and_the_answer_is_always_the_same() {
    for vector in vectors() {
        let before = vector.clone();
        for mode in [Mode::Compat, Mode::Strict] {
            assert_eq!(run(&vector, mode), run(&vector, mode));
        }
        assert_eq!(vector, before);
    }
}
