//! Where Azure is: the clouds by name, custom clouds by discovery or file, API versions.

mod api_versions;

use bytes::Bytes;
use serde::Deserialize;

use crate::config::{CloudConfig, Env};
use crate::pipeline::transport::{Transport, TransportError};
use api_versions::CHINA;
pub use api_versions::{ApiFamily, ApiVersions};

/// The endpoints of one cloud and how to speak to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Canonical name, such as `AzurePublicCloud`.
    pub name: String,
    /// Azure Resource Manager, without a slash at the end.
    pub arm: String,
    /// Authority that issues tokens, without a slash at the end.
    pub authority: String,
    /// Audience of tokens for Azure Resource Manager.
    pub audience: String,
    /// Suffix of storage hosts.
    pub storage_suffix: String,
    /// The metadata service, without a slash at the end.
    pub imds: String,
    /// API version of each family.
    pub api_versions: ApiVersions,
}

/// Why the environment is not known.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// No such cloud.
    #[error(
        "key 'cloud': '{0}' is not a known cloud: use AzurePublicCloud, AzureUSGovernmentCloud, AzureChinaCloud, or AzureStackCloud with 'resourceManagerEndpoint'"
    )]
    UnknownCloud(String),
    /// An Azure Stack Hub without endpoints.
    #[error(
        "key 'cloud' is AzureStackCloud, but nothing tells where it is: set 'resourceManagerEndpoint', or AZURE_ENVIRONMENT_FILEPATH to a file with resourceManagerEndpoint and tokenAudience"
    )]
    StackWithoutEndpoint,
    /// The endpoint is no URL that may carry a token.
    #[error("key '{key}': '{url}' must be an https:// URL; http:// is accepted on this host only")]
    BadUrl {
        /// Where it was read.
        key: &'static str,
        /// What was read.
        url: String,
    },
    /// The endpoint did not answer.
    #[error("{url} does not answer; check 'resourceManagerEndpoint', the proxy and the CA bundle")]
    Unreachable {
        /// The URL.
        url: String,
        /// Why.
        #[source]
        source: TransportError,
    },
    /// The endpoint answered something else.
    #[error("{url} is no endpoint list: {reason}")]
    BadDiscovery {
        /// The URL.
        url: String,
        /// Why.
        reason: String,
    },
    /// The environment file is wrong.
    #[error("the file named by AZURE_ENVIRONMENT_FILEPATH is not valid, line {line}: {reason}")]
    BadFile {
        /// Line of the file.
        line: usize,
        /// Why.
        reason: String,
    },
}

/// The metadata service's address on every machine.
pub const IMDS: &str = "http://169.254.169.254";

impl Environment {
    /// A cloud by its name; empty means the public one.
    ///
    /// # Errors
    /// If there is no such cloud, or its endpoints are not fixed (Azure Stack Hub).
    pub fn named(name: &str) -> Result<Self, EnvironmentError> {
        let folded = name.trim().to_ascii_lowercase();
        let (name, arm, authority, suffix) = match folded.as_str() {
            "" | "azurepubliccloud" | "azurecloud" => (
                "AzurePublicCloud",
                "management.azure.com",
                "login.microsoftonline.com",
                "core.windows.net",
            ),
            "azureusgovernment" | "azureusgovernmentcloud" => (
                "AzureUSGovernmentCloud",
                "management.usgovcloudapi.net",
                "login.microsoftonline.us",
                "core.usgovcloudapi.net",
            ),
            "azurechinacloud" => (
                CHINA,
                "management.chinacloudapi.cn",
                "login.chinacloudapi.cn",
                "core.chinacloudapi.cn",
            ),
            "azurestackcloud" => return Err(EnvironmentError::StackWithoutEndpoint),
            _ => return Err(EnvironmentError::UnknownCloud(name.to_owned())),
        };
        Ok(Self {
            name: name.to_owned(),
            arm: format!("https://{arm}"),
            authority: format!("https://{authority}"),
            audience: format!("https://management.{suffix}/"),
            storage_suffix: suffix.to_owned(),
            imds: IMDS.to_owned(),
            api_versions: ApiVersions::of_cloud(name),
        })
    }

