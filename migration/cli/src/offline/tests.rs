//! Manifests and what becomes of them. `tests/golden` holds whole files.

use super::{convert, documents};
use crate::verdict::Wishes;

fn converted(content: &str) -> super::Converted {
    convert(content, &Wishes::default()).unwrap()
}

#[test]
fn documents_are_cut_at_their_markers_and_nothing_is_lost() {
    let content = "# head\n---\na: 1\n--- # two\nb: |\n  ---\n";
    assert_eq!(
        documents(content),
        ["# head\n", "---\na: 1\n", "--- # two\nb: |\n  ---\n"]
    );
}

#[test]
fn what_is_not_ours_stays_to_the_byte() {
    let content =
        "# c\nkind:   ConfigMap # odd\n---\n\n---\nkind: PersistentVolume\nspec: {nfs: {}}\n";
    let out = converted(content);
    assert_eq!(
        (out.text.as_str(), out.changed, out.blocked),
        (content, 0, 0)
    );
}

#[test]
fn only_the_lines_of_what_changes_are_touched() {
    let content = "\
# The shop's database.
apiVersion: v1
kind: PersistentVolume
metadata:
  name: \"db\"   # never rename
spec:
  accessModes: [ReadWriteOnce]
  # on the old cluster
  azureDisk:
    kind: Managed
    # made by hand
    diskURI: /subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d # mine
    diskName: d
  capacity:
    storage: 8Gi
";
    let out = converted(content);
    assert_eq!(
        (out.changed, out.blocked, out.notes.len()),
        (1, 0, 0),
        "{out:?}"
    );
    assert_eq!(
        out.text,
        "\
# The shop's database.
apiVersion: v1
kind: PersistentVolume
metadata:
  name: \"db\"   # never rename
spec:
  accessModes: [ReadWriteOnce]
  # on the old cluster
  # made by hand
  # mine
  csi:
    driver: disk.csi.azure.com
    fsType: ext4
    volumeAttributes:
      cachingMode: ReadWrite
    volumeHandle: /subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d
  capacity:
    storage: 8Gi
"
    );
}

#[test]
fn lists_are_edited_in_place_too() {
    let content = "\
apiVersion: v1
kind: List
items:
- apiVersion: storage.k8s.io/v1
  kind: StorageClass
  metadata: {name: fast}
  # premium
  provisioner: kubernetes.io/azure-disk # old
  parameters:
    storageaccounttype: Premium_LRS
    cachingmode: None
- kind: ConfigMap # untouched
";
    let out = converted(content);
    assert_eq!((out.changed, out.blocked), (1, 0), "{out:?}");
    for line in [
        "  # premium",
        "  provisioner: disk.csi.azure.com  # old",
        "    skuName: Premium_LRS",
        "- kind: ConfigMap # untouched",
    ] {
        assert!(
            out.text.lines().any(|found| found == line),
            "{line}\n{}",
            out.text
        );
    }
}

#[test]
fn where_an_edit_is_not_possible_the_document_is_written_anew() {
    let content = "{kind: PersistentVolume, spec: {azureFile: {secretName: s, shareName: h, secretNamespace: office}}}";
    let yaml = format!("---\n{content}\n");
    let out = converted(&yaml);
    assert_eq!((out.changed, out.notes.len()), (1, 1), "{out:?}");
    assert!(out.text.starts_with("---\n") && out.text.contains("file.csi.azure.com"));
}

#[test]
fn json_stays_json() {
    let content = r#"{"kind":"StorageClass","provisioner":"kubernetes.io/azure-file"}"#;
    let out = converted(content);
    assert!(out.text.contains("\"provisioner\": \"file.csi.azure.com\""));
}

#[test]
fn what_cannot_be_converted_is_left_alone_and_told() {
    let pod = "kind: Pod\nmetadata: {name: p}\nspec:\n  volumes:\n  - {name: v, azureFile: {secretName: s, shareName: h}}\n";
    let unmanaged = "kind: PersistentVolume\nmetadata: {name: u}\nspec: {azureDisk: {kind: Shared, diskURI: d, diskName: d}}\n";
    for content in [pod, unmanaged] {
        let out = converted(content);
        assert_eq!(
            (out.text.as_str(), out.blocked, out.notes.len()),
            (content, 1, 1)
        );
    }
    assert!(convert("a: [", &Wishes::default()).is_err());
}
