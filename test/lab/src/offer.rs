//! What the file server offers: accounts with their keys, and shares with their folders, as the
//! simulator has them.
//!
//! The contents of SMB shares are the simulator's own folders, which the file server's machine sees
//! through a shared folder: what a node writes is what the data plane reads. The kernel's NFS server
//! cannot export such a folder, so contents of NFS shares are in that machine.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// Where the file server's machine sees the simulator's shares.
pub const SMB_ROOT: &str = "/srv/azure";
/// What its NFS server exports; below it a folder for each account.
pub const NFS_ROOT: &str = "/srv/nfs";

/// A storage account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its first key, which is the password.
    pub key: String,
}

/// A share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its account.
    pub account: String,
    /// Its name.
    pub name: String,
    /// The folder with its contents.
    pub path: String,
    /// NFS rather than SMB.
    pub is_nfs: bool,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The accounts.
    pub accounts: Vec<Account>,
    /// The shares.
    pub shares: Vec<Share>,
}

fn items<'a>(state: &'a Value, table: &str) -> impl Iterator<Item = &'a Value> {
    let table = state[table].as_object();
    table.into_iter().flatten().map(|(_, item)| item)
}

fn text(item: &Value, pointer: &str) -> Result<String> {
    let text = item.pointer(pointer).and_then(Value::as_str);
    Ok(text
        .with_context(|| format!("the simulator shows no {pointer}"))?
        .to_owned())
}

impl Offer {
    /// From the world that the simulator shows.
    ///
    /// # Errors
    /// When two accounts have an SMB share of one name: this server has one list of names.
    pub fn of(state: &Value) -> Result<Self> {
        let mut offer = Self::default();
        for account in items(state, "accounts") {
            offer.accounts.push(Account {
                name: text(account, "/name")?,
                key: text(account, "/keys/0/value")?,
            });
        }
        let mut names = BTreeSet::new();
        for share in items(state, "shares") {
            let key = text(share, "/account")?;
            let account = key.rsplit('/').next().unwrap_or_default().to_owned();
            let name = text(share, "/name")?;
            let is_nfs = text(share, "/protocol")?.eq_ignore_ascii_case("nfs");
            ensure!(
                is_nfs || names.insert(name.clone()),
                "two accounts have a share {name}: this file server cannot tell them apart"
            );
            let path = if is_nfs {
                format!("{NFS_ROOT}/{account}/{name}")
            } else {
                format!("{SMB_ROOT}/{}", text(share, "/contents")?)
            };
            offer.shares.push(Share {
                account,
                name,
                path,
                is_nfs,
            });
        }
        Ok(offer)
    }

    /// Accounts that are new, or have another key than before.
    pub fn fresh<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a Account> {
        let is_fresh = |account: &&Account| !before.accounts.contains(account);
        self.accounts.iter().filter(is_fresh)
    }

    /// Whether its shares over NFS, or those over SMB, are those of before.
    #[must_use]
    pub fn has_same_shares(&self, before: &Self, is_nfs: bool) -> bool {
        let of = |offer: &Self| -> Vec<Share> {
            let mine = offer.shares.iter().filter(|share| share.is_nfs == is_nfs);
            mine.cloned().collect()
        };
        of(self) == of(before)
    }

    /// Whether an account has another key than before.
    #[must_use]
    pub fn has_new_keys(&self, before: &Self) -> bool {
        self.accounts.iter().any(|account| {
            let same = |old: &&Account| old.name == account.name;
            let old = before.accounts.iter().find(same);
            old.is_some_and(|old| old.key != account.key)
        })
    }

    /// SMB shares of before that are not there any more.
    pub fn gone<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a Share> {
        let is_gone = |share: &&Share| !share.is_nfs && !self.shares.contains(share);
        before.shares.iter().filter(is_gone)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn world(key: &str, names: [&str; 2]) -> Value {
        json!({
            "accounts": {"/s/a": {"name": "acct", "keys": [{"value": key}, {"value": "two"}]}},
            "shares": {
                "1": {"account": "/s/acct", "name": names[0], "contents": "c1", "protocol": "SMB"},
                "2": {"account": "/s/acct", "name": names[1], "contents": "c2", "protocol": "NFS"},
            },
        })
    }

    #[test]
    fn shares_and_keys_are_the_simulators() {
        let offer = Offer::of(&world("one", ["a", "a"])).unwrap();
        let paths: Vec<&str> = offer.shares.iter().map(|s| s.path.as_str()).collect();
        assert_eq!(paths, ["/srv/azure/c1", "/srv/nfs/acct/a"]);
        assert_eq!(offer.accounts[0].key, "one");
        assert!(!offer.has_new_keys(&Offer::default()));
        let later = Offer::of(&world("new", ["b", "a"])).unwrap();
        assert!(later.has_new_keys(&offer));
        assert_eq!(later.fresh(&offer).count(), 1);
        assert_eq!(offer.fresh(&offer).count(), 0);
        assert!(!later.has_same_shares(&offer, false));
        assert!(later.has_same_shares(&offer, true));
        assert_eq!(later.gone(&offer).count(), 1);
    }

    #[test]
    fn a_name_that_two_accounts_use_is_refused() {
        let mut state = world("one", ["a", "b"]);
        state["shares"]["2"]["protocol"] = json!("SMB");
        state["shares"]["2"]["name"] = json!("a");
        assert!(Offer::of(&state).is_err());
    }
}
