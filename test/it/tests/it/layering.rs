//! The edges between crates and modules that `common/README.md` promises.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Which crates of ours each crate may depend on in production.
const ALLOWED: &[(&str, &[&str])] = &[
    ("azcsi-proto", &[]),
    ("azcsi-types", &[]),
    ("azcsi-rpc", &["azcsi-proto", "azcsi-types"]),
    ("azcsi-cloud", &["azcsi-types"]),
    ("azcsi-host", &["azcsi-types"]),
    ("azcsi-kube", &["azcsi-types"]),
    (
        "azcsi-disk",
        &[
            "azcsi-cloud",
            "azcsi-host",
            "azcsi-kube",
            "azcsi-proto",
            "azcsi-rpc",
            "azcsi-types",
        ],
    ),
    (
        "azcsi-file",
        &[
            "azcsi-cloud",
            "azcsi-host",
            "azcsi-kube",
            "azcsi-proto",
            "azcsi-rpc",
            "azcsi-types",
        ],
    ),
    ("azcsi-migration", &["azcsi-types"]),
    (
        "azcsi-migrate",
        &["azcsi-kube", "azcsi-migration", "azcsi-types"],
    ),
    ("azcsi-sim", &["azcsi-types"]),
    ("azcsi-lab", &["azcsi-proto", "azcsi-rig", "azcsi-sanity"]),
    ("azcsi-rig", &["azcsi-proto"]),
    ("azcsi-demo", &["azcsi-proto", "azcsi-rig"]),
    ("azcsi-bench", &["azcsi-proto", "azcsi-rig", "azcsi-sim"]),
    (
        "azcsi-contract",
        &["azcsi-cloud", "azcsi-rpc", "azcsi-types"],
    ),
    ("azcsi-sanity", &["azcsi-proto", "azcsi-rig"]),
    ("azcsi-e2e", &["azcsi-rig"]),
    ("azcsi-it", &["azcsi-types"]),
];

/// Crates that a crate must never link, with the reason.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    (
        "azcsi-types",
        &["tokio", "tonic", "serde", "reqwest", "http"],
        "pure values, no runtime, no I/O",
    ),
    (
        "azcsi-cloud",
        &["tonic", "kube", "nix"],
        "Azure knows neither gRPC nor Kubernetes nor the kernel",
    ),
    (
        "azcsi-host",
        &["tonic", "kube", "reqwest", "http"],
        "the kernel knows no network",
    ),
    (
        "azcsi-kube",
        &["tonic", "nix", "reqwest"],
        "Kubernetes knows neither gRPC nor the kernel",
    ),
    (
        "azcsi-migration",
        &["tokio", "tonic", "reqwest", "http", "kube"],
        "translation is pure: values in, values out",
    ),
    (
        "azcsi-sim",
        &["tonic", "reqwest", "kube", "k8s-openapi"],
        "an independent reading of the reference",
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

fn manifests() -> BTreeMap<String, toml::Table> {
    let workspace: toml::Table = std::fs::read_to_string(root().join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    workspace["workspace"]["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| {
            let path = root().join(member.as_str().unwrap()).join("Cargo.toml");
            let table: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
            (table["package"]["name"].as_str().unwrap().to_owned(), table)
        })
        .collect()
}

fn dependencies(manifest: &toml::Table) -> BTreeSet<String> {
    let table = manifest.get("dependencies").and_then(toml::Value::as_table);
    table
        .map(|table| table.keys().cloned().collect())
        .unwrap_or_default()
}

#[test]
fn crates_know_only_what_the_map_allows() {
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    for (name, manifest) in manifests() {
        let allowed = allowed
            .get(name.as_str())
            .unwrap_or_else(|| panic!("{name} is not on the map"));
        for dependency in dependencies(&manifest) {
            let ours = dependency.starts_with("azcsi-");
            assert!(
                !ours || allowed.contains(&dependency.as_str()),
                "{name} must not know {dependency}"
            );
        }
    }
}

#[test]
fn crates_do_not_link_what_they_must_not_know() {
    let manifests = manifests();
    for (name, forbidden, reason) in FORBIDDEN {
        let dependencies = dependencies(&manifests[*name]);
        for other in *forbidden {
            assert!(
                !dependencies.contains(*other),
                "{name} must not link {other}: {reason}"
            );
        }
    }
}

fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

#[test]
fn controller_and_node_never_see_each_other() {
    let disk = root().join("disk/src");
    for (folder, other) in [
        ("controller", "crate::node"),
        ("node", "crate::controller"),
        ("model", "crate::controller"),
        ("model", "crate::node"),
    ] {
        for (path, text) in sources(&disk.join(folder)) {
            assert!(!text.contains(other), "{} uses {other}", path.display());
        }
    }
}

#[test]
fn the_node_holds_no_azure_client() {
    for (path, text) in sources(&root().join("disk/src/node")) {
        for line in text.lines().filter(|line| line.contains("azcsi_cloud")) {
            assert!(
                line.contains("metadata"),
                "{}: only instance metadata on a node: {line}",
                path.display()
            );
        }
    }
}

#[test]
fn the_controller_mounts_nothing() {
    for (path, text) in sources(&root().join("disk/src/controller")) {
        assert!(
            !text.contains("azcsi_host"),
            "{} knows the kernel",
            path.display()
        );
    }
}

#[test]
fn every_file_says_what_it_holds() {
    for folder in ["common", "disk", "test"] {
        for (path, text) in sources(&root().join(folder)) {
            if path.components().any(|part| part.as_os_str() == "target") {
                continue;
            }
            assert!(
                text.starts_with("//!"),
                "{} has no module documentation",
                path.display()
            );
        }
    }
}
