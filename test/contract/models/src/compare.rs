//! Into a model and out again: what is lost, changed or invented on the way.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// One difference.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// Dotted path; `[]` stands for every element of an array.
    pub path: String,
    /// What is different.
    pub what: String,
}

/// Reads `value` as a `T`, writes it out and compares.
pub fn through<T: DeserializeOwned + Serialize + Debug>(value: &Value) -> Vec<Difference> {
    let at_root = |what: String| {
        vec![Difference {
            path: String::new(),
            what,
        }]
    };
    let (model, filled): (T, _) = match read(value) {
        Ok(read) => read,
        Err(error) => return at_root(format!("cannot be read: {error}")),
    };
    let written = match serde_json::to_value(&model) {
        Ok(written) => written,
        Err(error) => return at_root(format!("cannot be written again: {error}")),
    };
    let mut found = Vec::new();
    walk("", value, &written, &mut found);
    if let Some(name) = filled {
        found.retain(|difference| difference.path != name);
        found.push(Difference {
            path: format!("?{name}"),
            what: "is required and left out".to_owned(),
        });
    }
    // Enums take any text; only their debug form tells that it is none they know.
    let shown = format!("{model:?}");
    for piece in shown.split("UnknownValue(").skip(1) {
        let text = piece.split(')').next().unwrap_or_default();
        found.push(Difference {
            path: format!("={text}"),
            what: "is no value of its enum".to_owned(),
        });
    }
    found
}

/// Reads a model. A text that it requires and that is not there is filled in, and named.
fn read<T: DeserializeOwned>(value: &Value) -> Result<(T, Option<String>), serde_json::Error> {
    let error = match serde_json::from_value(value.clone()) {
        Ok(model) => return Ok((model, None)),
        Err(error) => error,
    };
    let text = error.to_string();
    let mut parts = text.split('`');
    let name = (parts.next() == Some("missing field "))
        .then(|| parts.next())
        .flatten();
    let (Some(name), Some(fields)) = (name, value.as_object()) else {
        return Err(error);
    };
    let mut fields = fields.clone();
    fields.insert(name.to_owned(), Value::from("filled in"));
    Ok((
        serde_json::from_value(Value::Object(fields))?,
        Some(name.to_owned()),
    ))
}

fn walk(path: &str, original: &Value, written: &Value, found: &mut Vec<Difference>) {
    match (original, written) {
        (Value::Object(original), Value::Object(written)) => {
            for (key, value) in original {
                let below = join(path, key);
                match written.get(key) {
                    Some(other) => walk(&below, value, other, found),
                    None if is_empty(value) => {}
                    None => found.push(Difference {
                        path: below,
                        what: format!("is lost: {value}"),
                    }),
                }
            }
            for (key, value) in written {
                if !original.contains_key(key) && !is_empty(value) {
                    let what = format!("is invented: {value}");
                    found.push(Difference {
                        path: join(path, key),
                        what,
                    });
                }
            }
        }
        (Value::Array(original), Value::Array(written)) if original.len() == written.len() => {
            for (one, other) in original.iter().zip(written) {
                walk(&format!("{path}[]"), one, other, found);
            }
        }
        _ if same(original, written) => {}
        _ => found.push(Difference {
            path: path.to_owned(),
            what: format!("changes from {original} to {written}"),
        }),
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// The models leave out empty lists, and write nothing as null.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// Equal as JSON, as numbers (100 and 100.0), or as instants.
fn same(one: &Value, other: &Value) -> bool {
    if let (Some(one), Some(other)) = (one.as_f64(), other.as_f64()) {
        return one == other;
    }
    let instant = |value: &Value| OffsetDateTime::parse(value.as_str()?, &Rfc3339).ok();
    one == other || instant(one).is_some_and(|time| instant(other) == Some(time))
}

#[cfg(test)]
mod tests {
    use azure_mgmt_compute::package_2024_07_01::models::Disk;
    use serde_json::json;

    use super::*;

    fn paths(value: &Value) -> Vec<String> {
        through::<Disk>(value)
            .into_iter()
            .map(|found| found.path)
            .collect()
    }

    #[test]
    fn a_good_disk_passes() {
        let disk = json!({"location": "eastus2", "zones": [], "properties": {
            "creationData": {"createOption": "Empty"}, "diskSizeGB": 4, "completionPercent": 100,
            "timeCreated": "2026-01-01T00:00:00.0000000+00:00"}});
        assert_eq!(paths(&disk), Vec::<String>::new());
    }

    #[test]
    fn what_the_model_does_not_know_is_found() {
        let disk = json!({"location": "eastus2", "colour": "red", "properties": {
            "creationData": {"createOption": "Emtpy"}, "diskSizeGb": 4}});
        assert_eq!(
            paths(&disk),
            ["colour", "properties.diskSizeGb", "=\"Emtpy\""]
        );
    }

    #[test]
    fn a_required_field_that_is_left_out_is_found() {
        let disk = json!({"properties": {"creationData": {"createOption": "Empty"}, "lost": 1}});
        assert_eq!(paths(&disk), ["properties.lost", "?location"]);
    }

    #[test]
    fn a_wrong_type_cannot_be_read() {
        let disk = json!({"location": "eastus2", "properties": {
            "creationData": {"createOption": "Empty"}, "diskSizeGB": "4"}});
        assert_eq!(paths(&disk), [""]);
    }
}
