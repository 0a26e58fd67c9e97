//! The node's view of its machine, from the instance metadata service.
//!
//! The service limits how often it may be asked, so answers are shared; and its client is made when
//! it is first needed, because most of a node plugin's life nobody asks.

use std::sync::Arc;
use std::time::Duration;

use azcsi_cloud::metadata::{Instance, InstanceMetadata};
use azcsi_cloud::pipeline::transport::Proxy;
use azcsi_cloud::{HttpOptions, HttpTransport};
use azcsi_types::clock::Clock;
use azcsi_types::disk_uri::DiskUri;
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use crate::node::machine::{Look, Machine, MachineFacts, Unanswered};

/// How old a recent answer may be.
const RECENT: Duration = Duration::from_secs(60);
/// Connections to it never leave the host.
const CONNECT: Duration = Duration::from_secs(2);

const NAME: &str = "instance metadata service";

/// The instance metadata service.
#[derive(Debug)]
pub struct Metadata {
    endpoint: String,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    client: Option<InstanceMetadata>,
    known: Option<(Duration, Arc<MachineFacts>)>,
}

impl Metadata {
    /// The service at this base URL. Nothing is sent yet.
    #[must_use]
    pub fn new(endpoint: &str, clock: Arc<dyn Clock>) -> Self {
        Self {
            endpoint: endpoint.to_owned(),
            clock,
            state: Mutex::default(),
        }
    }

    /// The same with a client that exists already.
    #[must_use]
    pub fn over(client: InstanceMetadata, clock: Arc<dyn Clock>) -> Self {
        let state = State {
            client: Some(client),
            known: None,
        };
        Self {
            endpoint: String::new(),
            clock,
            state: Mutex::new(state),
        }
    }

    async fn look(&self, look: Look) -> Result<Arc<MachineFacts>, Unanswered> {
        // Held while asking: callers that come together share one answer.
        let mut state = self.state.lock().await;
        let now = self.clock.now();
        if let (Look::Recent, Some((at, facts))) = (look, &state.known)
            && now.saturating_sub(*at) <= RECENT
        {
            return Ok(Arc::clone(facts));
        }
        let client = match &state.client {
            Some(client) => client.clone(),
            None => {
                let client = connect(&self.endpoint)?;
                state.client.insert(client).clone()
            }
        };
        let instance = Box::pin(client.instance()).await.map_err(unanswered)?;
        let facts = Arc::new(facts(&instance));
        state.known = Some((self.clock.now(), Arc::clone(&facts)));
        Ok(facts)
    }
}

fn unanswered(error: impl std::error::Error + Send + Sync + 'static) -> Unanswered {
    Unanswered {
        source_name: NAME,
        source: Box::new(error),
    }
}

fn connect(endpoint: &str) -> Result<InstanceMetadata, Unanswered> {
    let options = HttpOptions {
        proxy: Proxy::Never,
        connect_timeout: CONNECT,
        ..HttpOptions::default()
    };
    let transport = HttpTransport::new(&options).map_err(unanswered)?;
    Ok(InstanceMetadata::new(endpoint, Arc::new(transport)))
}

fn facts(instance: &Instance) -> MachineFacts {
    let compute = &instance.compute;
    let disk = |disk: &azcsi_cloud::metadata::DataDisk| {
        let id = disk.disk_id.clone();
        (disk.lun, id.and_then(|id| DiskUri::try_from(id).ok()))
    };
    MachineFacts {
        name: compute.name.clone(),
        in_scale_set: is_instance(instance),
        size: compute.vm_size.clone(),
        location: compute.location.clone(),
        zone: compute.zone.clone(),
        disks: instance.data_disks().iter().map(disk).collect(),
    }
}

/// Whether the name has the form `{set}_{instance}`: only in a Uniform scale set.
fn is_instance(instance: &Instance) -> bool {
    let set = &instance.compute.vm_scale_set_name;
    let rest = instance.compute.name.strip_prefix(set.as_str());
    !set.is_empty() && rest.is_some_and(|rest| rest.starts_with('_'))
}

impl Machine for Metadata {
    fn facts(&self, look: Look) -> BoxFuture<'_, Result<Arc<MachineFacts>, Unanswered>> {
        Box::pin(self.look(look))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use azcsi_cloud::InstanceMetadata;
    use azcsi_cloud::ServiceTransport;
    use azcsi_rpc::SystemClock;

    use super::Metadata;
    use crate::node::machine::{Look, Machine as _};

    const DOCUMENT: &str = r#"{"compute": {
        "name": "pool_3", "vmScaleSetName": "pool", "vmSize": "Standard_D4s_v5",
        "location": "eastus2", "zone": "2", "storageProfile": {"dataDisks": [
            {"lun": "1", "name": "d", "managedDisk": {"id":
             "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d"}},
            {"lun": "4", "name": "unmanaged", "managedDisk": {"id": ""}}]}}}"#;

    #[tokio::test(start_paused = true)]
    async fn facts_are_shared_for_a_minute_unless_fresh_ones_are_wanted() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let service = tower::service_fn(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, Infallible>(http::Response::new(DOCUMENT.into())) }
        });
        let transport = Arc::new(ServiceTransport::new(service));
        let client = InstanceMetadata::new("http://imds", transport);
        let machine = Metadata::over(client, Arc::new(SystemClock::new()));
        let facts = machine.facts(Look::Recent).await.unwrap();
        assert_eq!((facts.name.as_str(), facts.in_scale_set), ("pool_3", true));
        assert_eq!(
            (facts.zone.as_str(), facts.size.as_str()),
            ("2", "Standard_D4s_v5")
        );
        let slots: Vec<_> = facts
            .disks
            .iter()
            .map(|(lun, disk)| (lun.get(), disk.is_some()))
            .collect();
        assert_eq!(slots, [(1, true), (4, false)]);
        machine.facts(Look::Recent).await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        machine.facts(Look::Fresh).await.unwrap();
        tokio::time::advance(Duration::from_secs(61)).await;
        machine.facts(Look::Recent).await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), 3);
    }
}
