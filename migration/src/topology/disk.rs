//! Where a disk is, in the disk driver's own terms.
//!
//! Kubernetes leaves the affinity of an in-tree disk as it is. That works only while nodes carry the
//! old labels: beta zone labels are gone from newer nodes, and an unzoned disk names three fault
//! domains that mean nothing to the driver. A permanent conversion therefore says it anew.

use serde_json::{Value, json};

use super::terms::{self, Expression};
use super::{BETA_REGION, BETA_ZONE, REGION, SEPARATOR, ZONE, is_number, label};
use crate::azure_disk::ZONE_KEY;
use crate::error::TranslateError;

/// A copy whose affinity uses the driver's zone key.
///
/// Zones `<region>-<n>` stay, in lower case, and make the region superfluous. Fault domains become
/// the empty zone, and then the region stays. Terms that become equal are one. Without any affinity
/// a zone label gives it. Keys of other kinds pass.
///
/// # Errors
/// [`TranslateError::TopologyUndecided`] when the zones are mixed, of another form, or not demanded
/// with `In`.
pub fn rewritten(pv: &Value) -> Result<Value, TranslateError> {
    let old = terms::of(pv)?;
    let mut new: Vec<Value> = Vec::new();
    for term in &old {
        let term = term_of(term)?;
        if !new.contains(&term) {
            new.push(term);
        }
    }
    if old.is_empty() {
        match from_labels(pv)? {
            Some(term) => new.push(term),
            None => return Ok(pv.clone()),
        }
    }
    let mut copy = pv.clone();
    terms::set(&mut copy, new)?;
    Ok(copy)
}

fn from_labels(pv: &Value) -> Result<Option<Value>, TranslateError> {
    let Some(zone) = label(pv, ZONE)?.or(label(pv, BETA_ZONE)?) else {
        return Ok(None);
    };
    let mut term = vec![Expression {
        key: ZONE,
        operator: "In",
        values: zone.split(SEPARATOR).collect(),
    }];
    if let Some(region) = label(pv, REGION)?.or(label(pv, BETA_REGION)?) {
        term.push(Expression {
            key: REGION,
            operator: "In",
            values: vec![region],
        });
    }
    term_of(&term).map(Some)
}

fn term_of(term: &[Expression<'_>]) -> Result<Value, TranslateError> {
    let mut zones: Option<Vec<String>> = None;
    for expression in term {
        if !matches!(expression.key, ZONE | BETA_ZONE | ZONE_KEY) {
            continue;
        }
        let found = zones_of(expression)?;
        if zones.as_ref().is_some_and(|before| *before != found) {
            return undecided("one term demands two different zones");
        }
        zones = Some(found);
    }
    let mut out: Vec<Value> = Vec::new();
    for expression in term {
        let made = match expression.key {
            ZONE | BETA_ZONE | ZONE_KEY => json!({
                "key": ZONE_KEY, "operator": "In", "values": zones,
            }),
            REGION | BETA_REGION if implied(expression, zones.as_deref()) => continue,
            BETA_REGION => written(REGION, expression),
            key => written(key, expression),
        };
        if !out.contains(&made) {
            out.push(made);
        }
    }
    Ok(json!({"matchExpressions": out}))
}

fn zones_of(expression: &Expression<'_>) -> Result<Vec<String>, TranslateError> {
    if expression.operator != "In" {
        return undecided("its zone is not demanded with In");
    }
    if expression
        .values
        .iter()
        .all(|zone| zone.is_empty() || is_number(zone))
    {
        return Ok(vec![String::new()]);
    }
    let mut zones: Vec<String> = Vec::new();
    for zone in &expression.values {
        let zone = zone.to_ascii_lowercase();
        let named = zone
            .rsplit_once('-')
            .is_some_and(|(region, number)| !region.is_empty() && is_number(number));
        if !named {
            return undecided(&format!("{zone:?} is not of the form <region>-<number>"));
        }
        if !zones.contains(&zone) {
            zones.push(zone);
        }
    }
    Ok(zones)
}

/// Whether the zones already say the region.
fn implied(region: &Expression<'_>, zones: Option<&[String]>) -> bool {
    let of_region = |zone: &String| {
        zone.rsplit_once('-').is_some_and(|(name, _)| {
            region
                .values
                .iter()
                .any(|region| region.eq_ignore_ascii_case(name))
        })
    };
    region.operator == "In" && zones.is_some_and(|zones| zones.iter().all(of_region))
}

fn written(key: &str, expression: &Expression<'_>) -> Value {
    let mut out = json!({"key": key, "operator": expression.operator});
    if let (false, Some(object)) = (expression.values.is_empty(), out.as_object_mut()) {
        object.insert("values".to_owned(), json!(expression.values));
    }
    out
}

fn undecided<T>(why: &str) -> Result<T, TranslateError> {
    Err(TranslateError::TopologyUndecided(why.to_owned()))
}

#[cfg(test)]
mod tests;
