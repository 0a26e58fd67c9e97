//! From the cloud configuration to Azure.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use azcsi_cloud::{Azure, CloudConfig, Environment, HttpOptions, HttpTransport, Transport};
use azcsi_kube::{Kube, KubeError};
use azcsi_types::clock::Clock;
use azcsi_types::fault::report;

use super::Base;
use super::error::StartError;
use crate::config::{Cloud as Wanted, Config};
use crate::version::VERSION;

/// Key of the Secret.
const KEY: &str = "cloud-config";

/// The text of a configuration, and where it is from.
struct Found {
    text: azcsi_types::secret::Secret,
    source_name: String,
}

/// The way to Azure, and what the configuration says of it.
#[derive(Clone, Debug)]
pub struct Cloud {
    /// The configuration; `None` where there is none.
    pub config: Option<CloudConfig>,
    /// The cloud.
    pub environment: Environment,
    /// The way to it.
    pub transport: Arc<dyn Transport>,
}

impl Cloud {
    /// Azure, if there is a configuration.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn azure(&self, clock: &Arc<dyn Clock>) -> Result<Option<Azure>, StartError> {
        let Some(config) = self.config.clone() else {
            return Ok(None);
        };
        let (environment, transport) = (self.environment.clone(), Arc::clone(&self.transport));
        let azure = Azure::new(config, environment, transport, Arc::clone(clock))?;
        Ok(Some(azure))
    }
}

/// The way to Azure as the configuration describes it; without one the public cloud's.
///
/// # Errors
/// If there is a configuration that cannot be used.
pub async fn build(config: &Config, base: &Base) -> Result<Cloud, StartError> {
    let settings = &config.cloud;
    let Some(found) = find(settings, base.kube.as_ref()).await? else {
        let transport: Arc<dyn Transport> = Arc::new(transport(settings.ca_bundle.as_deref())?);
        let environment = environment(&CloudConfig::default(), settings, &*transport).await?;
        return Ok(Cloud {
            config: None,
            environment,
            transport,
        });
    };
    let name = &found.source_name;
    let text = found.text.expose();
    let mut cloud = CloudConfig::parse(text, name, &settings.env)?;
    // Says what is missing before anybody is contacted.
    cloud.credential(name)?;
    cloud.user_agent = user_agent(config);
    let bundle = settings.ca_bundle.clone();
    let bundle = bundle.or_else(|| ca_file(text));
    let transport: Arc<dyn Transport> = Arc::new(transport(bundle.as_deref())?);
    let environment = environment(&cloud, settings, &*transport).await?;
    tracing::info!(from = %name, cloud = %environment.name, arm = %environment.arm, "cloud configuration");
    Ok(Cloud {
        config: Some(cloud),
        environment,
        transport,
    })
}

/// Where a configuration may be, for the message that there is none.
#[must_use]
pub fn places(settings: &Wanted) -> String {
    let file = settings.file.display();
    match &settings.secret {
        Some((namespace, name)) => {
            format!("neither Secret {namespace}/{name} (key {KEY}) nor file {file} exists")
        }
        None => format!("the file {file} does not exist"),
    }
}

async fn find(settings: &Wanted, kube: Option<&Kube>) -> Result<Option<Found>, StartError> {
    if let (Some((namespace, name)), Some(kube)) = (&settings.secret, kube) {
        match kube.secret(namespace, name, KEY).await {
            Ok(Some(text)) if !text.expose().trim().is_empty() => {
                let source_name = format!("Secret {namespace}/{name}");
                return Ok(Some(Found { text, source_name }));
            }
            Ok(_) => {}
            // Often the Secret is not used at all, and its reading not permitted.
            Err(error @ (KubeError::Denied { .. } | KubeError::Unauthenticated { .. })) => {
                tracing::warn!("{}; the file is read instead", report(&error));
            }
            Err(error) if settings.file.exists() => {
                tracing::warn!("{}; the file is read instead", report(&error));
            }
            Err(error) => return Err(error.into()),
        }
    }
    from_file(settings)
}

fn from_file(settings: &Wanted) -> Result<Option<Found>, StartError> {
    match std::fs::read_to_string(&settings.file) {
        Ok(text) => Ok(Some(Found {
            text: azcsi_types::secret::Secret::new(text),
            source_name: settings.file.display().to_string(),
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !settings.file_is_named => {
            Ok(None)
        }
        Err(source) => Err(StartError::File {
            what: "the cloud configuration",
            path: settings.file.clone(),
            source,
        }),
    }
}

/// The key `caFile` of a configuration in JSON: certificates to trust, for private clouds and the
/// simulator. An addition of ours; `--ca-bundle` counts before it.
fn ca_file(text: &str) -> Option<PathBuf> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let path = value.get("caFile")?.as_str()?;
    (!path.is_empty()).then(|| PathBuf::from(path))
}

/// `<driver>/<version>` or the user's own, then the user's addition.
fn user_agent(config: &Config) -> String {
    let own = || format!("{}/{VERSION}", config.driver);
    let mut text = config.cloud.user_agent.clone().unwrap_or_else(own);
    if let Some(suffix) = &config.cloud.user_agent_suffix {
        text.push(' ');
        text.push_str(suffix);
    }
    text
}

fn transport(bundle: Option<&Path>) -> Result<HttpTransport, StartError> {
    let read = |path: &Path| {
        std::fs::read(path).map_err(|source| StartError::File {
            what: "the CA bundle",
            path: PathBuf::from(path),
            source,
        })
    };
    let options = HttpOptions {
        ca_bundle: bundle.map(read).transpose()?,
        ..HttpOptions::default()
    };
    let shown = || bundle.map_or_else(|| "(none)".to_owned(), |path| path.display().to_string());
    HttpTransport::new(&options).map_err(|source| StartError::Transport {
        bundle: shown(),
        source,
    })
}

/// Where the cloud is: a file, the endpoint's own word, or its well-known name.
async fn environment(
    cloud: &CloudConfig,
    settings: &Wanted,
    transport: &dyn Transport,
) -> Result<Environment, StartError> {
    let mut found = match from_environment_file(settings)? {
        Some(environment) => environment,
        None if cloud.resource_manager_endpoint.is_empty() => Environment::named(&cloud.cloud)?,
        None => {
            let base = Environment::named(&cloud.cloud).ok();
            let endpoint = &cloud.resource_manager_endpoint;
            Environment::discover(transport, endpoint, &cloud.cloud, base).await?
        }
    };
    settings.metadata_endpoint.clone_into(&mut found.imds);
    if let Some(authority) = &settings.env.authority_host {
        authority
            .trim_end_matches('/')
            .clone_into(&mut found.authority);
    }
    Ok(found)
}

fn from_environment_file(settings: &Wanted) -> Result<Option<Environment>, StartError> {
    let Some(path) = &settings.env.environment_file else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(path).map_err(|source| StartError::File {
        what: "the file that AZURE_ENVIRONMENT_FILEPATH names,",
        path: PathBuf::from(path),
        source,
    })?;
    Ok(Environment::from_file(&text)?)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::ca_file;

    #[test]
    fn certificates_may_be_named_in_the_configuration() {
        let named = ca_file(r#"{"caFile": "/x/ca.pem", "cloud": "AzureStackCloud"}"#);
        assert_eq!(named, Some(PathBuf::from("/x/ca.pem")));
        for none in [r#"{"caFile": ""}"#, r#"{"cloud": "x"}"#, "cloud: x", ""] {
            assert_eq!(ca_file(none), None, "{none}");
        }
    }
}
