//! The cloud configuration: `azure.json` on a node, or the `cloud-config` of a Secret.
//!
//! The keys and their case are those of the Kubernetes Azure provider, because the same file serves
//! both. Unknown keys are ignored: real files carry many that are not for a storage driver.
//! The text is JSON, or YAML in the flat form in which such files are written.

use azcsi_types::secret::Secret;
use serde::{Deserialize, Deserializer};

mod yaml;

/// Where the file is when nothing says otherwise.
pub const DEFAULT_FILE: &str = "/etc/kubernetes/azure.json";

/// Which kind of credential is used.
#[derive(Clone, Debug)]
pub enum Credential {
    /// A projected service account token is exchanged.
    Federated {
        /// File with the token; it changes.
        token_file: String,
    },
    /// The machine's identity.
    ManagedIdentity {
        /// Client id, or resource id when it holds `/subscriptions/`; `None` for the system's own.
        identity: Option<String>,
    },
    /// A client secret.
    ClientSecret {
        /// The secret.
        secret: Secret,
    },
    /// A client certificate.
    Certificate {
        /// PEM file with certificates and private key; it may change.
        path: String,
    },
}

/// The configuration as it was read, with the environment's overrides.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CloudConfig {
    /// Name of the cloud.
    pub cloud: String,
    /// Endpoint of a custom cloud.
    pub resource_manager_endpoint: String,
    /// `AzureStackCloud` means a custom endpoint with modern API versions.
    #[serde(deserialize_with = "truth")]
    pub disable_azure_stack_cloud: bool,
    /// Tenant.
    pub tenant_id: String,
    /// Subscription.
    pub subscription_id: String,
    /// Resource group of the cluster.
    pub resource_group: String,
    /// Region, lower case without spaces.
    #[serde(deserialize_with = "location")]
    pub location: String,
    /// Name of the edge zone.
    pub extended_location_name: String,
    /// Type of the edge zone.
    pub extended_location_type: String,
    /// `vmss`, `standard` or `vmssflex`.
    pub vm_type: String,
    /// Whether nodes of availability sets are not looked for.
    #[serde(deserialize_with = "truth")]
    pub disable_availability_set_nodes: bool,
    /// Whether Flexible scale sets are looked at.
    #[serde(deserialize_with = "truth")]
    pub enable_vmss_flex_nodes: bool,
    /// Application id.
    #[serde(rename = "aadClientId", alias = "aadClientID")]
    pub aad_client_id: String,
    /// Client secret.
    #[serde(deserialize_with = "secret")]
    pub aad_client_secret: Option<Secret>,
    /// File with the client certificate.
    pub aad_client_cert_path: String,
    /// Password of that file.
    #[serde(deserialize_with = "secret")]
    pub aad_client_cert_password: Option<Secret>,
    /// Whether the machine's identity is used.
    #[serde(deserialize_with = "truth")]
    pub use_managed_identity_extension: bool,
    /// Which identity of the machine.
    #[serde(rename = "userAssignedIdentityID", alias = "userAssignedIdentityId")]
    pub user_assigned_identity_id: String,
    /// File with a projected service account token.
    pub aad_federated_token_file: String,
    /// Whether that token is exchanged.
    #[serde(deserialize_with = "truth")]
    pub use_federated_workload_identity_extension: bool,
    /// Identity file of the managed data plane.
    #[serde(rename = "aadMSIDataPlaneIdentityPath")]
    pub aad_msi_data_plane_identity_path: String,
    /// Virtual network of the cluster.
    #[serde(deserialize_with = "trimmed")]
    pub vnet_name: String,
    /// Its resource group, if it is another one.
    #[serde(deserialize_with = "trimmed")]
    pub vnet_resource_group: String,
    /// Subnet of the nodes.
    #[serde(deserialize_with = "trimmed")]
    pub subnet_name: String,
    /// Subscription of network resources, if it is another one.
    #[serde(
        rename = "networkResourceSubscriptionID",
        alias = "networkResourceSubscriptionId",
        deserialize_with = "trimmed"
    )]
    pub network_resource_subscription_id: String,
    /// Tenant of network resources, if it is another one.
    #[serde(rename = "networkResourceTenantID", alias = "networkResourceTenantId")]
    pub network_resource_tenant_id: String,
    /// User agent in place of the driver's own.
    pub user_agent: String,
    /// Whether SDK-style backoff is configured.
    #[serde(deserialize_with = "truth")]
    pub cloud_provider_backoff: bool,
    /// Retries.
    #[serde(deserialize_with = "number")]
    pub cloud_provider_backoff_retries: Option<u64>,
    /// Pause before the first retry, in seconds.
    #[serde(deserialize_with = "number")]
    pub cloud_provider_backoff_duration: Option<u64>,
    /// Lifetime of cached machines, in seconds.
    #[serde(rename = "vmCacheTTLInSeconds", deserialize_with = "number")]
    pub vm_cache_ttl_in_seconds: Option<u64>,
    /// Lifetime of cached scale sets, in seconds.
    #[serde(rename = "vmssCacheTTLInSeconds", deserialize_with = "number")]
    pub vmss_cache_ttl_in_seconds: Option<u64>,
    /// Lifetime of cached scale set instances, in seconds.
    #[serde(
        rename = "vmssVirtualMachinesCacheTTLInSeconds",
        deserialize_with = "number"
    )]
    pub vmss_virtual_machines_cache_ttl_in_seconds: Option<u64>,
    /// Whether caches are not used.
    #[serde(rename = "disableAPICallCache", deserialize_with = "truth")]
    pub disable_api_call_cache: bool,
    /// Whether a pause below the poll interval is ignored.
    #[serde(deserialize_with = "truth")]
    pub enable_minimum_retry_after: bool,
}

