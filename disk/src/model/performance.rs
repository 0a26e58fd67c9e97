//! Provisioned IOPS and throughput: defaults and ranges (disk-type pages of the public reference).

use azcsi_types::params::BadParam;
use azcsi_types::size::GiB;
use azcsi_types::sku::DiskSku;

/// What decides how fast a disk is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Performance {
    /// Provisioned IOPS.
    pub iops: Option<u64>,
    /// Provisioned throughput, MB/s.
    pub mbps: Option<u64>,
    /// 512 or 4096 bytes.
    pub sector_size: Option<u32>,
    /// On-demand bursting.
    pub bursting: Option<bool>,
    /// Performance plus.
    pub plus: Option<bool>,
    /// Performance tier.
    pub tier: Option<String>,
}

/// What is sent for a new disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Provisioned {
    /// IOPS.
    pub iops: Option<u64>,
    /// MB/s.
    pub mbps: Option<u64>,
}

/// A value that no disk of this size can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {value}: a {sku} disk of {size} allows {least} to {most}")]
pub struct Impossible {
    key: &'static str,
    value: u64,
    sku: DiskSku,
    size: GiB,
    least: u64,
    most: u64,
}

/// Refuses what a kind of disk does not know at all.
///
/// # Errors
/// The first parameter that does not fit the SKU.
pub fn check_kind(sku: DiskSku, wish: &Performance) -> Result<(), BadParam> {
    let bought = sku.has_provisioned_performance();
    for (key, there) in [
        ("DiskIOPSReadWrite", wish.iops.is_some()),
        ("DiskMBpsReadWrite", wish.mbps.is_some()),
        ("logicalSectorSize", wish.sector_size.is_some()),
    ] {
        if there && !bought {
            let problem = format!("needs skuName UltraSSD_LRS or PremiumV2_LRS, not {sku}");
            return Err(BadParam::conflict(key, problem));
        }
    }
    let premium = matches!(sku, DiskSku::PremiumLrs | DiskSku::PremiumZrs);
    if wish.tier.is_some() && !premium {
        return Err(BadParam::conflict(
            "tier",
            format!("needs Premium_LRS or Premium_ZRS, not {sku}"),
        ));
    }
    if wish.bursting == Some(true) && !premium {
        let problem = format!("needs Premium_LRS or Premium_ZRS, not {sku}");
        return Err(BadParam::conflict("enableBursting", problem));
    }
    if wish.plus == Some(true) && bought {
        let problem = format!("is for Premium and Standard disks, not {sku}");
        return Err(BadParam::conflict("enablePerformancePlus", problem));
    }
    Ok(())
}

/// What to provision for a new disk.
///
/// # Errors
/// If a wish is out of range.
pub fn provision(sku: DiskSku, size: GiB, wish: &Performance) -> Result<Provisioned, Impossible> {
    let mut values = Provisioned {
        iops: wish.iops,
        mbps: wish.mbps,
    };
    if sku == DiskSku::UltraSsdLrs {
        values = ultra(size, values);
    }
    check(sku, size, values)?;
    Ok(values)
}

/// The defaults of an Ultra disk; those that every volume of this driver ever got.
fn ultra(size: GiB, wish: Provisioned) -> Provisioned {
    if wish.iops.is_some() || wish.mbps.is_some() {
        return Provisioned {
            iops: wish.iops.or(Some(500)),
            mbps: wish.mbps.or(Some(100)),
        };
    }
    let iops = u64::from(size.get()).clamp(500, 160_000);
    let mut mbps = 100;
    if iops / 256 > mbps {
        mbps = iops.div_ceil(256).min(iops.div_ceil(4)).min(4000);
    }
    Provisioned {
        iops: Some(iops),
        mbps: Some(mbps),
    }
}

