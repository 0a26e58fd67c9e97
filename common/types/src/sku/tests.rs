//! Tests of `sku`.

use super::{Caching, DiskSku};
use crate::access::MaxShares;
use crate::size::GiB;

#[test]
fn names_round_trip_whatever_the_case() {
    for sku in DiskSku::ALL {
        assert_eq!(sku.to_string().to_lowercase().parse::<DiskSku>(), Ok(sku));
        assert!(DiskSku::NAMES.contains(sku.as_str()));
    }
    for (word, caching) in Caching::WORDS {
        assert_eq!(word.to_uppercase().parse(), Ok(caching));
        assert_eq!(caching.as_str(), word);
    }
    let error = "Premium".parse::<DiskSku>().unwrap_err().to_string();
    assert!(error.starts_with("'Premium' is not a disk SKU: expected one of Standard_LRS,"));
}

#[test]
fn caching_is_none_where_the_platform_forbids_it() {
    let size = GiB::new(100);
    let two = MaxShares::new(2).unwrap();
    let on = |sku, size, shares| Caching::ReadOnly.on(sku, size, shares);
    assert_eq!(
        on(DiskSku::PremiumLrs, size, MaxShares::ONE),
        Caching::ReadOnly
    );
    assert_eq!(
        on(DiskSku::PremiumLrs, GiB::new(4095), MaxShares::ONE),
        Caching::ReadOnly
    );
    assert_eq!(
        on(DiskSku::PremiumLrs, GiB::new(4096), MaxShares::ONE),
        Caching::None
    );
    assert_eq!(on(DiskSku::PremiumLrs, size, two), Caching::None);
    assert_eq!(
        on(DiskSku::PremiumV2Lrs, size, MaxShares::ONE),
        Caching::None
    );
    assert_eq!(
        on(DiskSku::UltraSsdLrs, size, MaxShares::ONE),
        Caching::None
    );
}

#[test]
fn sharing_grows_with_the_size() {
    let shares = |sku: DiskSku, gib| sku.max_shares(GiB::new(gib)).get();
    assert_eq!(
        [512, 513, 4096, 4097].map(|gib| shares(DiskSku::PremiumLrs, gib)),
        [3, 5, 5, 10]
    );
    assert_eq!(
        [256, 512, 513].map(|gib| shares(DiskSku::StandardLrs, gib)),
        [1, 2, 5]
    );
    assert_eq!(shares(DiskSku::UltraSsdLrs, 4), 15);
}
