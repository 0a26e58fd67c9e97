//! What Azure says about disks and storage accounts, from files that `az` wrote.
//!
//! The converter has no credentials for Azure: `az disk list -o json` and `az storage account list
//! -o json` say all that it needs, and an operator can look at what it was told.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::failure::Failure;
use crate::value::{strings, text};

/// What is known of a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// How many machines may have it at once.
    pub max_shares: u64,
    /// `Unattached`, `Attached`, ….
    pub state: String,
    /// The machine that has it.
    pub managed_by: String,
    /// The region.
    pub location: String,
    /// Logical zones.
    pub zones: Vec<String>,
}

/// What is known; nothing, unless files were given.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// By id in lower case.
    disks: Option<BTreeMap<String, Disk>>,
    /// Resource group by account.
    accounts: BTreeMap<String, String>,
}

impl Facts {
    /// From files.
    ///
    /// # Errors
    /// A file cannot be read or is not what `az` writes.
    pub fn read(disks: Option<&Path>, accounts: Option<&Path>) -> Result<Self, Failure> {
        let disks = disks.map(array).transpose()?;
        let accounts = accounts.map(array).transpose()?.unwrap_or_default();
        Ok(Self {
            disks: disks.map(|list| list.iter().map(disk).collect()),
            accounts: accounts
                .iter()
                .map(|one| {
                    (
                        text(one, "/name").to_owned(),
                        text(one, "/resourceGroup").to_owned(),
                    )
                })
                .collect(),
        })
    }

    /// A disk. `None` when nothing is known about disks at all, `Some(None)` when it is missing.
    #[must_use]
    pub fn disk(&self, id: &str) -> Option<Option<&Disk>> {
        let disks = self.disks.as_ref()?;
        Some(disks.get(&id.to_ascii_lowercase()))
    }

    /// How many machines may have a disk at once, as far as is known.
    #[must_use]
    pub fn max_shares(&self, id: &str) -> u64 {
        self.disk(id)
            .flatten()
            .map_or(1, |disk| disk.max_shares.max(1))
    }

    /// The resource group of a storage account, if known.
    #[must_use]
    pub fn group_of(&self, account: &str) -> Option<&str> {
        self.accounts.get(account).map(String::as_str)
    }
}

fn array(path: &Path) -> Result<Vec<Value>, Failure> {
    let content = std::fs::read(path).map_err(|error| Failure::file("read", path, error))?;
    serde_json::from_slice(&content).map_err(|error| Failure::Document {
        what: path.display().to_string(),
        why: format!("not a JSON list: {error}"),
    })
}

fn disk(one: &Value) -> (String, Disk) {
    let disk = Disk {
        max_shares: one.get("maxShares").and_then(Value::as_u64).unwrap_or(1),
        state: text(one, "/diskState").to_owned(),
        managed_by: text(one, "/managedBy").to_owned(),
        location: text(one, "/location").to_owned(),
        zones: strings(one, "/zones").map(str::to_owned).collect(),
    };
    (text(one, "/id").to_ascii_lowercase(), disk)
}
