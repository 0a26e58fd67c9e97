//! Templates in disk names and tag values.

use super::claim::Claim;

/// Replaces `${pvc.metadata.name}`, `${pvc.metadata.namespace}` and `${pv.metadata.name}`. What is
/// not known becomes empty. Replaced text is not read again.
#[must_use]
pub fn expand(text: &str, claim: &Claim) -> String {
    let known = [
        ("${pvc.metadata.name}", &claim.name),
        ("${pvc.metadata.namespace}", &claim.namespace),
        ("${pv.metadata.name}", &claim.volume),
    ];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match known.iter().find(|(word, _)| rest.starts_with(word)) {
            Some((word, value)) => {
                out.push_str(value.as_deref().unwrap_or_default());
                rest = &rest[word.len()..];
            }
            None => {
                out.push_str("${");
                rest = &rest[2..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::expand;
    use crate::model::claim::Claim;

    #[test]
    fn templates_are_replaced_once() {
        let claim = Claim {
            name: Some("${pv.metadata.name}".to_owned()),
            namespace: None,
            volume: Some("v".to_owned()),
        };
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("a-${pvc.metadata.name}-b", "a-${pv.metadata.name}-b"),
            ("${pvc.metadata.namespace}x${pv.metadata.name}", "xv"),
            ("${other} ${", "${other} ${"),
        ] {
            assert_eq!(expand(text, &claim), expected);
        }
    }
}