/// Checks values against the ranges of a disk.
///
/// # Errors
/// The first value that is out of range.
pub fn check(sku: DiskSku, size: GiB, values: Provisioned) -> Result<(), Impossible> {
    let gib = u64::from(size.get());
    let (iops_range, mbps_most, baseline) = match sku {
        DiskSku::UltraSsdLrs => ((100, (gib * 1000).min(400_000)), 10_000, 0),
        DiskSku::PremiumV2Lrs => ((3000, (gib * 500).clamp(3000, 80_000)), 2000, 125),
        _ => return Ok(()),
    };
    let refuse = |key, value, least, most| Impossible {
        key,
        value,
        sku,
        size,
        least,
        most,
    };
    if let Some(iops) = values.iops {
        let (least, most) = iops_range;
        if iops < least || iops > most {
            return Err(refuse("DiskIOPSReadWrite", iops, least, most));
        }
    }
    if let Some(mbps) = values.mbps {
        // A quarter MB/s for each of the IOPS; unknown IOPS are judged by Azure.
        let quarter = values.iops.map_or(mbps_most, |iops| iops / 4).max(baseline);
        let (least, most) = (baseline.max(1), quarter.min(mbps_most));
        if mbps < least || mbps > most {
            return Err(refuse("DiskMBpsReadWrite", mbps, least, most));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Performance, Provisioned, check, check_kind, provision};
    use azcsi_types::size::GiB;
    use azcsi_types::sku::DiskSku;

    fn wish(iops: Option<u64>, mbps: Option<u64>) -> Performance {
        Performance {
            iops,
            mbps,
            ..Performance::default()
        }
    }

    #[test]
    fn ultra_disks_get_the_usual_defaults() {
        for (gib, iops, mbps) in [(4, 500, 100), (1024, 1024, 100), (65536, 65536, 256)] {
            let got = provision(DiskSku::UltraSsdLrs, GiB::new(gib), &wish(None, None)).unwrap();
            assert_eq!((got.iops, got.mbps), (Some(iops), Some(mbps)), "{gib}");
        }
        let one = provision(DiskSku::UltraSsdLrs, GiB::new(8), &wish(Some(600), None)).unwrap();
        assert_eq!(one.mbps, Some(100));
    }

    #[test]
    fn other_disks_get_nothing_unless_asked() {
        for sku in [DiskSku::PremiumLrs, DiskSku::PremiumV2Lrs] {
            let got = provision(sku, GiB::new(8), &wish(None, None)).unwrap();
            assert_eq!(got, Provisioned::default());
        }
    }

    #[test]
    fn ranges_are_those_of_the_reference_pr_10() {
        for (sku, gib, iops, mbps, fits) in [
            (DiskSku::UltraSsdLrs, 4, Some(99), None, false),
            (DiskSku::UltraSsdLrs, 4, Some(4000), Some(1000), true),
            (DiskSku::UltraSsdLrs, 4, Some(4001), None, false),
            (DiskSku::UltraSsdLrs, 1024, Some(400_001), None, false),
            (DiskSku::UltraSsdLrs, 4, Some(400), Some(101), false),
            (DiskSku::PremiumV2Lrs, 1, Some(3000), Some(125), true),
            (DiskSku::PremiumV2Lrs, 1, Some(2999), None, false),
            (DiskSku::PremiumV2Lrs, 6, Some(3001), None, false),
            (DiskSku::PremiumV2Lrs, 160, Some(80_000), Some(2000), true),
            (DiskSku::PremiumV2Lrs, 160, Some(80_000), Some(2001), false),
            (DiskSku::PremiumV2Lrs, 160, None, Some(124), false),
        ] {
            let values = Provisioned { iops, mbps };
            let got = check(sku, GiB::new(gib), values);
            assert_eq!(got.is_ok(), fits, "{sku} {gib} {values:?}");
        }
    }

    #[test]
    fn the_defaults_of_every_size_are_allowed_pr_10() {
        let sku = DiskSku::UltraSsdLrs;
        for gib in sku.least().get()..=sku.most().get() {
            let got = provision(sku, GiB::new(gib), &wish(None, None)).unwrap();
            assert!(check(sku, GiB::new(gib), got).is_ok(), "{gib}: {got:?}");
        }
    }

    #[test]
    fn what_a_kind_does_not_know_is_refused() {
        assert!(check_kind(DiskSku::PremiumLrs, &wish(Some(500), None)).is_err());
        assert!(check_kind(DiskSku::PremiumV2Lrs, &wish(Some(500), Some(1))).is_ok());
        let tier = Performance {
            tier: Some("P30".to_owned()),
            ..Performance::default()
        };
        assert!(check_kind(DiskSku::StandardSsdLrs, &tier).is_err());
        assert!(check_kind(DiskSku::PremiumZrs, &tier).is_ok());
    }
}
