//! Shared access signatures ("Create an account SAS" and "Create a service SAS", REST reference of
//! the storage services).

use std::time::SystemTime;

use azcsi_types::account::AccountName;
use azcsi_types::secret::Secret;
use azcsi_types::share::ShareName;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::path::{SharePath, encode};
use super::shared_key::SigningKey;
use crate::arm::error::ArmError;

/// Version that a signature is made for: one whose form this file knows, whatever version the
/// requests are sent in.
pub const SAS_VERSION: &str = "2024-11-04";

/// What a signature allows. A write includes making files and directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SasPermissions {
    /// Reading.
    pub read: bool,
    /// Writing what exists.
    pub write: bool,
    /// Deleting.
    pub delete: bool,
    /// Listing.
    pub list: bool,
    /// Creating; only in signatures for one share or file.
    pub create: bool,
}

impl SasPermissions {
    /// Reading and listing: the source of a copy.
    #[must_use]
    pub const fn read_only() -> Self {
        Self {
            read: true,
            write: false,
            delete: false,
            list: true,
            create: false,
        }
    }

    /// Reading, listing, creating and writing: the target of a copy.
    #[must_use]
    pub const fn read_write() -> Self {
        Self {
            read: true,
            write: true,
            delete: false,
            list: true,
            create: true,
        }
    }

    fn letters(self, order: &str) -> String {
        let allowed = |letter: &char| match letter {
            'r' => self.read,
            'w' => self.write,
            'd' => self.delete,
            'l' => self.list,
            'c' => self.create,
            _ => false,
        };
        order.chars().filter(allowed).collect()
    }
}

/// A signature to be made: what it allows and from when to when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sas {
    /// What it allows.
    pub permissions: SasPermissions,
    /// From when; `None` for at once.
    pub starts: Option<SystemTime>,
    /// Until when.
    pub expires: SystemTime,
    /// Whether plain http is allowed too; only for a service on this host.
    pub protocols: SasProtocols,
}

/// Over what a signature may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SasProtocols {
    /// TLS only.
    #[default]
    Https,
    /// TLS or plain.
    HttpsAndHttp,
}

impl SasProtocols {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::HttpsAndHttp => "https,http",
        }
    }
}

impl Sas {
    /// For the whole file service of an account: its shares, directories and files.
    ///
    /// # Errors
    /// If the key is no key, or a time is out of range.
    pub fn for_account(&self, account: &AccountName, key: &Secret) -> Result<Secret, ArmError> {
        let permissions = self.permissions.letters("rwdlc");
        let (start, end) = (self.start()?, stamp(self.expires)?);
        let protocols = self.protocols.as_str();
        let text = format!(
            "{account}\n{permissions}\nf\nsco\n{start}\n{end}\n\n{protocols}\n{SAS_VERSION}\n\n"
        );
        let signature = SigningKey::new(key)?.sign(&text);
        let fields = [
            ("sv", SAS_VERSION),
            ("ss", "f"),
            ("srt", "sco"),
            ("sp", &permissions),
            ("st", &start),
            ("se", &end),
            ("spr", protocols),
            ("sig", &signature),
        ];
        Ok(query(&fields))
    }

    /// For one share with all that is in it, or for one file if `path` is not the root. It cannot
    /// make or list shares.
    ///
    /// # Errors
    /// If the key is no key, or a time is out of range.
    pub fn for_share(
        &self,
        (account, key): (&AccountName, &Secret),
        share: &ShareName,
        path: &SharePath,
    ) -> Result<Secret, ArmError> {
        let permissions = self.permissions.letters("rcwdl");
        let (start, end) = (self.start()?, stamp(self.expires)?);
        let protocols = self.protocols.as_str();
        let (kind, tail) = if path.is_root() {
            ("s", String::new())
        } else {
            ("f", format!("/{path}"))
        };
        let text = format!(
            "{permissions}\n{start}\n{end}\n/file/{account}/{share}{tail}\n\n\n{protocols}\n{SAS_VERSION}\n\n\n\n\n"
        );
        let signature = SigningKey::new(key)?.sign(&text);
        let fields = [
            ("sv", SAS_VERSION),
            ("sr", kind),
            ("sp", &permissions),
            ("st", &start),
            ("se", &end),
            ("spr", protocols),
            ("sig", &signature),
        ];
        Ok(query(&fields))
    }

    fn start(&self) -> Result<String, ArmError> {
        self.starts.map_or_else(|| Ok(String::new()), stamp)
    }
}

/// Seconds, UTC, as signatures want them.
fn stamp(time: SystemTime) -> Result<String, ArmError> {
    let seconds = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(i64::MAX, |since| {
            i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
        });
    OffsetDateTime::from_unix_timestamp(seconds)
        .map_err(|_| ())
        .and_then(|time| time.format(&Rfc3339).map_err(|_| ()))
        .map_err(|()| ArmError::invalid("the time of a signature"))
}

fn query(fields: &[(&str, &str)]) -> Secret {
    let given = fields.iter().filter(|(_, value)| !value.is_empty());
    let pairs: Vec<String> = given
        .map(|(name, value)| format!("{name}={}", encode(value)))
        .collect();
    Secret::new(pairs.join("&"))
}

#[cfg(test)]
mod tests;
