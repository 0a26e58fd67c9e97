//! Whether a volume can be converted, and why not. Pure.

use azcsi_migration::handle::{DiskId, is_blob};
use azcsi_migration::persistent_volume::to_csi;
use azcsi_migration::{Mode, Plugin, TranslateError};
use serde_json::Value;

use crate::facts::Facts;
use crate::inventory::Inventory;
use crate::value::{is_going, strings, text};

/// The answer for one volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It can be converted now.
    Ready,
    /// It can be converted; its pods will be restarted.
    ReadyRestart,
    /// No claim: only the volume is converted.
    Unbound,
    /// It is a CSI volume.
    AlreadyCsi,
    /// An unmanaged disk.
    BlockedUnmanaged,
    /// The id cannot be expressed as a handle.
    BlockedId,
    /// The CSI driver refuses its access modes.
    BlockedAccessMode,
    /// Another volume stands for the same disk.
    BlockedSharedHandle,
    /// It is being deleted.
    BlockedTerminating,
    /// Its claim is lost.
    BlockedLost,
    /// Its claim is gone.
    BlockedReleased,
    /// The CSI driver is not everywhere.
    BlockedDriver,
    /// Its secret is missing or incomplete.
    BlockedSecret,
    /// Azure says something else about the disk.
    BlockedDisk,
    /// Its zone cannot be derived.
    ManualTopology,
    /// Its filesystem is not known.
    ManualFsType,
}

impl Verdict {
    /// The word in tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ready => "READY",
            Self::ReadyRestart => "READY-RESTART",
            Self::Unbound => "UNBOUND",
            Self::AlreadyCsi => "ALREADY-CSI",
            Self::BlockedUnmanaged => "BLOCKED-UNMANAGED",
            Self::BlockedId => "BLOCKED-ID",
            Self::BlockedAccessMode => "BLOCKED-ACCESSMODE",
            Self::BlockedSharedHandle => "BLOCKED-SHARED-HANDLE",
            Self::BlockedTerminating => "BLOCKED-TERMINATING",
            Self::BlockedLost => "BLOCKED-LOST",
            Self::BlockedReleased => "BLOCKED-RELEASED",
            Self::BlockedDriver => "BLOCKED-DRIVER",
            Self::BlockedSecret => "BLOCKED-SECRET",
            Self::BlockedDisk => "BLOCKED-DISK",
            Self::ManualTopology => "MANUAL-TOPOLOGY",
            Self::ManualFsType => "MANUAL-FSTYPE",
        }
    }

    /// Whether `plan` takes it.
    #[must_use]
    pub const fn is_convertible(self) -> bool {
        matches!(self, Self::Ready | Self::ReadyRestart | Self::Unbound)
    }
}

/// What an operator decided beforehand.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// The filesystem of volumes that do not say it.
    pub assume_fs_type: Option<String>,
    /// Cache mode ReadWrite becomes ReadOnly.
    pub tame_cache: bool,
}

/// The answer and its reason; `None` for a volume of neither plugin.
#[must_use]
pub fn of(
    inventory: &Inventory,
    facts: &Facts,
    wishes: &Wishes,
    volume: &Value,
) -> Option<(Verdict, String)> {
    let plugin = if volume.pointer("/spec/azureDisk").is_some() {
        Plugin::AzureDisk
    } else if volume.pointer("/spec/azureFile").is_some() {
        Plugin::AzureFile
    } else {
        let ours = Plugin::of_driver(text(volume, "/spec/csi/driver")).is_some();
        return ours.then(|| (Verdict::AlreadyCsi, String::new()));
    };
    let blocked = lifecycle(inventory, volume)
        .or_else(|| match plugin {
            Plugin::AzureDisk => disk(inventory, facts, wishes, volume),
            Plugin::AzureFile => file(inventory, volume),
        })
        .or_else(|| translation(volume))
        .or_else(|| driver(inventory, plugin));
    Some(blocked.unwrap_or_else(|| ready(inventory, volume)))
}

type Found = Option<(Verdict, String)>;

fn found(verdict: Verdict, why: impl Into<String>) -> Found {
    Some((verdict, why.into()))
}

fn lifecycle(inventory: &Inventory, volume: &Value) -> Found {
    if is_going(volume) {
        return found(Verdict::BlockedTerminating, "the volume is being deleted");
    }
    if text(volume, "/status/phase") == "Released" {
        return found(Verdict::BlockedReleased, "its claim is gone");
    }
    let claim = inventory.claim_of(volume)?;
    if is_going(&claim) {
        return found(Verdict::BlockedTerminating, "its claim is being deleted");
    }
    match text(&claim, "/status/phase") {
        "Lost" => found(Verdict::BlockedLost, "its claim is lost"),
        _ => None,
    }
}

