//! Zone keys, zone labels, fault domains.
//!
//! Kubernetes has these rules for several clouds. It does not apply them to Azure's PersistentVolumes:
//! their affinity passes unchanged. They are here for tools, and [`disk`] holds the better rule.

pub mod allowed;
pub mod disk;
mod terms;

use std::collections::BTreeSet;

use serde_json::{Value, json};

pub use terms::values_of as values;

use crate::error::TranslateError;
use crate::fields::{Node, child_mut};

/// The zone label and key since Kubernetes 1.17.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// The region label and key since Kubernetes 1.17.
pub const REGION: &str = "topology.kubernetes.io/region";
/// The zone label and key before that.
pub const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
/// The region label and key before that.
pub const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
/// Between the zones of a label that names several.
pub const SEPARATOR: &str = "__";

/// Whether a zone is a number, which is how a fault domain of a region without zones looks.
#[must_use]
pub fn is_number(zone: &str) -> bool {
    !zone.is_empty() && zone.bytes().all(|byte| byte.is_ascii_digit())
}

/// A copy whose affinity has the expressions of `old` under `new`. Nothing is merged.
///
/// # Errors
/// The affinity is not of its shape.
pub fn replaced(old: &str, new: &str, pv: &Value) -> Result<Value, TranslateError> {
    terms::of(pv)?;
    let mut copy = pv.clone();
    terms::for_each_expression(&mut copy, |expression| {
        if expression.get("key").and_then(Value::as_str) == Some(old) {
            expression.insert("key".to_owned(), json!(new));
        }
    });
    Ok(copy)
}

/// A copy whose every term demands that `key` is one of `zones`; one term is made if there is none.
///
/// # Errors
/// No zone is left once empty ones are dropped, or the affinity is not of its shape.
pub fn added(key: &str, zones: &[&str], pv: &Value) -> Result<Value, TranslateError> {
    terms::of(pv)?;
    let zones: BTreeSet<&str> = zones
        .iter()
        .map(|zone| zone.trim())
        .filter(|zone| !zone.is_empty())
        .collect();
    if zones.is_empty() {
        return Err(TranslateError::NoValidZones);
    }
    let mut copy = pv.clone();
    terms::demand(
        &mut copy,
        &json!({"key": key, "operator": "In", "values": zones}),
    );
    Ok(copy)
}

/// A copy whose affinity is in the driver's terms: the zone under `key`, from the affinity or else
/// from the zone label.
///
/// # Errors
/// The affinity is not of its shape.
pub fn to_csi(key: &str, pv: &Value) -> Result<Value, TranslateError> {
    let picked = Generation::of(pv)?;
    let mut out = if !terms::values_of(pv, picked.zone())?.is_empty() {
        replaced(picked.zone(), key, pv)?
    } else if let Some(label) = label(pv, picked.zone())? {
        let zones: Vec<&str> = label.split(SEPARATOR).collect();
        match added(key, &zones, pv) {
            // A blank label says nothing.
            Err(TranslateError::NoValidZones) => pv.clone(),
            other => other?,
        }
    } else {
        pv.clone()
    };
    if picked == Generation::Beta && !terms::values_of(&out, BETA_REGION)?.is_empty() {
        out = replaced(BETA_REGION, REGION, &out)?;
    }
    Ok(out)
}

/// A copy whose affinity is in Kubernetes' terms again, with a zone label if there was none.
///
/// # Errors
/// The affinity is not of its shape.
pub fn from_csi(key: &str, pv: &Value) -> Result<Value, TranslateError> {
    let picked = Generation::of(pv)?;
    let mut out = replaced(key, picked.zone(), pv)?;
    let zones = terms::values_of(&out, picked.zone())?;
    if !zones.is_empty() && label(&out, picked.zone())?.is_none() {
        let labels = out
            .as_object_mut()
            .and_then(|pv| child_mut(pv, "metadata"))
            .and_then(|metadata| child_mut(metadata, "labels"));
        if let Some(labels) = labels {
            labels.insert(picked.zone().to_owned(), json!(zones.join(SEPARATOR)));
        }
    }
    Ok(out)
}

/// Which pair of keys an object uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generation {
    Stable,
    Beta,
}

impl Generation {
    /// The first sign decides: affinity before labels, new before old.
    fn of(pv: &Value) -> Result<Self, TranslateError> {
        for generation in [Self::Stable, Self::Beta] {
            if !terms::values_of(pv, generation.zone())?.is_empty() {
                return Ok(generation);
            }
        }
        let stable = label(pv, ZONE)?.is_some();
        let beta = label(pv, BETA_ZONE)?.is_some();
        Ok(if beta && !stable {
            Self::Beta
        } else {
            Self::Stable
        })
    }

    const fn zone(self) -> &'static str {
        match self {
            Self::Stable => ZONE,
            Self::Beta => BETA_ZONE,
        }
    }
}

fn label<'a>(pv: &'a Value, key: &str) -> Result<Option<&'a str>, TranslateError> {
    let labels = Node::document(pv, "pv")?
        .child("metadata")?
        .child("labels")?;
    labels.text(key)
}

#[cfg(test)]
mod tests;