/// Environment variables that override the file. A value of its own, so that nothing but the start
/// of the program reads the environment.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// `AZURE_TENANT_ID`.
    pub tenant_id: Option<String>,
    /// `AZURE_CLIENT_ID`.
    pub client_id: Option<String>,
    /// `AZURE_CLIENT_SECRET`.
    pub client_secret: Option<Secret>,
    /// `AZURE_FEDERATED_TOKEN_FILE`.
    pub federated_token_file: Option<String>,
    /// `AZURE_AUTHORITY_HOST`.
    pub authority_host: Option<String>,
    /// `AZURE_ENVIRONMENT_FILEPATH`.
    pub environment_file: Option<String>,
    /// `AZURE_CREDENTIAL_FILE`.
    pub credential_file: Option<String>,
}

impl Env {
    /// Reads the variables through a function; `std::env::var` in the owner's hands, a map in tests.
    #[must_use]
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let read = |name: &str| {
            let value = variable(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        Self {
            tenant_id: read("AZURE_TENANT_ID"),
            client_id: read("AZURE_CLIENT_ID"),
            client_secret: read("AZURE_CLIENT_SECRET").map(Secret::new),
            federated_token_file: read("AZURE_FEDERATED_TOKEN_FILE"),
            authority_host: read("AZURE_AUTHORITY_HOST"),
            environment_file: read("AZURE_ENVIRONMENT_FILEPATH"),
            credential_file: read("AZURE_CREDENTIAL_FILE"),
        }
    }

    /// The file to read when no Secret holds the configuration.
    #[must_use]
    pub fn config_file(&self) -> &str {
        self.credential_file.as_deref().unwrap_or(DEFAULT_FILE)
    }
}

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not readable.
    #[error("{source_name}, line {line}: {key}: {reason}")]
    Syntax {
        /// File or Secret.
        source_name: String,
        /// Line, from 1.
        line: usize,
        /// Key, or where in the text.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// A key is missing.
    #[error("{source_name}: key '{key}' is missing; {remedy}")]
    Missing {
        /// File or Secret.
        source_name: String,
        /// The key.
        key: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A combination that cannot work.
    #[error("{source_name}: key '{key}': {reason}")]
    Contradiction {
        /// File or Secret.
        source_name: String,
        /// The key.
        key: &'static str,
        /// What is wrong and what to do.
        reason: String,
    },
    /// No credential.
    #[error(
        "{0}: no credential is configured: set 'useManagedIdentityExtension': true, or 'aadClientId' with 'aadClientSecret' or 'aadClientCertPath', or AZURE_FEDERATED_TOKEN_FILE"
    )]
    NoCredential(String),
}

/// Lower case, without spaces: `East US 2` is `eastus2`.
#[must_use]
pub fn normal_location(location: &str) -> String {
    location
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

fn location<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(normal_location(&crate::wire::scalar(deserializer)?))
}

fn trimmed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(crate::wire::scalar(deserializer)?.trim().to_owned())
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Secret>, D::Error> {
    let text = crate::wire::scalar(deserializer)?;
    Ok((!text.is_empty()).then(|| Secret::new(text)))
}

fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match crate::wire::scalar(deserializer)?
        .to_ascii_lowercase()
        .as_str()
    {
        "" | "false" => Ok(false),
        "true" => Ok(true),
        _ => Err(serde::de::Error::custom("expected true or false")),
    }
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = crate::wire::scalar(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    // Some tools write 6.0 for 6.
    let whole = text.strip_suffix(".0").unwrap_or(&text);
    let number = whole.parse();
    number
        .map(Some)
        .map_err(|_| serde::de::Error::custom("expected a whole number of at least 0"))
}

