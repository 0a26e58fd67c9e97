//! Storage accounts: their names and their resource ids.

use std::fmt;
use std::str::FromStr;

use crate::resource_id::{NotAResourceId, ResourceId};

/// The provider of storage accounts.
pub const STORAGE: &str = "Microsoft.Storage";
const ACCOUNTS: &str = "storageAccounts";

/// Shortest and longest name of a storage account, in characters (naming rules of Azure).
pub const ACCOUNT_NAME_LENGTH: (usize, usize) = (3, 24);

/// The name of a storage account: 3 to 24 lower-case letters and digits, unique in all of Azure.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountName(Box<str>);

/// Why a text does not name a storage account.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnAccount {
    /// It breaks the rule of names.
    #[error(
        "'{}' is not the name of a storage account: 3 to 24 lower-case letters and digits",
        text.escape_debug()
    )]
    Name {
        /// The text as it was given.
        text: String,
    },
    /// It is no resource id at all.
    #[error(transparent)]
    Id(#[from] NotAResourceId),
    /// It names something else.
    #[error("'{id}' is not the id of a storage account")]
    OtherType {
        /// The id as it was given.
        id: String,
    },
}

impl AccountName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AccountName {
    type Err = NotAnAccount;

    /// Upper-case letters are taken as their lower-case ones: Azure compares names without regard
    /// to case, and ids written by hand have both.
    fn from_str(text: &str) -> Result<Self, NotAnAccount> {
        let (least, most) = ACCOUNT_NAME_LENGTH;
        let fits = (least..=most).contains(&text.len());
        if fits && text.bytes().all(|b| b.is_ascii_alphanumeric()) {
            Ok(Self(text.to_ascii_lowercase().into()))
        } else {
            Err(NotAnAccount::Name {
                text: text.chars().take(100).collect(),
            })
        }
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A storage account as a resource.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountUri(ResourceId);

impl AccountUri {
    /// The id from its parts.
    ///
    /// # Errors
    /// If a part is empty, `.` or `..`, or holds a `/`.
    pub fn new(
        subscription: &str,
        resource_group: &str,
        account: &AccountName,
    ) -> Result<Self, NotAnAccount> {
        let kind = (STORAGE, ACCOUNTS);
        let id = ResourceId::new(subscription, resource_group, kind, account.as_str())?;
        Self::try_from(id)
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

    /// The name, as it is spelled in the id.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The name as a value of its own.
    ///
    /// # Errors
    /// If the last segment of the id breaks the rule of names.
    pub fn account(&self) -> Result<AccountName, NotAnAccount> {
        self.name().parse()
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

impl TryFrom<ResourceId> for AccountUri {
    type Error = NotAnAccount;

    fn try_from(id: ResourceId) -> Result<Self, NotAnAccount> {
        // Dots alone would lead an HTTP client to another address than the id says.
        let dots = |part: &str| part == "." || part == "..";
        let leads_away = dots(id.subscription()) || dots(id.resource_group()) || dots(id.name());
        if id.is_of(STORAGE, &[ACCOUNTS]) && !leads_away {
            Ok(Self(id))
        } else {
            Err(NotAnAccount::OtherType { id: id.to_string() })
        }
    }
}

impl FromStr for AccountUri {
    type Err = NotAnAccount;

    fn from_str(text: &str) -> Result<Self, NotAnAccount> {
        Self::try_from(text.parse::<ResourceId>()?)
    }
}

impl fmt::Display for AccountUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for AccountUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::{AccountName, AccountUri, NotAnAccount};
    use proptest::prelude::*;

    #[test]
    fn names_follow_the_rule_of_azure() {
        for good in ["abc", "f0123456789abcdef0123456", "000"] {
            assert_eq!(good.parse::<AccountName>().unwrap().as_str(), good);
        }
        assert_eq!("FooBar".parse::<AccountName>().unwrap().as_str(), "foobar");
        for bad in ["", "ab", "a-b", "a b", "äää", "abc\n", &"a".repeat(25)] {
            assert!(bad.parse::<AccountName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_id_of_something_else_is_refused() {
        let disk = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/abc";
        let wrong = disk.parse::<AccountUri>().unwrap_err();
        assert!(matches!(wrong, NotAnAccount::OtherType { .. }));
    }

    #[test]
    fn no_part_leads_to_something_else() {
        let name: AccountName = "abc".parse().unwrap();
        for (subscription, group) in [
            ("s", ".."),
            ("..", "g"),
            ("s", "."),
            ("s", ""),
            ("s", "g/x"),
            ("s", "g/providers/A/b/c"),
            ("s/resourceGroups/h/providers/A/b/c/d", "g"),
        ] {
            assert!(
                AccountUri::new(subscription, group, &name).is_err(),
                "{subscription} {group}"
            );
        }
    }

    proptest! {
        #[test]
        fn names_round_trip(text in "[a-z0-9]{3,24}") {
            let name: AccountName = text.parse().unwrap();
            prop_assert_eq!(&name.to_string(), &text);
            prop_assert_eq!(name.to_string().parse::<AccountName>().unwrap(), name);
        }

        #[test]
        fn ids_round_trip_whatever_their_case(group in "[A-Za-z0-9._()-]{0,89}[A-Za-z0-9_()-]", text in "[a-z0-9]{3,24}") {
            let name: AccountName = text.parse().unwrap();
            let uri = AccountUri::new("sub", &group, &name).unwrap();
            prop_assert_eq!(&uri.to_string().to_uppercase().parse::<AccountUri>().unwrap(), &uri);
            prop_assert_eq!(uri.account().unwrap(), name);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,60}") {
            let _ = text.parse::<AccountName>();
            let _ = text.parse::<AccountUri>();
        }
    }
}