    /// The scope to ask tokens for.
    #[must_use]
    pub fn scope(&self) -> String {
        format!("{}/.default", self.audience.trim_end_matches('/'))
    }

    /// The cloud that a configuration means. `file` is the text of the file that
    /// `AZURE_ENVIRONMENT_FILEPATH` names.
    ///
    /// # Errors
    /// If the cloud is not known or its endpoint does not describe it.
    pub async fn of(
        config: &CloudConfig,
        env: &Env,
        file: Option<&str>,
        transport: &dyn Transport,
    ) -> Result<Self, EnvironmentError> {
        let stack = config.cloud.trim().eq_ignore_ascii_case("AzureStackCloud");
        let endpoint = &config.resource_manager_endpoint;
        let mut found = if endpoint.is_empty() {
            match file.filter(|_| stack).map(Self::from_file).transpose()? {
                Some(Some(found)) => found,
                _ => Self::named(&config.cloud)?,
            }
        } else {
            // A custom cloud may have a name of its own.
            let base = Self::named(&config.cloud).ok();
            Self::discover(transport, endpoint, config.cloud.trim(), base).await?
        };
        found.api_versions = if stack && !config.disable_azure_stack_cloud {
            ApiVersions::stack()
        } else {
            ApiVersions::of_cloud(&found.name)
        };
        if let Some(host) = &env.authority_host {
            found.authority = secure("AZURE_AUTHORITY_HOST", host)?;
        }
        Ok(found)
    }

    /// Asks a Resource Manager endpoint for the cloud around it. `base` holds the defaults of the
    /// cloud's name; `cloud` is that name, empty if it is not set.
    ///
    /// # Errors
    /// If it does not answer, or answers without this cloud.
    pub async fn discover(
        transport: &dyn Transport,
        endpoint: &str,
        cloud: &str,
        base: Option<Self>,
    ) -> Result<Self, EnvironmentError> {
        let endpoint = secure("resourceManagerEndpoint", endpoint)?;
        let url = format!("{endpoint}/metadata/endpoints?api-version=2019-05-01");
        let request = http::Request::get(&url)
            .header(http::header::ACCEPT, "application/json")
            .body(Bytes::new())
            .map_err(|error| EnvironmentError::BadDiscovery {
                url: url.clone(),
                reason: error.to_string(),
            })?;
        let answer =
            transport
                .send(request)
                .await
                .map_err(|source| EnvironmentError::Unreachable {
                    url: url.clone(),
                    source,
                })?;
        if !answer.status().is_success() {
            return Err(EnvironmentError::BadDiscovery {
                url,
                reason: format!("it answered {}", answer.status()),
            });
        }
        Self::from_discovery(answer.body(), &endpoint, cloud, base)
            .map_err(|reason| EnvironmentError::BadDiscovery { url, reason })
    }

    fn from_discovery(
        body: &[u8],
        endpoint: &str,
        cloud: &str,
        base: Option<Self>,
    ) -> Result<Self, String> {
        let list: Discovery = serde_json::from_slice(body).map_err(|e| e.to_string())?;
        let entry = list.choose(cloud)?;
        let authentication = entry.authentication.unwrap_or_default();
        let Some(audience) = authentication.audiences.into_iter().find(|a| !a.is_empty()) else {
            return Err("it names no token audience".to_owned());
        };
        let authority = authentication.login_endpoint.unwrap_or_default();
        let authority = secure("loginEndpoint", &authority).map_err(|e| e.to_string())?;
        let arm = entry.resource_manager.filter(|arm| !arm.is_empty());
        let arm = arm.unwrap_or_else(|| endpoint.to_owned());
        let arm = secure("resourceManager", &arm).map_err(|e| e.to_string())?;
        let suffix = entry.suffixes.and_then(|s| s.storage);
        let imds = base
            .as_ref()
            .map_or_else(|| IMDS.to_owned(), |b| b.imds.clone());
        let old_suffix = base.as_ref().map(|b| b.storage_suffix.clone());
        Ok(Self {
            name: entry.name.unwrap_or_else(|| cloud.to_owned()),
            arm,
            authority,
            audience,
            storage_suffix: suffix.or(old_suffix).unwrap_or_default(),
            imds,
            api_versions: base.map(|b| b.api_versions).unwrap_or_default(),
        })
    }

