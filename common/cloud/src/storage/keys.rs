//! Keys of storage accounts (REST reference, `listKeys` and `regenerateKey`).

use std::fmt;

use azcsi_types::account::AccountUri;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use http::Method;
use serde::{Deserialize, Deserializer, Serialize};

use crate::arm::client::ArmClient;
use crate::arm::error::ArmError;
use crate::arm::request::ArmRequest;
use crate::environment::ApiFamily;
use crate::pipeline::retry::Repeatable;

/// A key of an account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountKey {
    /// Its name, `key1` or `key2`.
    #[serde(default)]
    pub key_name: String,
    /// The key: base64 of 64 bytes.
    #[serde(deserialize_with = "secret")]
    pub value: Secret,
    /// RFC 3339 time at which it was made.
    #[serde(default)]
    pub creation_time: Option<String>,
    /// What it allows; Azure writes `FULL`.
    #[serde(default)]
    pub permissions: Option<String>,
}

impl AccountKey {
    /// Whether it allows everything.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let permissions = self.permissions.as_deref();
        permissions.is_none_or(|text| text.eq_ignore_ascii_case("Full"))
    }
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

/// Which of the two keys of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyName {
    /// The first.
    Key1,
    /// The second.
    Key2,
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key1 => "key1",
            Self::Key2 => "key2",
        })
    }
}

#[derive(Deserialize)]
struct KeyList {
    keys: Vec<AccountKey>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Regenerate {
    key_name: String,
}

/// Calls on the keys of storage accounts.
#[derive(Clone, Debug)]
pub struct StorageKeys {
    arm: ArmClient,
}

impl StorageKeys {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }

    /// The keys of an account. Works also when the account does not accept keys.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list(&self, op: &Op, account: &AccountUri) -> Result<Vec<AccountKey>, ArmError> {
        let request = self.post(account, "listKeys");
        self.keys(op, &request.repeatable(Repeatable::Yes)).await
    }

    /// Replaces one key; the old one and every signature made with it stop working at once. Not
    /// repeated when the answer is lost: each call makes another key.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn regenerate(
        &self,
        op: &Op,
        account: &AccountUri,
        key: KeyName,
    ) -> Result<Vec<AccountKey>, ArmError> {
        let body = Regenerate {
            key_name: key.to_string(),
        };
        let request = self.post(account, "regenerateKey").with_body(&body)?;
        self.keys(op, &request).await
    }

    fn post(&self, account: &AccountUri, action: &str) -> ArmRequest {
        let path = format!("{account}/{action}");
        let family = ApiFamily::StorageAccounts;
        self.arm.prepare(Method::POST, family, &path, &[])
    }

    async fn keys(&self, op: &Op, request: &ArmRequest) -> Result<Vec<AccountKey>, ArmError> {
        let response = self.arm.send(op, request).await?;
        match serde_json::from_slice::<KeyList>(response.body()) {
            Ok(list) => Ok(list.keys),
            // The reader's own words could quote a key.
            Err(_) => Err(
                ArmError::protocol("Azure's list of account keys is not understood")
                    .during(|| request.name()),
            ),
        }
    }
}

#[cfg(test)]
mod tests;
