//! What is wrong with a disk, seen from Azure: pure decisions.

use azcsi_cloud::DiskState;
use azcsi_proto::csi::v1;

use super::brief::Brief;

/// How bad it is (CSI, `VolumeHealthErrorType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Usable, but not at its best.
    Degraded,
    /// Out of reach.
    Inaccessible,
}

/// One condition. Reasons never change: people and programs match on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// How bad.
    pub severity: Severity,
    /// Stable word.
    pub reason: &'static str,
    /// What it is and what helps.
    pub message: String,
}

/// Whether a node of the cluster runs on the machine that holds the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holders {
    /// Every holder runs a node, or nothing holds it.
    Known,
    /// At least one does not.
    Foreign,
}

/// The conditions of a disk; none if it is healthy. At most one for each severity, because
/// Kubernetes merges conditions of the same severity.
#[must_use]
pub fn conditions(disk: &Brief, holders: Holders) -> Vec<Condition> {
    let mut found: Vec<Condition> = Vec::new();
    let all = [inaccessible(disk, holders), degraded(disk)];
    found.extend(all.into_iter().flatten());
    found
}

fn inaccessible(disk: &Brief, holders: Holders) -> Option<Condition> {
    let state = disk.state.as_ref();
    let (reason, message) = if holders == Holders::Foreign {
        (
            "HeldByForeignMachine",
            format!(
                "the disk is attached to {}, which is no node of this cluster: detach it there",
                disk.holders
                    .first()
                    .map_or_else(String::new, ToString::to_string)
            ),
        )
    } else if matches!(
        state,
        Some(DiskState::ActiveSas | DiskState::ActiveSasFrozen)
    ) {
        (
            "AccessGranted",
            "a shared access signature is outstanding, so the disk cannot be attached: revoke it"
                .to_owned(),
        )
    } else if matches!(
        state,
        Some(DiskState::ReadyToUpload | DiskState::ActiveUpload)
    ) {
        (
            "UploadRunning",
            "the disk waits for the end of an upload and cannot be attached".to_owned(),
        )
    } else {
        return None;
    };
    Some(Condition {
        severity: Severity::Inaccessible,
        reason,
        message,
    })
}

fn degraded(disk: &Brief) -> Option<Condition> {
    let (reason, message) = if disk.is_failed {
        (
            "ProvisioningFailed",
            "the last change of the disk failed: see the activity log of the resource".to_owned(),
        )
    } else if let Some(percent) = disk.filled.filter(|percent| *percent < 100.0) {
        (
            "BackgroundCopy",
            format!("the disk is still being filled ({percent:.0} %); reads may be slow"),
        )
    } else {
        return None;
    };
    Some(Condition {
        severity: Severity::Degraded,
        reason,
        message,
    })
}

/// Writes the health of a disk.
#[must_use]
pub fn to_wire(disk: &Brief, conditions: Vec<Condition>) -> v1::VolumeHealth {
    let entry = |condition: Condition| v1::volume_health::VolumeHealthEntry {
        status: match condition.severity {
            Severity::Degraded => v1::VolumeHealthErrorType::Degraded,
            Severity::Inaccessible => v1::VolumeHealthErrorType::Inaccessible,
        }
        .into(),
        reason: condition.reason.to_owned(),
        message: condition.message,
    };
    v1::VolumeHealth {
        volume_id: disk.id.to_string(),
        health_statuses: conditions.into_iter().map(entry).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Brief, Holders, conditions};
    use azcsi_cloud::Disk;

    fn disk(properties: &str) -> Brief {
        let id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d";
        let text = format!(r#"{{"id":"{id}","properties":{{{properties}}}}}"#);
        serde_json::from_str::<Disk>(&text).unwrap().into()
    }

    #[test]
    fn each_condition_has_its_reason() {
        for (properties, holders, reasons) in [
            ("", Holders::Known, &[][..]),
            (
                r#""diskState":"Attached","provisioningState":"Succeeded""#,
                Holders::Known,
                &[],
            ),
            (r#""completionPercent":100"#, Holders::Known, &[]),
            (
                r#""diskState":"ActiveSAS""#,
                Holders::Known,
                &["AccessGranted"],
            ),
            (
                r#""diskState":"ActiveUpload""#,
                Holders::Known,
                &["UploadRunning"],
            ),
            (
                r#""provisioningState":"Failed""#,
                Holders::Known,
                &["ProvisioningFailed"],
            ),
            (
                r#""completionPercent":5"#,
                Holders::Foreign,
                &["HeldByForeignMachine", "BackgroundCopy"],
            ),
        ] {
            let found = conditions(&disk(properties), holders);
            let found: Vec<_> = found.iter().map(|condition| condition.reason).collect();
            assert_eq!(found, reasons, "{properties}");
        }
    }

    #[test]
    fn no_severity_is_reported_twice() {
        let all =
            disk(r#""diskState":"ActiveSAS","provisioningState":"Failed","completionPercent":5"#);
        let found = conditions(&all, Holders::Foreign);
        assert_eq!(found.len(), 2);
        assert_ne!(found[0].severity, found[1].severity);
    }
}
