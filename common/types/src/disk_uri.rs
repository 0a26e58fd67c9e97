//! Volume ids and snapshot ids of the disk driver: the resource ids of managed disks and snapshots.

use std::fmt;
use std::str::FromStr;

use crate::resource_id::{NotAResourceId, ResourceId};

/// The provider of everything here.
pub const COMPUTE: &str = "Microsoft.Compute";

/// Why a text does not name a disk or a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotADisk {
    /// It is no resource id at all.
    #[error(transparent)]
    Id(#[from] NotAResourceId),
    /// It names something else.
    #[error("'{id}' is not the id of a {expected}")]
    OtherType {
        /// The id as it was given.
        id: String,
        /// What should have been named.
        expected: &'static str,
    },
}

macro_rules! compute_uri {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $noun:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(ResourceId);

        impl $name {
            /// The id from its parts.
            ///
            /// # Errors
            /// If a part is empty or holds a `/`.
            pub fn new(subscription: &str, resource_group: &str, name: &str) -> Result<Self, NotADisk> {
                Ok(Self(ResourceId::new(subscription, resource_group, (COMPUTE, $kind), name)?))
            }

            /// The resource id.
            #[must_use]
            pub const fn id(&self) -> &ResourceId {
                &self.0
            }

            /// The subscription.
            #[must_use]
            pub fn subscription(&self) -> &str {
                self.0.subscription()
            }

            /// The resource group.
            #[must_use]
            pub fn resource_group(&self) -> &str {
                self.0.resource_group()
            }

            /// The name.
            #[must_use]
            pub fn name(&self) -> &str {
                self.0.name()
            }

            /// The spelling that it was made from.
            #[must_use]
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }

            /// The one spelling that all equal ids share. For map keys and lock names.
            #[must_use]
            pub fn folded(&self) -> String {
                self.0.folded()
            }
        }

        impl TryFrom<ResourceId> for $name {
            type Error = NotADisk;

            fn try_from(id: ResourceId) -> Result<Self, NotADisk> {
                if id.is_of(COMPUTE, &[$kind]) {
                    Ok(Self(id))
                } else {
                    Err(NotADisk::OtherType { id: id.to_string(), expected: $noun })
                }
            }
        }

        impl FromStr for $name {
            type Err = NotADisk;

            fn from_str(text: &str) -> Result<Self, NotADisk> {
                Self::try_from(text.parse::<ResourceId>()?)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

compute_uri!(
    /// A managed disk; the volume id of the disk driver.
    DiskUri,
    "disks",
    "managed disk"
);
compute_uri!(
    /// A disk snapshot; the snapshot id of the disk driver.
    SnapshotUri,
    "snapshots",
    "snapshot"
);

/// Whether a name is one that Azure accepts for a disk or snapshot: 1 to 80 characters of
/// `A-Z a-z 0-9 _ . -`, the first a letter or digit, the last a letter, digit or `_`.
#[must_use]
pub fn is_disk_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    bytes.len() <= DISK_NAME_LIMIT
        && first.is_ascii_alphanumeric()
        && (last.is_ascii_alphanumeric() || *last == b'_')
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(b))
}

/// Longest name of a disk or snapshot, in bytes.
pub const DISK_NAME_LIMIT: usize = 80;

#[cfg(test)]
mod tests {
    use super::{DiskUri, NotADisk, SnapshotUri, is_disk_name};
    use proptest::prelude::*;

    #[test]
    fn a_snapshot_is_not_a_disk() {
        let snapshot = SnapshotUri::new("s", "g", "n").unwrap();
        let wrong = snapshot.as_str().parse::<DiskUri>().unwrap_err();
        assert!(matches!(wrong, NotADisk::OtherType { .. }));
        assert!(
            wrong
                .to_string()
                .ends_with("is not the id of a managed disk")
        );
    }

    #[test]
    fn names_follow_the_rule_of_azure() {
        for good in ["a", "0", "pvc-1", "a_", &"x".repeat(80)] {
            assert!(is_disk_name(good), "{good}");
        }
        for bad in [
            "",
            "-a",
            "_a",
            ".a",
            "a-",
            "a.",
            "ä",
            "a b",
            "a/b",
            &"x".repeat(81),
        ] {
            assert!(!is_disk_name(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn disk_ids_round_trip(name in "[A-Za-z0-9]([A-Za-z0-9_.-]{0,78}[A-Za-z0-9_])?") {
            let uri = DiskUri::new("sub", "Group_1", &name).unwrap();
            prop_assert_eq!(&uri.to_string().to_uppercase().parse::<DiskUri>().unwrap(), &uri);
            prop_assert!(is_disk_name(&name));
        }
    }
}