    /// Reads the file that `AZURE_ENVIRONMENT_FILEPATH` names. It counts only when it holds both
    /// the endpoint and the audience.
    ///
    /// # Errors
    /// If it is not JSON of the expected form.
    pub fn from_file(text: &str) -> Result<Option<Self>, EnvironmentError> {
        let file: File = serde_json::from_str(text).map_err(|e| EnvironmentError::BadFile {
            line: e.line(),
            reason: e.to_string(),
        })?;
        let (Some(arm), Some(audience)) = (file.resource_manager_endpoint, file.token_audience)
        else {
            return Ok(None);
        };
        let public = "https://login.microsoftonline.com".to_owned();
        let authority = file.active_directory_endpoint.unwrap_or(public);
        Ok(Some(Self {
            name: file.name.unwrap_or_else(|| "AzureStackCloud".to_owned()),
            arm: secure("resourceManagerEndpoint", &arm)?,
            authority: secure("activeDirectoryEndpoint", &authority)?,
            audience,
            storage_suffix: file.storage_endpoint_suffix.unwrap_or_default(),
            imds: IMDS.to_owned(),
            api_versions: ApiVersions::stack(),
        }))
    }
}

/// Accepts https, and http on the loopback interface, and strips slashes at the end.
fn secure(key: &'static str, url: &str) -> Result<String, EnvironmentError> {
    let url = url.trim().trim_end_matches('/');
    let bad = || EnvironmentError::BadUrl {
        key,
        url: url.to_owned(),
    };
    let uri: http::Uri = url.parse().map_err(|_| bad())?;
    let host = uri.host().unwrap_or_default();
    match uri.scheme_str() {
        Some("https") if !host.is_empty() => Ok(url.to_owned()),
        Some("http") if is_loopback(host) => Ok(url.to_owned()),
        _ => Err(bad()),
    }
}

/// Whether a host is this one, so that plain http does not cross a wire.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Whether two names mean the same cloud: some have several.
fn is_same_cloud(one: &str, other: &str) -> bool {
    let known = |name: &str| Environment::named(name).ok().map(|found| found.name);
    one.eq_ignore_ascii_case(other) || known(one).is_some_and(|name| known(other) == Some(name))
}

/// Both forms of the endpoint list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Discovery {
    List(Vec<Entry>),
    One(Box<LegacyEntry>),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Entry {
    name: Option<String>,
    resource_manager: Option<String>,
    authentication: Option<Authentication>,
    suffixes: Option<Suffixes>,
}

/// The form of API version 1.0: one object, with the token part only.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LegacyEntry {
    name: Option<String>,
    resource_manager: Option<String>,
    authentication: Option<Authentication>,
    suffixes: Option<Suffixes>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Authentication {
    login_endpoint: Option<String>,
    audiences: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Suffixes {
    storage: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    name: Option<String>,
    resource_manager_endpoint: Option<String>,
    active_directory_endpoint: Option<String>,
    token_audience: Option<String>,
    storage_endpoint_suffix: Option<String>,
}

impl Discovery {
    fn choose(self, cloud: &str) -> Result<Entry, String> {
        let list = match self {
            Self::One(one) => {
                return Ok(Entry {
                    name: one.name,
                    resource_manager: one.resource_manager,
                    authentication: one.authentication,
                    suffixes: one.suffixes,
                });
            }
            Self::List(list) => list,
        };
        let names: Vec<String> = list.iter().filter_map(|e| e.name.clone()).collect();
        list.into_iter()
            .find(|entry| {
                cloud.is_empty()
                    || entry
                        .name
                        .as_deref()
                        .is_some_and(|name| is_same_cloud(name, cloud))
            })
            .ok_or_else(|| {
                format!(
                    "it knows no cloud '{cloud}', only {}; correct the key 'cloud'",
                    names.join(", ")
                )
            })
    }
}

#[cfg(test)]
mod tests;
