//! The instance metadata service: what a machine can learn about itself.

use std::sync::Arc;
use std::time::Duration;

use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::lun::Lun;
use azcsi_types::node::VmRef;
use azcsi_types::resource_id::ResourceId;
use bytes::Bytes;
use http::StatusCode;
use serde::{Deserialize, Deserializer};

use crate::pipeline::transport::{Transport, TransportError};
use crate::wire;

/// Limit for one request.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Sendings of one request; the service answers 429 and 410 while it is busy or being updated.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(300);

/// What the machine knows about itself. Empty text means unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Instance {
    /// The machine.
    pub compute: Compute,
}

/// `compute` of the instance document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Compute {
    /// Name of the cloud.
    #[serde(deserialize_with = "wire::scalar")]
    pub az_environment: String,
    /// Region.
    #[serde(deserialize_with = "wire::scalar")]
    pub location: String,
    /// Name of the machine; `{set}_{instance}` in a Uniform scale set.
    #[serde(deserialize_with = "wire::scalar")]
    pub name: String,
    /// Resource group.
    #[serde(deserialize_with = "wire::scalar")]
    pub resource_group_name: String,
    /// Subscription.
    #[serde(deserialize_with = "wire::scalar")]
    pub subscription_id: String,
    /// Resource id.
    #[serde(deserialize_with = "wire::scalar")]
    pub resource_id: String,
    /// Unique id.
    #[serde(deserialize_with = "wire::scalar")]
    pub vm_id: String,
    /// Machine size.
    #[serde(deserialize_with = "wire::scalar")]
    pub vm_size: String,
    /// Scale set, if any.
    #[serde(deserialize_with = "wire::scalar")]
    pub vm_scale_set_name: String,
    /// Zone digit.
    #[serde(deserialize_with = "wire::scalar")]
    pub zone: String,
    /// Fault domain.
    #[serde(deserialize_with = "wire::scalar")]
    pub platform_fault_domain: String,
    /// Host name.
    #[serde(deserialize_with = "wire::or_default")]
    pub os_profile: OsProfile,
    /// Disks.
    #[serde(deserialize_with = "wire::or_default")]
    pub storage_profile: Storage,
}

/// Host name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OsProfile {
    /// Host name.
    #[serde(deserialize_with = "wire::scalar")]
    pub computer_name: String,
}

/// Disks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Storage {
    /// Data disks.
    #[serde(deserialize_with = "wire::or_default")]
    pub data_disks: Vec<DataDisk>,
}

/// A data disk as the machine sees it. May lag behind by a minute: a hint, no proof.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataDisk {
    /// The slot.
    #[serde(deserialize_with = "wire::lun")]
    pub lun: Lun,
    /// Name of the disk.
    #[serde(default, deserialize_with = "wire::scalar")]
    pub name: String,
    /// Id of the managed disk.
    #[serde(rename = "managedDisk", default, deserialize_with = "managed_disk")]
    pub disk_id: Option<ResourceId>,
}

fn managed_disk<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ResourceId>, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Managed {
        #[serde(deserialize_with = "wire::parsed_option")]
        id: Option<ResourceId>,
    }
    Ok(Option::<Managed>::deserialize(deserializer)?.and_then(|managed| managed.id))
}

impl Instance {
    /// The data disks.
    #[must_use]
    pub fn data_disks(&self) -> &[DataDisk] {
        &self.compute.storage_profile.data_disks
    }

    /// The machine's own resource, if the document names it.
    #[must_use]
    pub fn vm(&self) -> Option<VmRef> {
        self.compute.resource_id.parse().ok()
    }
}

/// Why the metadata service gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// No answer.
    #[error("the instance metadata service does not answer")]
    Unreachable(#[source] TransportError),
    /// An error.
    #[error("the instance metadata service answered {status}: {text}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// Its reason.
        text: String,
    },
    /// Not the expected document.
    #[error("the instance metadata is not understood at '{place}'")]
    Document {
        /// Where.
        place: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The request cannot be built: the base URL is wrong.
    #[error("'{0}' is not a URL of an instance metadata service")]
    BadUrl(String),
}

impl Faulty for MetadataError {
    fn fault(&self) -> Fault {
        match self {
            Self::BadUrl(_) => Fault::Internal,
            Self::Unreachable(_) | Self::Refused { .. } | Self::Document { .. } => {
                Fault::Unavailable
            }
        }
    }
}

/// Reads the instance metadata service. Its transport must not use a proxy.
#[derive(Clone, Debug)]
pub struct InstanceMetadata {
    base: String,
    transport: Arc<dyn Transport>,
}

impl InstanceMetadata {
    /// `base` is [`crate::environment::IMDS`] on a real machine.
    #[must_use]
    pub fn new(base: &str, transport: Arc<dyn Transport>) -> Self {
        Self {
            base: base.trim_end_matches('/').to_owned(),
            transport,
        }
    }

    /// The instance document.
    ///
    /// # Errors
    /// If the service does not answer in time, refuses, or answers something else.
    pub async fn instance(&self) -> Result<Instance, MetadataError> {
        let body = self
            .read("/metadata/instance?api-version=2021-10-01&format=json")
            .await?;
        let mut reader = serde_json::Deserializer::from_slice(&body);
        serde_path_to_error::deserialize(&mut reader).map_err(|error| MetadataError::Document {
            place: error.path().to_string(),
            source: error.into_inner(),
        })
    }

    async fn read(&self, path: &str) -> Result<Bytes, MetadataError> {
        let mut tried = 0;
        loop {
            tried += 1;
            let error = match self.once(path).await {
                Ok(body) => return Ok(body),
                Err(error) => error,
            };
            if tried >= TRIES || !is_passing(&error) {
                return Err(error);
            }
            tokio::time::sleep(PAUSE.saturating_mul(1 << tried)).await;
        }
    }

    async fn once(&self, path: &str) -> Result<Bytes, MetadataError> {
        let request = http::Request::get(format!("{}{path}", self.base))
            .header("Metadata", "true")
            .body(Bytes::new())
            .map_err(|_| MetadataError::BadUrl(self.base.clone()))?;
        let silent = || TransportError::silent(&self.base, TIMEOUT);
        let answer = tokio::time::timeout(TIMEOUT, self.transport.send(request))
            .await
            .unwrap_or_else(|_| Err(silent()))
            .map_err(MetadataError::Unreachable)?;
        if answer.status().is_success() {
            return Ok(answer.into_body());
        }
        let text = String::from_utf8_lossy(answer.body());
        Err(MetadataError::Refused {
            status: answer.status(),
            text: text.chars().take(200).collect(),
        })
    }
}

fn is_passing(error: &MetadataError) -> bool {
    match error {
        MetadataError::Unreachable(_) => true,
        MetadataError::Refused { status, .. } => {
            matches!(status.as_u16(), 404 | 408 | 410 | 429) || status.is_server_error()
        }
        MetadataError::Document { .. } | MetadataError::BadUrl(_) => false,
    }
}

#[cfg(test)]
mod tests;
