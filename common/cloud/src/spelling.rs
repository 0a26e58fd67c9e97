//! The usual spelling of the fixed words of a resource id. Azure takes any case, but not every
//! service behind it does, and its logs are searched by the usual one. Names stay as they are.

use std::borrow::Cow;

/// Words that stand between names.
const WORDS: [&str; 19] = [
    "subscriptions",
    "resourceGroups",
    "providers",
    "locations",
    "disks",
    "snapshots",
    "diskEncryptionSets",
    "diskAccesses",
    "virtualMachines",
    "virtualMachineScaleSets",
    "storageAccounts",
    "fileServices",
    "shares",
    "virtualNetworks",
    "subnets",
    "privateEndpoints",
    "privateDnsZones",
    "privateDnsZoneGroups",
    "virtualNetworkLinks",
];
const PROVIDERS: [&str; 3] = [
    "Microsoft.Compute",
    "Microsoft.Storage",
    "Microsoft.Network",
];

/// A path or an id in the usual spelling; any other text as it is.
pub(crate) fn usual(text: &str) -> Cow<'_, str> {
    let begins = text
        .strip_prefix('/')
        .and_then(|rest| rest.split('/').next());
    if !begins.is_some_and(|first| first.eq_ignore_ascii_case("subscriptions")) {
        return Cow::Borrowed(text);
    }
    let mut after_providers = false;
    let parts = text.split('/').enumerate().map(|(at, part)| {
        // The first part is empty: it is before the first slash.
        let is_word = at % 2 == 1;
        let list: &[&'static str] = match (after_providers, is_word) {
            (true, _) => &PROVIDERS,
            (false, true) => &WORDS,
            (false, false) => &[],
        };
        after_providers = is_word && part.eq_ignore_ascii_case("providers");
        let known = list.iter().find(|word| word.eq_ignore_ascii_case(part));
        known.copied().unwrap_or(part)
    });
    Cow::Owned(parts.collect::<Vec<&str>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::usual;

    #[test]
    fn fixed_words_get_the_usual_case_and_names_keep_theirs_id_01() {
        let id = "/subscriptions/S/resourceGroups/SHARES/providers/Microsoft.Compute/disks/DISKS";
        assert_eq!(usual(id), id);
        let loud = "/SUBSCRIPTIONS/S/ResourceGroups/SHARES/Providers/MICROSOFT.COMPUTE/Disks/DISKS";
        assert_eq!(usual(loud), id);
        let listing = "/subscriptions/PROVIDERS/PROVIDERS/microsoft.compute/DISKS";
        assert_eq!(
            usual(listing),
            "/subscriptions/PROVIDERS/providers/Microsoft.Compute/disks"
        );
        for other in [
            "",
            "/",
            "SHARES",
            "/Providers/x",
            "https://a/SUBSCRIPTIONS/b",
        ] {
            assert_eq!(usual(other), other);
        }
    }
}
