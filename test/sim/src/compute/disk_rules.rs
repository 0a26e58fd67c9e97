//! What a disk may be: name, size, sharing and performance.

use crate::compute::skus;
use crate::error::ArmError;
use crate::world::Disk;

/// Names of disks and snapshots.
pub(crate) fn name(name: &str) -> Result<(), ArmError> {
    let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let first = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let last = name.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if first && last && name.len() <= 80 && name.chars().all(valid) {
        return Ok(());
    }
    let message = format!(
        "The entity name '{name}' is invalid according to its validation rule: ^[^_\\W][\\w-._]{{0,79}}(?<![-.])$."
    );
    Err(ArmError::parameter("name", message))
}

/// The size fits the SKU.
pub(crate) fn size(sku: &str, gib: u64) -> Result<(), ArmError> {
    let largest = skus::largest(sku);
    let smallest = if sku == "UltraSSD_LRS" { 4 } else { 1 };
    let stepped =
        sku != "UltraSSD_LRS" || (gib <= 1024 && gib.is_power_of_two()) || gib.is_multiple_of(1024);
    if (smallest..=largest).contains(&gib) && stepped {
        return Ok(());
    }
    let message = format!(
        "The value {gib} of parameter diskSizeGB is out of range. Value must be between '{smallest}' and '{largest}' for a disk of type {sku}."
    );
    Err(ArmError::parameter("diskSizeGB", message))
}

/// The performance that a SKU has by itself.
pub(crate) fn base_performance(sku: &str, gib: u64) -> (u64, u64) {
    match sku {
        "PremiumV2_LRS" => (3000, 125),
        "UltraSSD_LRS" => {
            let iops = (gib * 2).clamp(500, 160_000).min(gib * 1000);
            (iops, (iops / 128).clamp(4, 2000).min(iops / 4))
        }
        _ => skus::tier_of(sku, gib).map_or((0, 0), |tier| (tier.iops, tier.mbps)),
    }
}

/// The whole disk is one that Azure would make.
pub(crate) fn whole(disk: &Disk) -> Result<(), ArmError> {
    size(&disk.sku, disk.gib)?;
    shares(disk)?;
    performance(disk)?;
    tier(disk)?;
    let property = |name: &str| disk.more.get(name).and_then(serde_json::Value::as_str);
    let private = property("networkAccessPolicy") == Some("AllowPrivate");
    if private != property("diskAccessId").is_some() {
        return Err(ArmError::parameter(
            "diskAccessId",
            "diskAccessId must be given when networkAccessPolicy is AllowPrivate, and only then.",
        ));
    }
    bursting(disk)
}

fn shares(disk: &Disk) -> Result<(), ArmError> {
    let most = skus::tier_of(&disk.sku, disk.gib).map_or(1, |tier| tier.max_shares);
    if (1..=most).contains(&disk.max_shares) {
        return Ok(());
    }
    let message = format!(
        "The value {} of parameter maxShares is out of range. The maximum value of maxShares for a disk of type {} and size {} GiB is {most}.",
        disk.max_shares, disk.sku, disk.gib
    );
    Err(ArmError::parameter("maxShares", message))
}

fn bursting(disk: &Disk) -> Result<(), ArmError> {
    let on = disk.more.get("burstingEnabled") == Some(&serde_json::Value::Bool(true));
    let fits = disk.sku.starts_with("Premium_") && disk.gib > 512 && disk.max_shares == 1;
    if !on || fits {
        return Ok(());
    }
    Err(ArmError::parameter(
        "burstingEnabled",
        "burstingEnabled can be set only on Premium SSD disks larger than 512 GiB that are not shared.",
    ))
}

fn tier(disk: &Disk) -> Result<(), ArmError> {
    let Some(wanted) = &disk.tier else {
        return Ok(());
    };
    let own = skus::tier_of(&disk.sku, disk.gib);
    let named = skus::tier_named(&disk.sku, wanted);
    let fits = disk.sku.starts_with("Premium_")
        && named
            .zip(own)
            .is_some_and(|(named, own)| named.max_gib >= own.max_gib);
    if fits {
        return Ok(());
    }
    let message = format!(
        "The performance tier '{wanted}' is not allowed for a disk of type {} and size {} GiB.",
        disk.sku, disk.gib
    );
    Err(ArmError::parameter("tier", message))
}

fn performance(disk: &Disk) -> Result<(), ArmError> {
    if !skus::is_flexible(&disk.sku) {
        return Ok(());
    }
    let (iops, mbps) = if disk.sku == "UltraSSD_LRS" {
        let iops = (100.min(disk.gib * 1000), (disk.gib * 1000).min(400_000));
        (iops, (1, (disk.iops / 4).min(10_000)))
    } else {
        let most = if disk.gib <= 6 {
            3000
        } else {
            (disk.gib * 500).min(80_000)
        };
        (
            (3000, most.max(3000)),
            (125, (disk.iops / 4).clamp(125, 2000)),
        )
    };
    within("diskIOPSReadWrite", disk.iops, iops)?;
    within("diskMBpsReadWrite", disk.mbps, mbps)
}

fn within(name: &str, value: u64, (least, most): (u64, u64)) -> Result<(), ArmError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let message = format!(
        "The value {value} of parameter {name} is out of range. Value must be between '{least}' and '{most}'."
    );
    Err(ArmError::parameter(name, message))
}

/// Whether a disk may grow from its size to another one now.
pub(crate) fn resize(disk: &Disk, gib: u64, copying: Option<f64>) -> Result<(), ArmError> {
    if gib < disk.gib {
        return Err(ArmError::conflict(
            "OperationNotAllowed",
            "Disk size reduction is not supported. Current disk size is larger than the requested one.",
        )
        .target("diskSizeGB"));
    }
    if gib == disk.gib {
        return Ok(());
    }
    if copying.is_some_and(|percent| percent < 100.0) {
        return Err(ArmError::conflict(
            "OperationNotAllowed",
            "The disk cannot be resized while its background copy is in progress.",
        ));
    }
    if disk.owners.is_empty() {
        return Ok(());
    }
    if disk.max_shares > 1 {
        return Err(ArmError::conflict(
            "OperationNotAllowed",
            "Cannot resize a shared disk while it is attached to running VMs.",
        ));
    }
    if !skus::is_flexible(&disk.sku) && disk.gib <= 4095 && gib > 4095 {
        return Err(ArmError::conflict(
            "OperationNotAllowed",
            "Disks cannot be resized beyond 4095 GiB when attached to a VM.",
        ));
    }
    Ok(())
}
