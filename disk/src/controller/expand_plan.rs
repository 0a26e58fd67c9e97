//! Whether and how a disk grows: a pure decision.

use azcsi_cloud::{Disk, DiskState};
use azcsi_types::size::{Bytes, CapacityRange, GiB, OutOfRange};
use azcsi_types::sku::DiskSku;

/// Up to here, other disks than Ultra and Premium v2 grow while attached.
const ONLINE_UP_TO: GiB = GiB::new(4095);

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpandPlan {
    /// It is large enough; its real size.
    Enough(Bytes),
    /// It grows to this size.
    Grow(GiB),
}

/// Why it cannot grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoGrowth {
    /// No size fits.
    Size(OutOfRange),
    /// The disk is in a state in which it cannot grow.
    State(String),
}

/// Whether disks that are in use may grow at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Online {
    /// Yes, as far as Azure allows.
    Allowed,
    /// No.
    Off,
}

/// Decides.
///
/// # Errors
/// If no size fits or the disk's state forbids it.
pub fn plan(disk: &Disk, range: CapacityRange, online: Online) -> Result<ExpandPlan, NoGrowth> {
    let now = disk.size().unwrap_or_default();
    let required = range.required().unwrap_or_default();
    if now.bytes() >= required {
        if let Some(limit) = range.limit().filter(|limit| now.bytes() > *limit) {
            return Err(NoGrowth::State(format!(
                "the volume has {now} already, more than limit_bytes {limit}: a disk never shrinks"
            )));
        }
        return Ok(ExpandPlan::Enough(now.bytes()));
    }
    let most = disk.sku().map_or(GiB::new(65536), DiskSku::most);
    let size = range.pick(now, most, now).map_err(NoGrowth::Size)?;
    check_state(disk, size, online)?;
    Ok(ExpandPlan::Grow(size))
}

fn check_state(disk: &Disk, size: GiB, online: Online) -> Result<(), NoGrowth> {
    let busy = matches!(disk.properties.disk_state, Some(DiskState::Attached));
    if !busy {
        return Ok(());
    }
    let refuse = |text: &str| Err(NoGrowth::State(text.to_owned()));
    if online == Online::Off {
        return refuse("the volume is in use and growing volumes in use is switched off");
    }
    if disk.max_shares() > 1 {
        return refuse("a shared disk grows only while no machine holds it");
    }
    let copying = disk
        .properties
        .completion_percent
        .is_some_and(|percent| percent < 100.0);
    if copying {
        return refuse("the disk is still being copied; it can grow when that has ended");
    }
    let unlimited = disk.sku().is_some_and(DiskSku::has_provisioned_performance);
    let now = disk.size().unwrap_or_default();
    if !unlimited && now <= ONLINE_UP_TO && size > ONLINE_UP_TO {
        return refuse("a disk in use grows to 4095 GiB at the most; stop its pods to go beyond");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ExpandPlan, NoGrowth, Online, plan};
    use azcsi_cloud::Disk;
    use azcsi_types::size::{CapacityRange, GiB};

    fn disk(sku: &str, gib: u32, rest: &str) -> Disk {
        let id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d";
        serde_json::from_str(&format!(
            r#"{{"id":"{id}","sku":{{"name":"{sku}"}},"properties":{{"diskSizeGB":{gib}{rest}}}}}"#
        ))
        .unwrap()
    }

    fn range(required: i64, limit: i64) -> CapacityRange {
        CapacityRange::from_wire(required << 30, limit << 30).unwrap()
    }

    const ATTACHED: &str = r#","diskState":"Attached""#;

    #[test]
    fn a_disk_grows_to_what_is_asked_and_never_shrinks() {
        let ten = disk("Premium_LRS", 10, ATTACHED);
        let got = |required, limit| plan(&ten, range(required, limit), Online::Allowed);
        assert_eq!(got(11, 0), Ok(ExpandPlan::Grow(GiB::new(11))));
        assert_eq!(got(5, 0), Ok(ExpandPlan::Enough(GiB::new(10).bytes())));
        assert_eq!(got(10, 10), Ok(ExpandPlan::Enough(GiB::new(10).bytes())));
        assert!(matches!(got(5, 8), Err(NoGrowth::State(_))));
        assert!(matches!(got(40_000, 0), Err(NoGrowth::Size(_))));
    }

    #[test]
    fn a_disk_in_use_has_more_rules() {
        let grow = |disk: &Disk, to, online| plan(disk, range(to, 0), online).is_ok();
        let free = disk("Premium_LRS", 10, r#","diskState":"Unattached""#);
        let used = disk("Premium_LRS", 10, ATTACHED);
        assert!(grow(&free, 20, Online::Off) && grow(&free, 8000, Online::Off));
        assert!(!grow(&used, 20, Online::Off) && grow(&used, 20, Online::Allowed));
        assert!(!grow(&used, 4096, Online::Allowed) && grow(&used, 4095, Online::Allowed));
        let large = disk("Premium_LRS", 5000, ATTACHED);
        assert!(grow(&large, 6000, Online::Allowed));
        let v2 = disk("PremiumV2_LRS", 10, ATTACHED);
        assert!(grow(&v2, 8000, Online::Allowed));
        let shared = disk("Premium_LRS", 10, &format!(r#"{ATTACHED},"maxShares":2"#));
        assert!(!grow(&shared, 20, Online::Allowed));
        let copying = disk(
            "PremiumV2_LRS",
            10,
            &format!(r#"{ATTACHED},"completionPercent":5"#),
        );
        assert!(!grow(&copying, 20, Online::Allowed));
    }
}
