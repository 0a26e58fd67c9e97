//! What an [`ArmError`] of the storage provider or of the file service means. Both use the same
//! codes, so there is one table.

use http::StatusCode;

use crate::arm::error::ArmError;

/// Which limit of a storage account is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountLimit {
    /// The number of shares.
    Shares,
    /// The sum of their sizes.
    Capacity,
    /// The sum of their IOPS.
    Iops,
    /// The sum of their bandwidths.
    Bandwidth,
}

const LIMITS: [(&str, AccountLimit); 4] = [
    ("TotalSharesCountExceedsAccountLimit", AccountLimit::Shares),
    (
        "TotalSharesProvisionedCapacityExceedsAccountLimit",
        AccountLimit::Capacity,
    ),
    (
        "TotalSharesProvisionedIopsExceedsAccountLimit",
        AccountLimit::Iops,
    ),
    (
        "TotalSharesProvisionedBandwidthExceedsAccountLimit",
        AccountLimit::Bandwidth,
    ),
];

impl ArmError {
    /// The account has no room for the share; deleted shares that are kept count too.
    #[must_use]
    pub fn account_limit(&self) -> Option<AccountLimit> {
        let named = LIMITS.iter().find(|(code, _)| self.has_code(code));
        named.map(|(_, limit)| *limit)
    }

    /// A share of that name exists and does not fit the request.
    #[must_use]
    pub fn is_share_already_there(&self) -> bool {
        self.has_code("ShareAlreadyExists")
    }

    /// A share of that name is on its way out; the name is free again in a minute or so.
    #[must_use]
    pub fn is_share_being_deleted(&self) -> bool {
        self.has_code("ShareBeingDeleted")
    }

    /// The share has snapshots, and the delete did not say that they should go too.
    #[must_use]
    pub fn has_share_snapshots(&self) -> bool {
        self.has_code("ShareHasSnapshots")
    }

    /// Size, IOPS or bandwidth were raised less than a day ago and cannot be lowered yet.
    #[must_use]
    pub fn is_downgrade_too_early(&self) -> bool {
        self.any_code(|code| {
            let code = code.to_ascii_lowercase();
            code.ends_with("downgradenotallowed")
        })
    }

    /// The account is not ready for requests yet.
    #[must_use]
    pub fn is_account_not_ready(&self) -> bool {
        ["StorageAccountIsNotProvisioned", "AccountBeingCreated"]
            .iter()
            .any(|code| self.has_code(code))
    }

    /// Somebody else in the world has an account of that name.
    #[must_use]
    pub fn is_account_name_taken(&self) -> bool {
        self.has_code("StorageAccountAlreadyTaken")
    }

    /// The account refuses keys and signatures made with them.
    #[must_use]
    pub fn is_key_refused(&self) -> bool {
        self.has_code("KeyBasedAuthenticationNotPermitted")
    }

    /// The file service lets this identity do nothing: a role is missing.
    #[must_use]
    pub fn is_role_missing(&self) -> bool {
        self.has_code("AuthorizationPermissionMismatch")
    }

    /// The file service refused the caller's network, or the account's firewall did.
    #[must_use]
    pub fn is_network_refused(&self) -> bool {
        self.status() == Some(StatusCode::FORBIDDEN) && self.has_code("AuthorizationFailure")
    }

    /// The file service does not let a token manage shares; Azure Resource Manager does.
    #[must_use]
    pub fn is_restricted_to_arm(&self) -> bool {
        self.has_code("FileOAuthManagementApiRestrictedToSrp")
    }
}

#[cfg(test)]
mod tests;
