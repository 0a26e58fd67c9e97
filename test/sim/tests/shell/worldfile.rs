//! World files: what is wrong is named with file, line and remedy.

use std::path::Path;

use azcsi_sim::worldfile::WorldFile;

const GOOD: &str = r#"
tenant = "11111111-1111-4111-8111-111111111111"
subscription = "22222222-2222-4222-8222-222222222222"
resource_group = "mc_demo"
location = "eastus2"

[[app]]
client_id = "33333333-3333-4333-8333-333333333333"
secret = "s"

[[pool]]
name = "pool-vmss"
kind = "uniform"
size = "Standard_D4s_v5"
nodes = 3
zones = ["1", "2", "3"]
"#;

fn refusal(text: &str) -> String {
    WorldFile::parse(Path::new("w.toml"), text)
        .expect_err("refused")
        .to_string()
}

#[test]
fn a_pool_gives_nodes_in_turn_to_its_zones() {
    let world = WorldFile::parse(Path::new("w.toml"), GOOD).expect("good");
    let pool = world.pools.first().expect("pool");
    let zones: Vec<_> = (0..4).map(|n| pool.zone(n)).collect();
    assert_eq!(zones, [Some("1"), Some("2"), Some("3"), Some("1")]);
    assert_eq!(pool.host_name(0), "pool-vmss000000");
    assert_eq!(pool.host_name(37), "pool-vmss000011");
    assert_eq!(pool.vm_name(37), "37");
}

#[test]
fn each_mistake_is_named_with_its_line() {
    for (from, to, line, reason) in [
        ("nodes = 3", "nodes = 0", 15, "nodes is 1 to 5000"),
        ("nodes = 3", "nodes = \"3\"", 15, "invalid type"),
        (
            "kind = \"uniform\"",
            "kind = \"vmss\"",
            13,
            "unknown variant `vmss`",
        ),
        ("size =", "siez =", 14, "unknown field `siez`"),
        ("\"3\"]", "\"4\"]", 16, "a zone is"),
        (
            "Standard_D4s_v5",
            "D4s",
            14,
            "size is the name of a VM size",
        ),
        ("22222222-2222", "2-2", 3, "subscription is a GUID"),
        ("pool-vmss", "Pool VMSS", 12, "a pool's name is"),
        (
            "\"uniform\"",
            "\"avset\"",
            16,
            "an availability set has no zones",
        ),
        ("eastus2\"", "eastus2", 5, ""),
    ] {
        let text = refusal(&GOOD.replace(from, to));
        assert!(
            text.starts_with(&format!("w.toml:{line}: ")),
            "{to}: {text}"
        );
        assert!(text.contains(reason), "{to}: {text}");
        assert!(!text.contains('\n'), "{text}");
    }
}

#[test]
fn two_pools_cannot_share_a_name() {
    let pool = GOOD.split_once("[[pool]]").expect("pool").1;
    let text = refusal(&format!("{GOOD}\n[[pool]]{pool}"));
    assert!(text.contains("two pools called"), "{text}");
}

#[test]
fn a_missing_file_is_named() {
    let error = WorldFile::load(Path::new("/nowhere/w.toml"))
        .expect_err("refused")
        .to_string();
    assert!(
        error.starts_with("/nowhere/w.toml: cannot be read"),
        "{error}"
    );
}
