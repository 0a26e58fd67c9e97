//! What holds for every object.

use azcsi_migration::persistent_volume::{from_csi, to_csi};
use azcsi_migration::request::{Direction, answer};
use azcsi_migration::{Mode, TranslateError};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::canonical::canonical;
use crate::dice::Dice;
use crate::generate::{csi_volume, in_tree_volume, question};

/// JSON of any shape, with the members that matter under their right names often enough.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "(/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/|http://a/vhds/)é?"
            .prop_map(Value::from),
        "[a#é]{0,7}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("spec"),
        Just("metadata"),
        Just("azureDisk"),
        Just("azureFile"),
        Just("csi"),
        Just("driver"),
        Just("volumeHandle"),
        Just("diskURI"),
        Just("kind"),
        Just("annotations"),
        Just("claimRef"),
        Just("nodeAffinity"),
        Just("required"),
        Just("nodeSelectorTerms"),
        Just("matchExpressions"),
        Just("volume"),
        Just("parameters"),
        Just("allowedTopologies"),
        Just("provisioner"),
        Just("op"),
        Just("pv"),
        Just("zones"),
        Just("volumeAttributes"),
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A volume that Strict has nothing against, and whose place is not told by the affinity.
fn good_volume(seed: u64) -> Value {
    let mut dice = Dice::new(seed);
    let mut pv = in_tree_volume(&mut dice);
    while to_csi(Mode::Strict, &pv).is_err() {
        pv = in_tree_volume(&mut dice);
    }
    for path in ["/metadata/labels", "/spec/nodeAffinity"] {
        if let Some(place) = pv.pointer_mut(path) {
            *place = Value::Null;
        }
    }
    pv
}

fn stays(
    pv: &Value,
    step: impl Fn(&Value) -> Result<Value, TranslateError>,
) -> Result<(), TestCaseError> {
    if let Ok(again) = step(pv) {
        prop_assert_eq!(canonical(&again), canonical(pv));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_json_makes_it_panic(input in anything()) {
        for direction in Direction::ALL {
            for mode in [Mode::Compat, Mode::Strict] {
                let before = input.clone();
                let _ = answer(mode, direction, &input);
                prop_assert_eq!(&before, &input);
            }
        }
    }

    #[test]
    fn generated_objects_are_left_alone_and_answered_alike_each_time(seed: u64) {
        let (direction, input) = question(&mut Dice::new(seed));
        for mode in [Mode::Compat, Mode::Strict] {
            let before = input.clone();
            prop_assert_eq!(answer(mode, direction, &input), answer(mode, direction, &input));
            prop_assert_eq!(before, input.clone());
        }
    }

    #[test]
    fn strict_agrees_with_compat_on_what_it_accepts(seed: u64) {
        let pv = good_volume(seed);
        let strict = to_csi(Mode::Strict, &pv).unwrap();
        prop_assert_eq!(&strict, &to_csi(Mode::Compat, &pv).unwrap());
    }

    #[test]
    fn strict_never_accepts_what_compat_refuses_on_the_way_to_csi(seed: u64) {
        let (direction, input) = question(&mut Dice::new(seed));
        if direction != Direction::PvFromCsi && answer(Mode::Strict, direction, &input).is_ok() {
            prop_assert!(answer(Mode::Compat, direction, &input).is_ok());
        }
    }

    #[test]
    fn strict_agrees_with_compat_on_the_way_back(seed: u64) {
        let pv = to_csi(Mode::Strict, &good_volume(seed)).unwrap();
        let cached = pv.pointer("/spec/csi/volumeAttributes/cachingmode").is_some_and(|c| c != "");
        let disk = pv.pointer("/spec/csi/driver").unwrap() == "disk.csi.azure.com";
        if let (Ok(compat), true) = (from_csi(Mode::Compat, &pv), cached || !disk) {
            let mut strict = from_csi(Mode::Strict, &pv).unwrap();
            // Strict finds the resource group where Compat forgets it.
            let group = compat.pointer("/metadata/annotations").cloned();
            strict["metadata"]["annotations"] = group.unwrap_or(Value::Null);
            prop_assert_eq!(canonical(&strict), canonical(&compat));
        }
    }

    #[test]
    fn to_csi_and_back_and_to_csi_is_to_csi(seed: u64) {
        let csi = to_csi(Mode::Strict, &good_volume(seed)).unwrap();
        let attributes = &csi["spec"]["csi"]["volumeAttributes"];
        let disk = csi["spec"]["csi"]["driver"] == "disk.csi.azure.com";
        // The two exceptions: an absent fsType gains an empty attribute, an empty cache mode is lost.
        if disk && (attributes.get("fstype").is_none() || attributes["cachingmode"] == "") {
            return Ok(());
        }
        stays(&csi, |csi| from_csi(Mode::Compat, csi).and_then(|pv| to_csi(Mode::Compat, &pv)))?;
    }

    #[test]
    fn from_csi_and_there_and_back_is_from_csi(seed: u64) {
        let Ok(first) = from_csi(Mode::Compat, &csi_volume(&mut Dice::new(seed))) else {
            return Ok(());
        };
        // A share without a name is read from the handle again, where a '#' inside a part moves the
        // parts behind it.
        if matches!(
            to_csi(Mode::Strict, &first),
            Err(TranslateError::Empty(_) | TranslateError::SeparatorInside { .. })
        ) {
            return Ok(());
        }
        stays(&first, |pv| to_csi(Mode::Compat, pv).and_then(|csi| from_csi(Mode::Compat, &csi)))?;
    }

    #[test]
    fn unknown_fields_survive(seed: u64) {
        let mut pv = good_volume(seed);
        pv["extra"] = json!({"a": [1, null]});
        pv["spec"]["future"] = json!("kept");
        let csi = to_csi(Mode::Compat, &pv).unwrap();
        prop_assert_eq!(&csi["extra"], &pv["extra"]);
        prop_assert_eq!(&csi["spec"]["future"], "kept");
    }
}
