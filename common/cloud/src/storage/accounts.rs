//! Storage accounts (REST reference, `Microsoft.Storage/storageAccounts`).

use azcsi_types::account::{AccountName, AccountUri};
use azcsi_types::op::Op;
use http::Method;
use serde::{Deserialize, Serialize};

use super::account_body::{AccountCreate, AccountProperties, AccountUpdate, StorageSku};
use crate::arm::client::ArmClient;
use crate::arm::error::ArmError;
use crate::compute::types::{GroupScope, Tags};
use crate::environment::ApiFamily;
use crate::pipeline::retry::Repeatable;
use crate::wire;

/// A storage account as Azure answers it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Its id; the case may differ from the id that was asked for.
    #[serde(deserialize_with = "wire::parsed")]
    pub id: AccountUri,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its region, as Azure spells it.
    #[serde(default)]
    pub location: String,
    /// `StorageV2`, `FileStorage` or an older kind.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub kind: String,
    /// Its SKU.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub sku: StorageSku,
    /// Its tags.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub tags: Tags,
    /// The rest.
    #[serde(default, deserialize_with = "wire::or_default")]
    pub properties: AccountProperties,
}

/// Whether a name can be had.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NameAvailability {
    /// Whether nobody has it; somebody else may take it in the next moment.
    pub name_available: bool,
    /// `AlreadyExists` or `AccountNameInvalid`.
    #[serde(default)]
    pub reason: Option<String>,
    /// The reason in words.
    #[serde(default)]
    pub message: Option<String>,
}

#[derive(Serialize)]
struct NameCheck<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// Calls on storage accounts.
#[derive(Clone, Debug)]
pub struct Accounts {
    arm: ArmClient,
}

const FAMILY: ApiFamily = ApiFamily::StorageAccounts;

impl Accounts {
    pub(crate) const fn new(arm: ArmClient) -> Self {
        Self { arm }
    }

    /// Reads an account.
    ///
    /// # Errors
    /// See [`ArmError`]; absent only if [`ArmError::is_not_found`].
    pub async fn get(&self, op: &Op, account: &AccountUri) -> Result<Account, ArmError> {
        self.arm.get(op, FAMILY, account.id()).await
    }

    /// Every account of a scope. Azure allows 100 lists in five minutes and the list may lag behind
    /// writes by half a minute.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn list(&self, op: &Op, scope: &GroupScope) -> Result<Vec<Account>, ArmError> {
        self.arm.list(op, FAMILY, scope, "storageAccounts").await
    }

    /// Creates an account and waits until it exists. The same body again is a success without
    /// effect; another kind or region of an existing account is a conflict.
    ///
    /// # Errors
    /// See [`ArmError`]; [`ArmError::is_account_name_taken`] if somebody else has the name.
    pub async fn create(
        &self,
        op: &Op,
        account: &AccountUri,
        body: &AccountCreate,
    ) -> Result<Account, ArmError> {
        self.arm.put(op, FAMILY, account.id(), body).await
    }

    /// Changes an account: what is absent in `body` stays as it is. Never creates one. Azure keeps
    /// no version of accounts, so the caller has to be the only writer of what it reads and changes.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn update(
        &self,
        op: &Op,
        account: &AccountUri,
        body: &AccountUpdate,
    ) -> Result<Account, ArmError> {
        self.arm.patch(op, FAMILY, account.id(), body).await
    }

    /// Deletes an account with everything in it. An account that is absent, or whose group is,
    /// counts as deleted.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn delete(&self, op: &Op, account: &AccountUri) -> Result<(), ArmError> {
        self.arm.delete(op, FAMILY, account.id()).await
    }

    /// Asks whether a name can be had.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn check_name(
        &self,
        op: &Op,
        subscription: &str,
        name: &AccountName,
    ) -> Result<NameAvailability, ArmError> {
        let path = format!(
            "/subscriptions/{subscription}/providers/Microsoft.Storage/checkNameAvailability"
        );
        let body = NameCheck {
            name: name.as_str(),
            kind: "Microsoft.Storage/storageAccounts",
        };
        let request = self.arm.prepare(Method::POST, FAMILY, &path, &[]);
        let request = request.repeatable(Repeatable::Yes).with_body(&body)?;
        self.arm.ask(op, &request).await
    }
}

#[cfg(test)]
mod tests;
