//! In which zones a SKU is offered, from the catalogue of the region, read once a day.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use azcsi_cloud::{Azure, ResourceSku};
use azcsi_types::clock::Clock;
use azcsi_types::op::Op;
use azcsi_types::sku::DiskSku;
use azcsi_types::topology::Region;
use tokio::sync::Mutex;

use crate::model::topology::SkuZones;

const AGE: Duration = Duration::from_secs(24 * 3600);
/// How long a failed read is not repeated: the catalogue only helps to choose.
const PAUSE: Duration = Duration::from_secs(300);

/// The catalogue, by region.
#[derive(Debug)]
pub struct SkuFacts {
    azure: Azure,
    clock: Arc<dyn Clock>,
    regions: Mutex<HashMap<Region, Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    until: Duration,
    zones: Arc<HashMap<String, SkuZones>>,
}

impl SkuFacts {
    /// An empty catalogue.
    #[must_use]
    pub fn new(azure: Azure, clock: Arc<dyn Clock>) -> Self {
        Self {
            azure,
            clock,
            regions: Mutex::default(),
        }
    }

    /// The zones of a SKU; nothing if the catalogue cannot be read, so that Azure decides.
    pub async fn zones(&self, op: &Op, region: &Region, sku: DiskSku) -> SkuZones {
        // Held while reading: one read for all that wait for it.
        let mut regions = self.regions.lock().await;
        let now = self.clock.now();
        let entry = match regions.get(region) {
            Some(entry) if entry.until > now => entry.clone(),
            _ => {
                let entry = self.read(op, region).await;
                regions.insert(region.clone(), entry.clone());
                entry
            }
        };
        entry.zones.get(sku.as_str()).cloned().unwrap_or_default()
    }

    async fn read(&self, op: &Op, region: &Region) -> Entry {
        let now = self.clock.now();
        match self.azure.skus().list(op, region.as_str()).await {
            Ok(skus) => Entry {
                until: now + AGE,
                zones: Arc::new(zones(&skus, region)),
            },
            Err(error) => {
                tracing::warn!(%region, %error, "the SKU catalogue could not be read");
                Entry {
                    until: now + PAUSE,
                    zones: Arc::default(),
                }
            }
        }
    }
}

fn zones(skus: &[ResourceSku], region: &Region) -> HashMap<String, SkuZones> {
    let mut found: HashMap<String, SkuZones> = HashMap::new();
    let here = |name: &str| name.parse::<Region>().is_ok_and(|other| other == *region);
    for sku in skus
        .iter()
        .filter(|sku| sku.resource_type.eq_ignore_ascii_case("disks"))
    {
        let Ok(name) = sku.name.parse::<DiskSku>() else {
            continue;
        };
        let entry = found.entry(name.as_str().to_owned()).or_default();
        let places = sku
            .location_info
            .iter()
            .filter(|place| here(&place.location));
        add(&mut entry.offered, places.flat_map(|place| &place.zones));
        for restriction in &sku.restrictions {
            if restriction.kind.eq_ignore_ascii_case("Zone") {
                add(&mut entry.restricted, &restriction.restriction_info.zones);
            }
        }
    }
    found
}

fn add<'a>(numbers: &mut Vec<u8>, zones: impl IntoIterator<Item = &'a String>) {
    numbers.extend(zones.into_iter().filter_map(|zone| zone.parse::<u8>().ok()));
    numbers.sort_unstable();
    numbers.dedup();
}

#[cfg(test)]
mod tests {
    use super::zones;
    use azcsi_cloud::ResourceSku;
    use azcsi_cloud::compute::skus::{RestrictionInfo, SkuLocation, SkuRestriction};

    #[test]
    fn zones_are_gathered_over_the_sizes_of_a_sku() {
        let sku = |zones: &[&str], restricted: &[&str]| ResourceSku {
            resource_type: "disks".to_owned(),
            name: "Premium_LRS".to_owned(),
            location_info: vec![SkuLocation {
                location: "East US 2".to_owned(),
                zones: zones.iter().map(ToString::to_string).collect(),
                ..SkuLocation::default()
            }],
            restrictions: vec![SkuRestriction {
                kind: "Zone".to_owned(),
                restriction_info: RestrictionInfo {
                    zones: restricted.iter().map(ToString::to_string).collect(),
                    ..RestrictionInfo::default()
                },
                ..SkuRestriction::default()
            }],
            ..ResourceSku::default()
        };
        let found = zones(
            &[sku(&["2", "1"], &[]), sku(&["3", "1"], &["3"])],
            &"eastus2".parse().unwrap(),
        );
        assert_eq!(found["Premium_LRS"].offered, [1, 2, 3]);
        assert_eq!(found["Premium_LRS"].restricted, [3]);
        assert!(
            zones(&[sku(&["1"], &[])], &"westus".parse().unwrap())["Premium_LRS"]
                .offered
                .is_empty()
        );
    }
}
