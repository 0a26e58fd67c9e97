//! Names that external-provisioner tells with `--extra-create-metadata`, and the placeholders that
//! stand for them in parameters.

use azcsi_types::keys::metadata;
use azcsi_types::params::ParamMap;

/// What is known of the claim and its volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Name of the claim.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Name of the PersistentVolume.
    pub volume: Option<String>,
}

impl Claim {
    /// Takes the three keys.
    pub fn take(map: &mut ParamMap) -> Self {
        let mut one = |key| {
            let value = map.take(key)?.value;
            (!value.is_empty()).then_some(value)
        };
        Self {
            name: one(metadata::PVC_NAME),
            namespace: one(metadata::PVC_NAMESPACE),
            volume: one(metadata::PV_NAME),
        }
    }

    /// Puts the names where their placeholders are. What is not known stays a placeholder, which no
    /// name of a share or directory accepts.
    #[must_use]
    pub fn expand(&self, template: &str) -> String {
        let pairs = [
            ("${pvc.metadata.name}", &self.name),
            ("${pvc.metadata.namespace}", &self.namespace),
            ("${pv.metadata.name}", &self.volume),
        ];
        // One pass: a name that looks like a placeholder is a name.
        let mut out = String::new();
        let mut rest = template;
        'next: while let Some(at) = rest.find("${") {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            for (mark, name) in &pairs {
                if let (Some(behind), Some(name)) = (rest.strip_prefix(mark), name) {
                    out.push_str(name);
                    rest = behind;
                    continue 'next;
                }
            }
            out.push_str("${");
            rest = &rest[2..];
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Claim;

    #[test]
    fn placeholders_are_replaced_once() {
        let claim = Claim {
            name: Some("${pv.metadata.name}".to_owned()),
            namespace: Some("team-a".to_owned()),
            volume: Some("pvc-1".to_owned()),
        };
        for (template, expected) in [
            (
                "${pvc.metadata.namespace}/${pv.metadata.name}",
                "team-a/pvc-1",
            ),
            ("x-${pvc.metadata.name}", "x-${pv.metadata.name}"),
            ("${other}", "${other}"),
            ("${", "${"),
            ("plain", "plain"),
        ] {
            assert_eq!(claim.expand(template), expected, "{template}");
        }
        assert_eq!(
            Claim::default().expand("${pv.metadata.name}"),
            "${pv.metadata.name}"
        );
    }
}
