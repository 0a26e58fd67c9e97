//! What CreateVolume decides, without asking anybody: how large the share is, what it is made with,
//! and whether a share that is there is the one that was asked for.

use azcsi_cloud::{Share, ShareCreate};
use azcsi_types::size::{CapacityRange, GiB, OutOfRange};

use super::record::{self, Owner};
use crate::model::params::ShareParams;
use crate::model::protocol::Protocol;
use crate::model::sku::{DEFAULT_SIZE, Sku};

/// The share that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Its protocol, tier, performance.
    pub params: ShareParams,
    /// Its size.
    pub range: CapacityRange,
    /// The driver.
    pub driver: String,
    /// The volume.
    pub volume: String,
    /// The id of what it is a copy of.
    pub copy_of: Option<String>,
    /// Whose the share is.
    pub of: ShareOf,
}

/// Whose a share is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareOf {
    /// The volume is the share.
    Volume,
    /// The volume is a directory in it, beside others.
    Many,
}

/// The size of a new share.
///
/// # Errors
/// If the SKU has no such size. A limit is never exceeded by rounding.
pub fn size(range: CapacityRange, sku: Sku) -> Result<GiB, OutOfRange> {
    let (least, most) = sku.sizes();
    range.pick(least, most, DEFAULT_SIZE)
}

impl Draft {
    /// What the share is made with.
    #[must_use]
    pub fn body(&self, size: GiB) -> ShareCreate {
        let nfs = self.params.protocol == Protocol::Nfs;
        ShareCreate {
            share_quota: Some(size.get()),
            enabled_protocols: nfs.then(|| "NFS".to_owned()),
            access_tier: self.params.tier.map(str::to_owned),
            root_squash: self.params.squash.map(str::to_owned),
            provisioned_iops: self.params.iops,
            provisioned_bandwidth_mibps: self.params.bandwidth,
            metadata: match self.of {
                ShareOf::Volume => record::new(&self.driver, &self.volume, self.copy_of.as_deref()),
                ShareOf::Many => record::new_common(&self.driver),
            },
        }
    }

    /// Whether a share that is there is the one that is wanted. Where it is not, it stays untouched.
    ///
    /// # Errors
    /// The difference, in words.
    pub fn check(&self, share: &Share) -> Result<Existing, String> {
        let size = share.quota().ok_or("Azure does not tell its size")?;
        // A common share grows with the largest volume in it.
        if self.of == ShareOf::Volume && !self.range.admits(size.bytes()) {
            return Err(format!("its size is {size}"));
        }
        if share.is_nfs() != (self.params.protocol == Protocol::Nfs) {
            let protocol = if share.is_nfs() { "nfs" } else { "smb" };
            return Err(format!("its protocol is {protocol}"));
        }
        if self.of == ShareOf::Many && record::is_of_one(share) {
            let text = "it was made for one volume and goes with that: name another share";
            return Err(text.to_owned());
        }
        let owner = record::owner(share, &self.driver, Some(&self.volume));
        let named = self.params.name.is_some();
        match owner {
            Owner::OtherVolume if !named => return Err("it is another volume's".to_owned()),
            Owner::Somebody if !named => return Err("somebody else made it".to_owned()),
            Owner::OtherVolume | Owner::Somebody | Owner::Volume | Owner::Driver => {}
        }
        if owner == Owner::Volume {
            self.settings(share)?;
        }
        self.copy(share, owner, size)
    }

    /// Settings of a share of one's own. A shared one has those of whoever made it.
    fn settings(&self, share: &Share) -> Result<(), String> {
        let found = &share.properties;
        let text = |what, wanted: Option<&str>, found: &Option<String>| match (wanted, found) {
            (Some(wanted), Some(found)) if !found.eq_ignore_ascii_case(wanted) => {
                Err(format!("its {what} is {found}"))
            }
            _ => Ok(()),
        };
        text("tier", self.params.tier, &found.access_tier)?;
        text("root squash", self.params.squash, &found.root_squash)
    }

    fn copy(&self, share: &Share, owner: Owner, size: GiB) -> Result<Existing, String> {
        let wanted = self.copy_of.as_deref().map(record::digest);
        match (&wanted, share.meta(record::COPY_OF)) {
            (None, None) => Ok(Existing::Complete(size)),
            (Some(wanted), Some(found)) if wanted == found => {
                let done = share.meta(record::COPY_STATE) == Some(record::COPIED);
                Ok(if done {
                    Existing::Complete(size)
                } else {
                    Existing::Copying(size)
                })
            }
            (None, Some(_)) if owner != Owner::Volume => Ok(Existing::Complete(size)),
            (None, Some(_)) => Err("it is a copy of something".to_owned()),
            (Some(_), _) => Err("it is no copy of the same source".to_owned()),
        }
    }
}

/// A share that is there and is the one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// With all of its content.
    Complete(GiB),
    /// Its content is still being copied.
    Copying(GiB),
}

#[cfg(test)]
mod tests;
