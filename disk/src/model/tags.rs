//! Tags: the syntax of the parameter, Azure's limits, and the tags that the driver itself writes.

use std::collections::BTreeMap;

use azcsi_types::keys::tag;
use azcsi_types::params::{BadParam, Param, ParamMap};

use super::claim::Claim;

/// Tags by name.
pub type Tags = BTreeMap<String, String>;

/// Azure's limits (Resource Manager reference, "Tag limitations").
const MOST: usize = 50;
const KEY_LIMIT: usize = 512;
const VALUE_LIMIT: usize = 256;
/// How many the driver adds itself at the most.
const OWN: usize = 6;

/// Takes the parameters `tags` and `tagValueDelimiter`.
///
/// # Errors
/// For text that is no list of `key=value`, and beyond Azure's limits.
pub fn take(map: &mut ParamMap) -> Result<Tags, BadParam> {
    let delimiter = map
        .take("tagValueDelimiter")
        .map(|param| param.value)
        .filter(|delimiter| !delimiter.is_empty())
        .unwrap_or_else(|| ",".to_owned());
    map.take("tags")
        .map_or_else(|| Ok(Tags::new()), |param| parse(&param, &delimiter))
}

fn parse(param: &Param, delimiter: &str) -> Result<Tags, BadParam> {
    let mut tags = Tags::new();
    if param.value.trim().is_empty() {
        return Ok(tags);
    }
    for item in param.value.split(delimiter) {
        let wrong = || {
            param.refuse(format!(
                "key=value pairs with '{delimiter}' between them; '{}' is none",
                item.trim()
            ))
        };
        let (key, value) = item.split_once('=').ok_or_else(wrong)?;
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() || key.contains(['<', '>', '%', '&', '?', '\\', '/']) {
            return Err(param.refuse(r"keys that are not empty and hold none of < > % & ? \ /"));
        }
        if key.chars().count() > KEY_LIMIT || value.chars().count() > VALUE_LIMIT {
            return Err(param.refuse("keys of at most 512 and values of at most 256 characters"));
        }
        tags.insert(key.to_owned(), value.to_owned());
    }
    if tags.len() > MOST - OWN {
        return Err(param.refuse(format!("at most {} tags", MOST - OWN)));
    }
    Ok(tags)
}

/// The tags of a new disk: who made it, for which claim, and the custom ones, which win.
#[must_use]
pub fn of_disk(claim: &Claim, write_accelerator: bool, custom: &Tags) -> Tags {
    let mut tags = Tags::from([(tag::CREATED_BY.to_owned(), tag::CREATED_BY_VALUE.to_owned())]);
    let mut add = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            tags.insert(key.to_owned(), value.to_owned());
        }
    };
    add(tag::PVC_NAME, claim.name.as_deref());
    add(tag::PVC_NAMESPACE, claim.namespace.as_deref());
    add(tag::PV_NAME, claim.volume.as_deref());
    add(tag::WRITE_ACCELERATOR, write_accelerator.then_some("true"));
    for (key, value) in custom {
        tags.retain(|there, _| !there.eq_ignore_ascii_case(key));
        tags.insert(key.clone(), super::template::expand(value, claim));
    }
    tags
}

/// The value of a tag, whatever the case of its name: Azure compares names without regard to case.
#[must_use]
pub fn find<'a>(tags: &'a Tags, key: &str) -> Option<&'a str> {
    tags.iter()
        .find(|(there, _)| there.eq_ignore_ascii_case(key))
        .map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::{Tags, find, of_disk, take};
    use crate::model::claim::Claim;
    use azcsi_types::params::{BadParam, ParamMap};

    fn tags(text: &str, delimiter: Option<&str>) -> Result<Tags, BadParam> {
        let mut pairs = vec![("tags".to_owned(), text.to_owned())];
        pairs.extend(delimiter.map(|d| ("tagValueDelimiter".to_owned(), d.to_owned())));
        take(&mut ParamMap::new(pairs).unwrap())
    }

    #[test]
    fn pairs_are_read_and_the_rest_is_refused() {
        assert_eq!(tags("", None).unwrap(), Tags::new());
        assert_eq!(find(&tags(" a = b=c ,d=", None).unwrap(), "A"), Some("b=c"));
        assert_eq!(tags("a=b,c;d=e", Some(";")).unwrap()["a"], "b,c");
        for wrong in [
            "a",
            "=b",
            "a/b=c",
            "a=b,,c=d",
            &format!("a={}", "x".repeat(257)),
        ] {
            assert!(tags(wrong, None).is_err(), "{wrong}");
        }
        let many: Vec<String> = (0..45).map(|n| format!("k{n}=v")).collect();
        assert!(tags(&many.join(","), None).is_err());
    }

    #[test]
    fn custom_tags_win_and_are_expanded() {
        let claim = Claim {
            name: Some("c".to_owned()),
            namespace: Some("n".to_owned()),
            volume: Some("v".to_owned()),
        };
        let custom = tags("K8S-azure-created-by=me,who=${pvc.metadata.name}", None).unwrap();
        let all = of_disk(&claim, true, &custom);
        assert_eq!(find(&all, "k8s-azure-created-by"), Some("me"));
        assert_eq!(all["who"], "c");
        assert_eq!(all["kubernetes.io-created-for-pv-name"], "v");
        assert_eq!(all["writeacceleratorenabled"], "true");
    }
}
