//! Tags of storage accounts: the syntax of the parameter, Azure's limits, and the driver's own tags.

use std::collections::BTreeMap;

use azcsi_types::params::{BadParam, Param, ParamMap};

/// Tags by name.
pub type Tags = BTreeMap<String, String>;

/// Marks an account that a driver of Kubernetes made.
pub const CREATED_BY: (&str, &str) = ("k8s-azure-created-by", "azure");
/// Keeps an account from being chosen: it is full, or its owner wants it left alone.
pub const SKIP: &str = "skip-matching";
/// What an account was made for, so that one that was left half-made is completed and not made again.
pub const MADE_FOR: &str = "azcsi-made-for";

/// Azure's limits (Resource Manager reference, "Tag limitations", for storage).
const MOST: usize = 50;
const KEY_LIMIT: usize = 128;
const VALUE_LIMIT: usize = 256;
/// How many the driver adds itself at the most.
const OWN: usize = 3;

/// Takes the parameters `tags` and `tagValueDelimiter`.
///
/// # Errors
/// For text that is no list of `key=value`, and beyond Azure's limits.
pub fn take(map: &mut ParamMap) -> Result<Tags, BadParam> {
    let delimiter = map.take("tagValueDelimiter").map(|param| param.value);
    let delimiter = delimiter.filter(|text| !text.is_empty());
    let delimiter = delimiter.as_deref().unwrap_or(",");
    map.take("tags")
        .map_or_else(|| Ok(Tags::new()), |param| parse(&param, delimiter))
}

fn parse(param: &Param, delimiter: &str) -> Result<Tags, BadParam> {
    let mut tags = Tags::new();
    if param.value.trim().is_empty() {
        return Ok(tags);
    }
    for item in param.value.split(delimiter) {
        let item = item.trim();
        let Some((key, value)) = item.split_once('=') else {
            let allowed =
                format!("key=value pairs with '{delimiter}' between them; '{item}' is none");
            return Err(param.refuse(allowed));
        };
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() || key.contains(['<', '>', '%', '&', '?', '\\', '/']) {
            return Err(param.refuse(r"keys that are not empty and hold none of < > % & ? \ /"));
        }
        if key.chars().count() > KEY_LIMIT || value.chars().count() > VALUE_LIMIT {
            return Err(param.refuse("keys of at most 128 and values of at most 256 characters"));
        }
        tags.insert(key.to_owned(), value.to_owned());
    }
    if tags.len() > MOST - OWN {
        return Err(param.refuse(format!("at most {} tags", MOST - OWN)));
    }
    Ok(tags)
}

/// The value of a tag, whatever the case of its name: Azure compares names without regard to case.
#[must_use]
pub fn find<'a>(tags: &'a Tags, key: &str) -> Option<&'a str> {
    let mut all = tags.iter();
    all.find(|(there, _)| there.eq_ignore_ascii_case(key))
        .map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use azcsi_types::params::ParamMap;

    use super::{Tags, find, take};

    fn tags(text: &str, delimiter: Option<&str>) -> Option<Tags> {
        let mut pairs = vec![("tags".to_owned(), text.to_owned())];
        pairs.extend(delimiter.map(|d| ("tagValueDelimiter".to_owned(), d.to_owned())));
        take(&mut ParamMap::new(pairs).unwrap()).ok()
    }

    #[test]
    fn pairs_are_read_and_the_rest_is_refused_id_11() {
        assert_eq!(tags("", None).unwrap(), Tags::new());
        assert_eq!(find(&tags(" a = b=c ,d=", None).unwrap(), "A"), Some("b=c"));
        assert_eq!(tags("a=b,c;d=e", Some(";")).unwrap()["a"], "b,c");
        assert_eq!(tags("a.b=Dev/Test", None).unwrap()["a.b"], "Dev/Test");
        for wrong in [
            "a",
            "=b",
            "a/b=c",
            "a=b,,c=d",
            &format!("a={}", "x".repeat(257)),
        ] {
            assert!(tags(wrong, None).is_none(), "{wrong}");
        }
        let many: Vec<String> = (0..48).map(|n| format!("k{n}=v")).collect();
        assert!(tags(&many.join(","), None).is_none());
    }
}
