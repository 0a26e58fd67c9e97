//! What of a disk changes under a VolumeAttributesClass: a pure decision.

use azcsi_cloud::{Disk, DiskUpdate, DiskUpdateProperties};
use azcsi_types::params::BadParam;
use azcsi_types::sku::DiskSku;

use crate::model::params::MutableParams;
use crate::model::performance::Performance;
use crate::model::performance::{self, Provisioned};
use crate::model::tags;

/// Why nothing is changed. Either way the class can never be applied to this disk.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Infeasible {
    /// A parameter does not fit the SKU.
    #[error(transparent)]
    Parameter(#[from] BadParam),
    /// A value is out of range.
    #[error(transparent)]
    Range(#[from] performance::Impossible),
    /// Azure knows no such conversion.
    #[error("a {from} disk cannot become {to}: copy it through a snapshot instead")]
    Conversion {
        /// What it is.
        from: DiskSku,
        /// What it should become.
        to: DiskSku,
    },
    /// Too many machines for the size.
    #[error("maxShares is {wish}: a {sku} disk of this size allows {most}")]
    Shares {
        /// What was asked.
        wish: u8,
        /// The SKU.
        sku: DiskSku,
        /// What is possible.
        most: u8,
    },
}

/// Decides; `None` if everything is as asked already.
///
/// # Errors
/// If it can never be done.
pub fn plan(disk: &Disk, wish: &MutableParams) -> Result<Option<DiskUpdate>, Infeasible> {
    let is = disk.sku();
    let sku = wish.sku.or(is).unwrap_or(DiskSku::StandardSsdLrs);
    check(disk, wish, is, sku)?;
    let own = &disk.properties;
    let changed = |wish: Option<u64>, is: Option<u64>| wish.filter(|wish| is != Some(*wish));
    let word = |wish: Option<&str>, is: &Option<String>| {
        let same = |wish: &str| {
            is.as_deref()
                .is_some_and(|is| is.eq_ignore_ascii_case(wish))
        };
        wish.filter(|wish| !same(wish)).map(str::to_owned)
    };
    let shares = wish.shares.map(|shares| u32::from(shares.get()));
    let properties = DiskUpdateProperties {
        disk_size_gb: None,
        disk_iops_read_write: changed(wish.iops, own.disk_iops_read_write),
        disk_mbps_read_write: changed(wish.mbps, own.disk_mbps_read_write),
        tier: word(wish.tier.as_deref(), &own.tier),
        max_shares: shares.filter(|shares| *shares != disk.max_shares()),
        bursting_enabled: wish
            .bursting
            .filter(|wish| own.bursting_enabled.unwrap_or(false) != *wish),
        network_access_policy: word(wish.policy, &own.network_access_policy),
        public_network_access: word(wish.public, &own.public_network_access),
        disk_access_id: wish
            .access
            .clone()
            .filter(|wish| own.disk_access_id.as_ref() != Some(wish)),
    };
    let update = DiskUpdate {
        sku: wish.sku.filter(|wish| is != Some(*wish)).map(Into::into),
        tags: new_tags(disk, &wish.tags),
        properties,
    };
    Ok((update != DiskUpdate::default()).then_some(update))
}

fn check(
    disk: &Disk,
    wish: &MutableParams,
    is: Option<DiskSku>,
    sku: DiskSku,
) -> Result<(), Infeasible> {
    if let (Some(from), Some(to)) = (is, wish.sku)
        && !converts(from, to)
    {
        return Err(Infeasible::Conversion { from, to });
    }
    performance::check_kind(
        sku,
        &Performance {
            iops: wish.iops,
            mbps: wish.mbps,
            bursting: wish.bursting,
            tier: wish.tier.clone(),
            ..Performance::default()
        },
    )?;
    let own = &disk.properties;
    let size = disk.size().unwrap_or_default();
    if wish.iops.is_some() || wish.mbps.is_some() {
        // A value that stays is judged together with the one that changes.
        let values = Provisioned {
            iops: wish
                .iops
                .or(own.disk_iops_read_write.filter(|_| is == Some(sku))),
            mbps: wish.mbps,
        };
        performance::check(sku, size, values)?;
    }
    match wish.shares {
        Some(shares) if shares > sku.max_shares(size) => Err(Infeasible::Shares {
            wish: shares.get(),
            sku,
            most: sku.max_shares(size).get(),
        }),
        _ => Ok(()),
    }
}

/// Which SKUs Azure converts into each other in place.
fn converts(from: DiskSku, to: DiskSku) -> bool {
    use DiskSku::{PremiumLrs, PremiumV2Lrs, StandardLrs, StandardSsdLrs};
    let plain = |sku| matches!(sku, PremiumLrs | StandardLrs | StandardSsdLrs);
    from == to
        || (plain(from) && (plain(to) || to == PremiumV2Lrs))
        || (from.is_zone_redundant() && to.is_zone_redundant())
}

fn new_tags(disk: &Disk, wish: &tags::Tags) -> Option<tags::Tags> {
    let same = |(key, value): (&String, &String)| tags::find(&disk.tags, key) == Some(value);
    if wish.iter().all(same) {
        return None;
    }
    // The update replaces all tags, so the others go along.
    let mut all = disk.tags.clone();
    for (key, value) in wish {
        all.retain(|there, _| !there.eq_ignore_ascii_case(key));
        all.insert(key.clone(), value.clone());
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::{Infeasible, plan};
    use crate::model::params::MutableParams;
    use azcsi_cloud::Disk;

    fn disk(sku: &str, rest: &str) -> Disk {
        let id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d";
        serde_json::from_str(&format!(
            r#"{{"id":"{id}","sku":{{"name":"{sku}"}},"tags":{{"a":"b"}},"properties":{{"diskSizeGB":64{rest}}}}}"#
        ))
        .unwrap()
    }

    fn wish(pairs: &[(&str, &str)]) -> MutableParams {
        let pairs = pairs
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()));
        MutableParams::parse(pairs.collect()).unwrap()
    }

    #[test]
    fn what_is_so_already_is_not_sent() {
        let v2 = disk(
            "PremiumV2_LRS",
            r#","diskIOPSReadWrite":4000,"diskMBpsReadWrite":200"#,
        );
        for pairs in [
            &[][..],
            &[("skuName", "PremiumV2_LRS")],
            &[("diskIOPSReadWrite", "4000"), ("diskMBpsReadWrite", "200")],
            &[("tags", "A=b")],
        ] {
            assert_eq!(plan(&v2, &wish(pairs)), Ok(None), "{pairs:?}");
        }
    }

    #[test]
    fn only_what_changes_is_sent() {
        let v2 = disk(
            "PremiumV2_LRS",
            r#","diskIOPSReadWrite":4000,"diskMBpsReadWrite":200"#,
        );
        let change = wish(&[("diskIOPSReadWrite", "5000"), ("tags", "c=d")]);
        let update = plan(&v2, &change).unwrap().unwrap();
        assert_eq!(update.properties.disk_iops_read_write, Some(5000));
        assert_eq!(update.properties.disk_mbps_read_write, None);
        assert_eq!(update.sku, None);
        assert_eq!(update.tags.unwrap().len(), 2);
        let premium = disk("Premium_LRS", "");
        let update = plan(&premium, &wish(&[("skuName", "StandardSSD_LRS")]))
            .unwrap()
            .unwrap();
        assert_eq!(update.sku.unwrap().name, "StandardSSD_LRS");
    }

    #[test]
    fn what_can_never_be_is_refused() {
        let converts =
            |from: &str, to: &str| plan(&disk(from, ""), &wish(&[("skuName", to)])).is_ok();
        assert!(converts("Premium_LRS", "PremiumV2_LRS"));
        assert!(converts("Premium_ZRS", "StandardSSD_ZRS"));
        for (from, to) in [
            ("PremiumV2_LRS", "Premium_LRS"),
            ("UltraSSD_LRS", "Premium_LRS"),
            ("Premium_LRS", "UltraSSD_LRS"),
            ("Premium_LRS", "Premium_ZRS"),
        ] {
            assert!(!converts(from, to), "{from} {to}");
        }
        let premium = disk("Premium_LRS", "");
        let got = plan(&premium, &wish(&[("diskIOPSReadWrite", "500")]));
        assert!(matches!(got, Err(Infeasible::Parameter(_))));
        let v2 = disk("PremiumV2_LRS", "");
        let got = plan(&v2, &wish(&[("diskIOPSReadWrite", "90000")]));
        assert!(matches!(got, Err(Infeasible::Range(_))));
        let got = plan(&premium, &wish(&[("maxShares", "5")]));
        assert!(matches!(got, Err(Infeasible::Shares { most: 3, .. })));
    }
}
