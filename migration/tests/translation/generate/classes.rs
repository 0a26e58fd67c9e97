//! StorageClasses.

use serde_json::{Value, json};

use super::parts::*;
use super::volumes::{attributes, term};
use crate::dice::Dice;

pub(super) fn class(dice: &mut Dice) -> Value {
    let mut out = Builder::default();
    let provisioner = match dice.below(20) {
        0 => "kubernetes.io/azurefile",
        1 => DISK_DRIVER,
        2 => "Kubernetes.io/azure-disk",
        3..=5 => FILE,
        _ => DISK,
    };
    out.put("apiVersion", "storage.k8s.io/v1");
    out.put("kind", "StorageClass");
    out.put("metadata", json!({"name": "legacy"}));
    out.put("provisioner", provisioner);
    if !dice.once_in(4) {
        let zone = dice.one(&["zone", "zones"]);
        let parameters = attributes(
            dice,
            &[
                (
                    zone,
                    &[
                        "",
                        "1",
                        "uksouth-1",
                        "a,b",
                        "a, b,",
                        ",",
                        "1,2,uksouth-3",
                        "0,0",
                        " 1",
                    ],
                ),
                ("kind", &["Managed", "Dedicated", ""]),
                ("skuname", &["Premium_LRS", ""]),
                ("zoned", &["true"]),
            ],
        );
        out.put("parameters", one_zone(parameters));
    }
    if dice.once_in(2) {
        let terms: Vec<Value> = (0..dice.below(3))
            .map(|_| term(dice, "matchLabelExpressions"))
            .collect();
        out.put("allowedTopologies", terms);
    }
    if dice.once_in(2) {
        out.put("reclaimPolicy", "Retain");
        out.put("mountOptions", json!(["discard"]));
        out.put("volumeBindingMode", "WaitForFirstConsumer");
    }
    out.0.into()
}

/// A respelled key may have become the other zone parameter.
pub(super) fn one_zone(mut parameters: Value) -> Value {
    if let Some(object) = parameters.as_object_mut() {
        let mut seen = false;
        object.retain(|key, _| {
            let zone = matches!(key.to_lowercase().as_str(), "zone" | "zones");
            let keep = !(zone && seen);
            seen |= zone;
            keep
        });
    }
    parameters
}
