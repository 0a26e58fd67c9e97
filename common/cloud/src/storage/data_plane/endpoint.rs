//! Where the file service of an account is, and in which version it is spoken to.

use std::fmt;

use azcsi_types::account::AccountName;

use crate::environment::{Environment, is_loopback};

/// Version of the protocol when nothing else is asked for: the first that offers NFS files and
/// provisioned v2 shares.
pub const VERSION: &str = "2025-05-05";

/// The file service of one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesEndpoint {
    account: AccountName,
    /// Scheme and host, and a path before the share where the service has one; no slash at the end.
    base: String,
    version: String,
}

/// Why there can be no [`FilesEndpoint`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{url}' is not the address of a file service: it must be an https:// URL without query; http:// is accepted on this host only"
)]
pub struct NotAFilesEndpoint {
    url: String,
}

impl FilesEndpoint {
    /// The address that follows from the account's name. An account whose DNS zone is not the
    /// common one has another: take its `primaryEndpoints.file` where it is known.
    #[must_use]
    pub fn in_cloud(environment: &Environment, account: &AccountName) -> Self {
        Self::with_suffix(&environment.storage_suffix, account)
    }

    /// The address under another suffix of storage hosts, such as `core.windows.net`.
    #[must_use]
    pub fn with_suffix(suffix: &str, account: &AccountName) -> Self {
        Self {
            account: account.clone(),
            base: format!("https://{account}.file.{suffix}"),
            version: VERSION.to_owned(),
        }
    }

    /// The address that Azure told, or that of a service on this host.
    ///
    /// # Errors
    /// If it is no URL to which a key or token may be sent.
    pub fn at(url: &str, account: &AccountName) -> Result<Self, NotAFilesEndpoint> {
        let base = url.trim().trim_end_matches('/');
        let bad = || NotAFilesEndpoint {
            url: url.split(['?', '#']).next().unwrap_or_default().to_owned(),
        };
        let uri: http::Uri = base.parse().map_err(|_| bad())?;
        let host = uri.host().unwrap_or_default();
        let scheme = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => is_loopback(host),
            _ => false,
        };
        let user = uri.authority().is_some_and(|a| a.as_str().contains('@'));
        if !scheme || host.is_empty() || user || uri.query().is_some() || base.contains('#') {
            return Err(bad());
        }
        Ok(Self {
            account: account.clone(),
            base: base.to_owned(),
            version: VERSION.to_owned(),
        })
    }

    /// The same with another version of the protocol.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// The account.
    #[must_use]
    pub const fn account(&self) -> &AccountName {
        &self.account
    }

    /// The version of the protocol.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether another endpoint is one of the same service: its host has the same suffix, so it is
    /// Azure's own as much as this one.
    #[must_use]
    pub fn is_beside(&self, other: &Self) -> bool {
        let parts = |base: &str| {
            let (scheme, rest) = base.split_once("://")?;
            let authority = rest.split('/').next()?.to_ascii_lowercase();
            let suffix = match authority.split_once('.') {
                Some((_, suffix)) if format!(".{suffix}").contains(".file.") => suffix.to_owned(),
                _ => authority,
            };
            Some((scheme.to_ascii_lowercase(), suffix))
        };
        parts(&self.base) == parts(&other.base)
    }

    /// The URL of the service, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.base
    }
}

impl fmt::Display for FilesEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::FilesEndpoint;
    use crate::Environment;
    use proptest::prelude::*;

    #[test]
    fn the_host_follows_from_account_and_cloud() {
        let account = "acct1".parse().unwrap();
        let china = Environment::named("AzureChinaCloud").unwrap();
        let endpoint = FilesEndpoint::in_cloud(&china, &account);
        assert_eq!(endpoint.url(), "https://acct1.file.core.chinacloudapi.cn");
    }

    #[test]
    fn only_addresses_that_may_get_a_key_are_taken() {
        let account = "acct1".parse().unwrap();
        for (url, base) in [
            (
                "https://acct1.z07.file.storage.azure.net/",
                "https://acct1.z07.file.storage.azure.net",
            ),
            (
                "http://127.0.0.1:10004/acct1",
                "http://127.0.0.1:10004/acct1",
            ),
        ] {
            assert_eq!(FilesEndpoint::at(url, &account).unwrap().url(), base);
        }
        for url in [
            "",
            "acct1.file.core.windows.net",
            "http://acct1.file.core.windows.net",
            "https://u:p@acct1.file.core.windows.net",
            "https://acct1.file.core.windows.net/?sig=geheim",
            "ftp://localhost/",
        ] {
            let error = FilesEndpoint::at(url, &account).unwrap_err().to_string();
            assert!(!error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn only_hosts_of_the_same_suffix_are_beside() {
        let account = "acct1".parse().unwrap();
        let at = |url: &str| FilesEndpoint::at(url, &account).unwrap();
        let ours = at("https://acct1.file.core.windows.net");
        for (url, beside) in [
            ("https://other.FILE.core.windows.net/", true),
            ("https://other.file.core.windows.net:444", false),
            ("https://other.file.core.windows.net.evil.example", false),
            ("https://evil.example", false),
            ("https://core.windows.net", false),
            ("http://127.0.0.1:1/acct1", false),
        ] {
            assert_eq!(ours.is_beside(&at(url)), beside, "{url}");
        }
        let local = at("http://127.0.0.1:1/a");
        assert!(local.is_beside(&at("http://127.0.0.1:1/b")));
        assert!(!local.is_beside(&at("http://127.0.0.1:2/b")));
        assert!(!local.is_beside(&at("http://127.1.0.1:1/b")));
    }

    proptest! {
        #[test]
        fn what_is_taken_is_taken_again_as_it_is_printed(text in "https://[a-z0-9.:/@?#-]{0,40}") {
            let account = "acct1".parse().unwrap();
            if let Ok(endpoint) = FilesEndpoint::at(&text, &account) {
                prop_assert_eq!(FilesEndpoint::at(&endpoint.to_string(), &account), Ok(endpoint));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,80}") {
            let _ = FilesEndpoint::at(&text, &"acct1".parse().unwrap());
        }
    }
}
