//! Volume ids: their grammars, old and new.

use crate::error::TranslateError;
use crate::lines;
use crate::registry::{self};

const SECRET_PREFIX: &str = "azure-storage-account-";
const SECRET_SUFFIX: &str = "-secret";

/// What an attacher does to a handle before it uses it: nothing, for both Azure drivers.
///
/// # Errors
/// The driver has no in-tree predecessor.
pub fn repair(driver: &str, handle: &str) -> Result<String, TranslateError> {
    registry::in_tree_name(driver)?;
    Ok(handle.to_owned())
}

/// Whether a disk id names a blob, so that the disk is unmanaged.
#[must_use]
pub fn is_blob(uri: &str) -> bool {
    uri.len() > 4 && uri.as_bytes()[..4].eq_ignore_ascii_case(b"http")
}

/// The name that Kubernetes reads from a disk id. Exact about case and not anchored, as there.
///
/// # Errors
/// The id does not have that form.
pub fn disk_name(uri: &str) -> Result<&str, TranslateError> {
    let name = if is_blob(uri) {
        lines::after_last(uri, &["http", "://"], |rest| {
            rest.starts_with("/vhds/").then_some("/vhds/".len())
        })
    } else {
        lines::after_last(uri, &["/subscriptions/", "/resourceGroups/"], provider)
    };
    name.ok_or_else(|| TranslateError::DiskIdUnparsable(uri.to_owned()))
}

/// The length of the provider part; the dot of its name stands for any one character.
fn provider(rest: &str) -> Option<usize> {
    let tail = rest.strip_prefix("/providers/Microsoft")?;
    let any = tail.chars().next()?;
    let tail = tail[any.len_utf8()..].strip_prefix("Compute/disks/")?;
    Some(rest.len() - tail.len())
}

/// A managed disk's id, read as Azure reads it: exact in its form, any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskId<'a> {
    /// The subscription.
    pub subscription: &'a str,
    /// The resource group.
    pub resource_group: &'a str,
    /// The name.
    pub name: &'a str,
}

impl<'a> DiskId<'a> {
    /// Reads an id.
    ///
    /// # Errors
    /// The id does not have that form.
    pub fn parse(uri: &'a str) -> Result<Self, TranslateError> {
        let wrong = || TranslateError::DiskIdUnparsable(uri.to_owned());
        let parts: Vec<&str> = uri.split('/').collect();
        let ["", a, subscription, b, resource_group, c, d, e, name] = parts[..] else {
            return Err(wrong());
        };
        let words = [
            (a, "subscriptions"),
            (b, "resourceGroups"),
            (c, "providers"),
            (d, "Microsoft.Compute"),
            (e, "disks"),
        ];
        let spelled = words
            .iter()
            .all(|(word, known)| word.eq_ignore_ascii_case(known));
        let named = [subscription, resource_group, name]
            .iter()
            .all(|part| !part.is_empty());
        // Kubernetes' pattern ends at a line feed; no such name exists in Azure.
        if !spelled || !named || uri.chars().any(char::is_control) {
            return Err(wrong());
        }
        Ok(Self {
            subscription,
            resource_group,
            name,
        })
    }
}

/// The parts of a share's handle. Absent ones are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHandle<'a> {
    /// The resource group of the account.
    pub resource_group: &'a str,
    /// The storage account; in a translated handle it may be the name of a secret.
    pub account: &'a str,
    /// The share.
    pub share: &'a str,
    /// The disk image on the share. The five-part form has the name of a PersistentVolume in its
    /// place, which is not one.
    pub disk: &'a str,
    /// The namespace of the secret.
    pub namespace: &'a str,
    /// The subscription, when it is not that of the cluster.
    pub subscription: &'a str,
}

impl<'a> FileHandle<'a> {
    /// Reads a handle of three to seven parts.
    ///
    /// # Errors
    /// There are fewer than three.
    pub fn parse(handle: &'a str) -> Result<Self, TranslateError> {
        let parts: Vec<&str> = handle.split('#').collect();
        if parts.len() < 3 {
            return Err(TranslateError::FileHandleUnparsable(handle.to_owned()));
        }
        let translated = parts.len() == 5;
        let part = |index: usize| parts.get(index).copied().unwrap_or_default();
        Ok(Self {
            resource_group: parts[0],
            account: parts[1],
            share: parts[2],
            disk: if translated { "" } else { part(3) },
            namespace: part(if translated { 4 } else { 5 }),
            subscription: part(6),
        })
    }
}

/// The account that a secret's name tells; the whole name when it does not follow the custom.
#[must_use]
pub fn account_of_secret(secret: &str) -> &str {
    lines::between(secret, SECRET_PREFIX, SECRET_SUFFIX).unwrap_or(secret)
}

/// The customary name of an account's secret.
#[must_use]
pub fn secret_of_account(account: &str) -> String {
    format!("{SECRET_PREFIX}{account}{SECRET_SUFFIX}")
}

#[cfg(test)]
mod tests;
