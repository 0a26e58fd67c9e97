//! The account and key that a request brings with it (CSI, `secrets`).

use std::collections::HashMap;

use azcsi_types::account::AccountName;
use azcsi_types::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::error::ControllerError;

/// An account and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The account.
    pub account: AccountName,
    /// The key.
    pub key: Secret,
}

const ACCOUNT: [&str; 2] = ["accountname", "azurestorageaccountname"];
const KEY: [&str; 2] = ["accountkey", "azurestorageaccountkey"];

/// Reads the secrets of a request; `None` if they are about something else.
///
/// # Errors
/// If only one of account and key is there, or one of them is none.
pub fn read(secrets: HashMap<String, String>) -> Result<Option<Credentials>, ControllerError> {
    let take = |names: &[&str]| {
        let mut pairs = secrets.iter();
        let found = pairs.find(|(key, _)| names.contains(&key.to_ascii_lowercase().as_str()));
        found.map(|(_, value)| value.trim())
    };
    let refuse = |text: &str| Err(ControllerError::Refused(text.to_owned()));
    match (take(&ACCOUNT), take(&KEY)) {
        (None, None) => Ok(None),
        (Some(account), Some(key)) => {
            let Ok(account) = account.parse() else {
                return refuse("secrets: azurestorageaccountname is not the name of an account");
            };
            let key = Secret::new(key);
            if !is_key(&key) {
                return refuse("secrets: azurestorageaccountkey is not the key of an account");
            }
            Ok(Some(Credentials { account, key }))
        }
        _ => refuse(
            "secrets need both azurestorageaccountname and azurestorageaccountkey, or neither",
        ),
    }
}

/// Whether a text can be a key at all.
#[must_use]
pub fn is_key(key: &Secret) -> bool {
    !key.is_empty() && STANDARD.decode(key.expose()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::read;

    fn secrets(entries: &[(&str, &str)]) -> Option<Option<String>> {
        let pairs = entries.iter();
        let map = pairs
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        let read = read(map).ok()?;
        Some(read.map(|found| format!("{}={}", found.account, found.key.expose())))
    }

    #[test]
    fn both_or_neither_and_blanks_do_not_count_id_16() {
        let good = [
            ("AzureStorageAccountName", "acct\n"),
            ("accountkey", " a2V5\n"),
        ];
        assert_eq!(secrets(&good), Some(Some("acct=a2V5".to_owned())));
        assert_eq!(secrets(&[("token", "x")]), Some(None));
        for bad in [
            &[("accountname", "acct")][..],
            &[("accountkey", "a2V5")],
            &[("accountname", "a b c"), ("accountkey", "a2V5")],
            &[("accountname", "acct"), ("accountkey", "not base64!")],
            &[("accountname", "acct"), ("accountkey", "")],
        ] {
            assert_eq!(secrets(bad), None, "{bad:?}");
        }
    }
}
