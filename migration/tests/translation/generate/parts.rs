//! What objects are made of: texts in every spelling, ids, names.

use serde_json::{Map, Value, json};

use crate::dice::Dice;

/// The disk driver's zone key.
pub(crate) const DISK_ZONE: &str = "topology.disk.csi.azure.com/zone";
/// The zone key under which the reference shows its shared topology rules.
pub(crate) const SHOWN_ZONE: &str = "topology.cinder.csi.openstack.org/zone";

pub(super) const DISK: &str = "kubernetes.io/azure-disk";
pub(super) const FILE: &str = "kubernetes.io/azure-file";
pub(super) const DISK_DRIVER: &str = "disk.csi.azure.com";
pub(super) const FILE_DRIVER: &str = "file.csi.azure.com";
pub(super) const RESOURCE_GROUP: &str = "kubernetes.io/azure-file-resource-group";

pub(super) const KEYS: [&str; 8] = [
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/region",
    DISK_ZONE,
    SHOWN_ZONE,
    "kubernetes.io/hostname",
    "Topology.Kubernetes.io/Zone",
];
pub(super) const ZONES: [&str; 12] = [
    "",
    "0",
    "1",
    "12",
    " 1",
    "uksouth-1",
    "uksouth-2",
    "UKSouth-3",
    " uksouth-1 ",
    "\t",
    "a__b",
    "1\n",
];
pub(super) const JUNK: [&str; 14] = [
    "",
    " ",
    "#",
    "##",
    "a#b#c",
    "/",
    "\n",
    "é",
    "İ",
    "K",
    "none",
    "ReadWrite",
    "x\ny",
    "💾",
];

/// An object that grows member by member.
#[derive(Default)]
pub(super) struct Builder(pub(super) Map<String, Value>);

impl Builder {
    pub(super) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// A string member in one of its ways: absent, null, wrong, or one of these.
    pub(super) fn text(&mut self, dice: &mut Dice, key: &str, good: &[&str]) {
        match dice.below(24) {
            0..=3 => {}
            4 => self.put(key, Value::Null),
            5 => self.put(key, dice.one(&JUNK)),
            6 if dice.once_in(4) => self.put(key, wrong(dice)),
            7..=9 => {
                let text = dice.one(good);
                self.put(key, respelled(dice, text));
            }
            _ => self.put(key, dice.one(good)),
        }
    }

    pub(super) fn flag(&mut self, dice: &mut Dice, key: &str) {
        match dice.below(12) {
            0..=3 => {}
            4 => self.put(key, Value::Null),
            5 if dice.once_in(4) => self.put(key, "true"),
            n => self.put(key, n % 2 == 0),
        }
    }
}

pub(super) fn wrong(dice: &mut Dice) -> Value {
    [json!(1), json!(true), json!([]), json!({})][dice.below(4)].clone()
}

/// The same text in another case.
pub(super) fn respelled(dice: &mut Dice, text: &str) -> String {
    match dice.below(8) {
        // Letters that only some ways of comparing take for ASCII ones.
        7 => text
            .replace('i', "İ")
            .replace('s', "ſ")
            .replace('k', "\u{212A}"),
        0 => text.to_ascii_lowercase(),
        1 => text.to_ascii_uppercase(),
        _ => text
            .chars()
            .map(|letter| match dice.below(3) {
                0 => letter.to_ascii_uppercase(),
                1 => letter.to_ascii_lowercase(),
                _ => letter,
            })
            .collect(),
    }
}

/// A text with one character changed, dropped, doubled, or the text itself.
pub(super) fn mutated(dice: &mut Dice, text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let at = dice.below(letters.len());
    match dice.below(6) {
        0 if !letters.is_empty() => drop(letters.remove(at)),
        1 if !letters.is_empty() => letters[at] = ['\n', 'é', '/', '#', 'x'][dice.below(5)],
        2 if !letters.is_empty() => letters.insert(at, letters[at]),
        _ => {}
    }
    letters.into_iter().collect()
}

pub(super) fn disk_uri(dice: &mut Dice) -> String {
    const PARTS: [&str; 14] = [
        "/subscriptions/",
        "/resourceGroups/",
        "/resourcegroups/",
        "/providers/",
        "/providers/Microsoft.Compute/disks/",
        "/providers/Microsoft-Compute/disks/",
        "s",
        "r",
        "d",
        "http",
        "https://",
        "/vhds/",
        "a.blob.core.windows.net",
        "\n",
    ];
    const WHOLE: [&str; 7] = [
        "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d",
        "/subscriptions/s-1/resourceGroups/r_2/providers/Microsoft.Compute/disks/pvc-1",
        "/subscriptions/s/resourcegroups/r/providers/microsoft.compute/disks/d",
        "https://a.blob.core.windows.net/vhds/x.vhd",
        "http://a/vhds/b/vhds/c",
        "https://management.azure.com/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d",
        "",
    ];
    match dice.below(8) {
        0 => (0..dice.below(9)).map(|_| dice.one(&PARTS)).collect(),
        1 | 2 => {
            let text = dice.one(&WHOLE);
            mutated(dice, text)
        }
        3 => {
            let text = dice.one(&WHOLE);
            respelled(dice, text)
        }
        _ => dice.one(&WHOLE).to_owned(),
    }
}

pub(super) fn secret(dice: &mut Dice) -> String {
    const WHOLE: [&str; 6] = [
        "azure-storage-account-acct1-secret",
        "xazure-storage-account-a-secret-b-secret.old",
        "azure-storage-account--secret",
        "Azure-storage-account-a-secret",
        "mine",
        "",
    ];
    let text = dice.one(&WHOLE);
    mutated(dice, text)
}
