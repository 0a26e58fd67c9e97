//! Known results of the formula, and what it does with what is not known.

use std::collections::HashMap;

use azcsi_types::params::ParamMap;
use azcsi_types::size::GiB;

use super::{MACHINES, Profile, Rate, Wish, of_machine, settings};

fn wish(pairs: &[(&str, &str)]) -> Wish {
    let pair = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    let map: HashMap<_, _> = pairs.iter().map(pair).collect();
    Wish::take(&mut ParamMap::new(map).unwrap())
}

fn basic(sku: &str) -> Wish {
    wish(&[("perfProfile", "Basic"), ("skuName", sku)])
}

/// `max_sectors_kb` and `queue_depth`.
fn numbers(wish: &Wish, gib: u32, machine: Option<Rate>) -> Option<(u64, u64)> {
    let settings: HashMap<_, _> = settings(wish, GiB::new(gib), machine).into_iter().collect();
    if settings.is_empty() {
        return None;
    }
    assert_eq!(
        settings["queue/nr_requests"],
        settings["device/queue_depth"]
    );
    assert_eq!(settings["queue/scheduler"], "mq-deadline");
    assert_eq!(settings["queue/read_ahead_kb"], "8");
    let number = |name: &str| settings[name].parse().unwrap();
    Some((number("queue/max_sectors_kb"), number("device/queue_depth")))
}

#[test]
fn the_formula_gives_the_known_results() {
    for (machine, sku, gib, known) in [
        ("Standard_D8s_v5", "Premium_LRS", 32, (65, 11)),
        ("Standard_D8s_v5", "Premium_LRS", 128, (65, 11)),
        ("Standard_D8s_v5", "Premium_ZRS", 512, (65, 11)),
        ("Standard_D8s_v5", "Premium_LRS", 1024, (54, 16)),
        ("Standard_D8s_v5", "premium_lrs", 2048, (45, 24)),
        ("Standard_D8s_v5", "StandardSSD_LRS", 128, (334, 3)),
        ("Standard_D8s_v5", "StandardSSD_ZRS", 1024, (334, 4)),
        ("Standard_D64s_v5", "Premium_LRS", 8192, (42, 61)),
        ("STANDARD_D64S_V5", "Premium_LRS", 32767, (60, 98)),
        ("Standard_D64s_v5", "StandardSSD_LRS", 32767, (167, 30)),
        ("Standard_D2s_v3", "Premium_LRS", 1024, (19, 10)),
    ] {
        let rate = of_machine(machine);
        assert!(rate.is_some(), "{machine}");
        let got = numbers(&basic(sku), gib, rate);
        assert_eq!(got, Some(known), "{machine} {sku} {gib}");
    }
}

#[test]
fn an_unknown_machine_does_not_stop_it_and_another_disk_is_left_alone() {
    assert_eq!(of_machine("Standard_Unheard_v9"), None);
    assert_eq!(numbers(&basic("Premium_LRS"), 32, None), Some((65, 11)));
    for sku in ["Standard_LRS", "UltraSSD_LRS", "Nonsense"] {
        assert_eq!(numbers(&basic(sku), 32, None), None, "{sku}");
    }
    assert_eq!(numbers(&wish(&[("perfProfile", "basic")]), 32, None), None);
}

#[test]
fn provisioned_disks_count_as_they_are_provisioned() {
    let v2 = numbers(&basic("PremiumV2_LRS"), 1000, None);
    assert_eq!(v2, Some((56, 10)));
    let more = wish(&[
        ("perfProfile", "basic"),
        ("storageAccountType", "UltraSSD_LRS"),
        ("diskIOPSReadWrite", "10000"),
        ("DiskMBpsReadWrite", "400"),
    ]);
    assert_eq!(numbers(&more, 1000, None), Some((54, 31)));
}

#[test]
fn a_tier_is_large_enough_for_what_is_asked() {
    let asked = wish(&[
        ("perfprofile", "basic"),
        ("skuname", "Premium_LRS"),
        ("diskiopsreadwrite", "4000"),
    ]);
    let larger = numbers(&asked, 4, None);
    assert_eq!(larger, numbers(&basic("Premium_LRS"), 1024, None));
    assert_eq!(numbers(&basic("Premium_LRS"), 40_000, None), None);
}

#[test]
fn settings_need_a_profile() {
    let setting = ("device-setting/queue/nr_requests", "8");
    for (profile, count) in [("none", 0), ("advanced", 1), ("other", 0)] {
        let wish = wish(&[setting, ("perfprofile", profile)]);
        assert_eq!(settings(&wish, GiB::new(4), None).len(), count, "{profile}");
    }
    assert_eq!(wish(&[setting]).profile, Profile::None);
}

#[test]
fn every_machine_of_the_table_reads() {
    let names: Vec<&str> = MACHINES
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    assert!(names.is_sorted() && names.len() > 1000);
    for name in names {
        let rate = of_machine(name).unwrap();
        assert!(rate.iops > 0 && rate.mbps > 0, "{name}");
    }
}