impl CloudConfig {
    /// Reads a configuration. `source_name` is the file or Secret, for messages.
    ///
    /// # Errors
    /// If it is neither JSON nor flat YAML, or a value has the wrong type.
    pub fn parse(text: &str, source_name: &str, env: &Env) -> Result<Self, ConfigError> {
        let text = text.trim_start_matches('\u{feff}');
        let json;
        let (json_text, is_yaml) = if text.trim_start().starts_with('{') {
            (text, false)
        } else {
            json = yaml::to_json(text).map_err(|(line, reason)| ConfigError::Syntax {
                source_name: source_name.to_owned(),
                line,
                key: "text".to_owned(),
                reason,
            })?;
            (json.as_str(), true)
        };
        let mut reader = serde_json::Deserializer::from_str(json_text);
        let mut config: Self = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let key = error.path().to_string();
            let line = if is_yaml {
                yaml::line_of(text, &key)
            } else {
                error.inner().line()
            };
            ConfigError::Syntax {
                source_name: source_name.to_owned(),
                line,
                key: format!("key '{key}'"),
                reason: reason_of(error.inner()),
            }
        })?;
        config.override_with(env);
        Ok(config)
    }

    fn override_with(&mut self, env: &Env) {
        if let Some(tenant) = &env.tenant_id {
            self.tenant_id.clone_from(tenant);
        }
        if let Some(client) = &env.client_id {
            self.aad_client_id.clone_from(client);
        }
        if let Some(secret) = &env.client_secret {
            self.aad_client_secret = Some(secret.clone());
        }
        if let Some(file) = &env.federated_token_file {
            self.aad_federated_token_file.clone_from(file);
            self.use_federated_workload_identity_extension = true;
        }
    }

    /// Checks what every call needs, and which credential is meant. First match wins: federated
    /// token, managed identity, secret, certificate.
    ///
    /// # Errors
    /// If a key is missing or two contradict each other.
    pub fn credential(&self, source_name: &str) -> Result<Credential, ConfigError> {
        let missing = |key, remedy| ConfigError::Missing {
            source_name: source_name.to_owned(),
            key,
            remedy,
        };
        if self.subscription_id.is_empty() {
            let remedy = "set it to the id of the cluster's subscription";
            return Err(missing("subscriptionId", remedy));
        }
        if self.use_federated_workload_identity_extension {
            if self.aad_federated_token_file.is_empty() {
                let remedy = "useFederatedWorkloadIdentityExtension needs it, or AZURE_FEDERATED_TOKEN_FILE; label the pod azure.workload.identity/use=true";
                return Err(missing("aadFederatedTokenFile", remedy));
            }
            self.need_application(source_name)?;
            let token_file = self.aad_federated_token_file.clone();
            return Ok(Credential::Federated { token_file });
        }
        if self.use_managed_identity_extension {
            let identity = &self.user_assigned_identity_id;
            let identity = (!identity.is_empty()).then(|| identity.clone());
            return Ok(Credential::ManagedIdentity { identity });
        }
        self.application_credential(source_name)
    }

    fn application_credential(&self, source_name: &str) -> Result<Credential, ConfigError> {
        let wrong = |key, reason: &str| ConfigError::Contradiction {
            source_name: source_name.to_owned(),
            key,
            reason: reason.to_owned(),
        };
        if let Some(secret) = &self.aad_client_secret {
            if secret.expose() == "msi" {
                let reason = "'msi' stands for a managed identity, but 'useManagedIdentityExtension' is not true; set it";
                return Err(wrong("aadClientSecret", reason));
            }
            self.need_application(source_name)?;
            let secret = secret.clone();
            return Ok(Credential::ClientSecret { secret });
        }
        if !self.aad_client_cert_path.is_empty() {
            self.need_application(source_name)?;
            let path = self.aad_client_cert_path.clone();
            return Ok(Credential::Certificate { path });
        }
        if !self.aad_msi_data_plane_identity_path.is_empty() {
            let reason = "identity files of the managed data plane are not supported; use a managed identity or a federated token";
            return Err(wrong("aadMSIDataPlaneIdentityPath", reason));
        }
        if !self.user_assigned_identity_id.is_empty() {
            let reason = "it has no effect unless 'useManagedIdentityExtension' is true; set it";
            return Err(wrong("userAssignedIdentityID", reason));
        }
        if !self.aad_federated_token_file.is_empty() {
            let reason =
                "it has no effect unless 'useFederatedWorkloadIdentityExtension' is true; set it";
            return Err(wrong("aadFederatedTokenFile", reason));
        }
        Err(ConfigError::NoCredential(source_name.to_owned()))
    }

    fn need_application(&self, source_name: &str) -> Result<(), ConfigError> {
        let missing = |key, remedy| ConfigError::Missing {
            source_name: source_name.to_owned(),
            key,
            remedy,
        };
        if self.tenant_id.is_empty() {
            return Err(missing("tenantId", "set it to the id of the tenant"));
        }
        if self.aad_client_id.is_empty() {
            return Err(missing("aadClientId", "set it to the application id"));
        }
        Ok(())
    }

    /// The edge zone; both parts must be set.
    #[must_use]
    pub fn extended_location(&self) -> Option<crate::compute::types::ExtendedLocation> {
        let set =
            !self.extended_location_name.is_empty() && !self.extended_location_type.is_empty();
        set.then(|| crate::compute::types::ExtendedLocation {
            name: self.extended_location_name.clone(),
            kind: self.extended_location_type.clone(),
        })
    }
}

/// The message of a JSON error without its position, and never with the value: it may be a secret.
fn reason_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    if let Some((_, expected)) = text.split_once(", expected ") {
        return format!("expected {expected}");
    }
    text.to_owned()
}

#[cfg(test)]
mod tests;