fn disk(inventory: &Inventory, facts: &Facts, wishes: &Wishes, volume: &Value) -> Found {
    let source = |field: &str| text(volume, &format!("/spec/azureDisk/{field}"));
    let (uri, kind) = (source("diskURI"), source("kind"));
    if is_blob(uri) || (!kind.is_empty() && !kind.eq_ignore_ascii_case("managed")) {
        return found(
            Verdict::BlockedUnmanaged,
            "an unmanaged disk: convert it to a managed one first",
        );
    }
    if DiskId::parse(uri).is_err() {
        return found(Verdict::BlockedId, format!("{uri:?} is no disk id"));
    }
    if inventory.volumes_of(uri) > 1 {
        return found(
            Verdict::BlockedSharedHandle,
            "another volume has the same disk",
        );
    }
    if let Some(known) = facts.disk(uri) {
        let Some(known) = known else {
            return found(Verdict::BlockedDisk, "Azure does not list this disk");
        };
        let name = text(volume, "/metadata/name");
        if !known.managed_by.is_empty() && !inventory.attached.contains(name) {
            let by = &known.managed_by;
            return found(
                Verdict::BlockedDisk,
                format!("{by} has it, outside this cluster"),
            );
        }
    }
    let block = text(volume, "/spec/volumeMode") == "Block";
    let shared = facts.max_shares(uri) >= 2;
    let multi = strings(volume, "/spec/accessModes")
        .any(|mode| matches!(mode, "ReadWriteMany" | "ReadOnlyMany"));
    if multi && !(block && shared) {
        return found(
            Verdict::BlockedAccessMode,
            "several nodes at once: only a shared disk in block mode",
        );
    }
    if !block && source("fsType").is_empty() && wishes.assume_fs_type.is_none() {
        return found(
            Verdict::ManualFsType,
            "its filesystem is not recorded: look, then give --assume-fstype",
        );
    }
    None
}

fn file(inventory: &Inventory, volume: &Value) -> Found {
    let secret = text(volume, "/spec/azureFile/secretName");
    let place = match text(volume, "/spec/azureFile/secretNamespace") {
        "" => text(volume, "/spec/claimRef/namespace"),
        given => given,
    };
    let looked = inventory
        .secrets
        .get(&(place.to_owned(), secret.to_owned()));
    match looked {
        Some(None) => found(
            Verdict::BlockedSecret,
            format!("the secret {place}/{secret} is missing or lacks a key"),
        ),
        _ => None,
    }
}

fn translation(volume: &Value) -> Found {
    match to_csi(Mode::Strict, volume) {
        Ok(_) => None,
        Err(TranslateError::TopologyUndecided(why)) => found(Verdict::ManualTopology, why),
        // An unbound volume says its namespace only when it is bound.
        Err(TranslateError::SecretNamespaceMissing)
            if volume.pointer("/spec/claimRef").is_none() =>
        {
            found(
                Verdict::BlockedSecret,
                "unbound, and its secret has no namespace yet",
            )
        }
        Err(error @ TranslateError::UnsupportedKind(_)) => {
            found(Verdict::BlockedUnmanaged, error.to_string())
        }
        Err(error) => found(Verdict::BlockedId, error.to_string()),
    }
}

fn driver(inventory: &Inventory, plugin: Plugin) -> Found {
    let name = plugin.driver();
    let unknown = inventory.unread.iter().any(|what| what == "csidrivers");
    if !unknown && !inventory.drivers.contains(name) {
        return found(Verdict::BlockedDriver, format!("{name} is not installed"));
    }
    let nodes = inventory.nodes_without.get(name)?;
    found(
        Verdict::BlockedDriver,
        format!(
            "{name} is not on {} ready nodes, such as {}",
            nodes.len(),
            nodes.first()?
        ),
    )
}

fn ready(inventory: &Inventory, volume: &Value) -> (Verdict, String) {
    if text(volume, "/spec/claimRef/name").is_empty() {
        return (Verdict::Unbound, String::new());
    }
    let users = inventory.users_of(volume).len();
    match users {
        0 => (Verdict::Ready, String::new()),
        1 => (Verdict::ReadyRestart, "1 pod uses it".to_owned()),
        n => (Verdict::ReadyRestart, format!("{n} pods use it")),
    }
}

#[cfg(test)]
mod tests;
