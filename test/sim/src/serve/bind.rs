//! Binds every socket of a world and says where each is.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use azcsi_types::clock::Clock;
use time::OffsetDateTime;
use tokio_rustls::TlsAcceptor;

use super::endpoints::{Endpoints, NodeEndpoints};
use super::machine;
use super::run::World;
use super::site::{Listener, Site};
use super::sites::{ArmSite, FilesSite, ImdsSite, KubeSite};
use super::tls::Authority;
use crate::cli::ServeArgs;
use crate::control::ControlSite;
use crate::imds::identity::Identities;
use crate::imds::{Imds, Throttle};
use crate::network::reach::Place;
use crate::network::seed;

/// Worlds of more nodes have one data plane for all of them.
const NODES_WITH_FILES: usize = 100;

/// A socket with what it will answer.
pub(super) type Served = (Listener, Option<TlsAcceptor>, Arc<dyn Site>);

pub(super) async fn bind(
    args: &ServeArgs,
    world: &World,
) -> anyhow::Result<(Endpoints, Vec<Served>)> {
    let arm = listen(args.listen).await?;
    let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let arm_http = listen(any).await?;
    let control = listen(any).await?;
    let kubernetes = listen(any).await?;
    let files = listen(any).await?;
    let now = OffsetDateTime::from(world.clock.wall());
    let certificates = Authority::open(&world.dir, now)?;
    let ca_file = certificates.pem().to_owned();
    let tls = certificates.acceptor(now)?;

    let mut endpoints = describe(world, ca_file);
    endpoints.arm = format!("https://localhost:{}", arm.address().port());
    endpoints.authority.clone_from(&endpoints.arm);
    endpoints.arm_http = format!("http://{}", arm_http.address());
    endpoints.control = format!("http://{}", control.address());
    endpoints.kubernetes = format!("http://{}", kubernetes.address());
    endpoints.files = format!("https://localhost:{}", files.address().port());

    let entra = world.entra()?;
    let arm_site: Arc<dyn Site> = Arc::new(ArmSite {
        backend: Arc::clone(&world.backend),
        keeper: Arc::clone(&world.keeper),
        entra: Arc::new(entra),
        authority: endpoints.authority.clone(),
    });
    let kube_site = KubeSite {
        store: Arc::clone(&world.kube),
        keeper: Arc::clone(&world.keeper),
    };
    let mut served: Vec<Served> = vec![
        (arm, Some(tls.clone()), Arc::clone(&arm_site)),
        (files, Some(tls.clone()), files_site(world, None)),
        (arm_http, None, arm_site),
        (kubernetes, None, Arc::new(kube_site)),
    ];
    let throttles = bind_nodes(world, &tls, &mut endpoints, &mut served).await?;
    world.backend.files_at(endpoints.files_of_accounts());
    let control_site = ControlSite {
        backend: Arc::clone(&world.backend),
        kube: Arc::clone(&world.kube),
        keeper: Arc::clone(&world.keeper),
        clock: Arc::clone(&world.clock),
        throttles,
        endpoints: endpoints.clone(),
    };
    served.push((control, None, Arc::new(control_site)));
    Ok((endpoints, served))
}

fn files_site(world: &World, place: Option<Place>) -> Arc<dyn Site> {
    Arc::new(FilesSite {
        backend: Arc::clone(&world.backend),
        keeper: Arc::clone(&world.keeper),
        place,
    })
}

/// A data plane for each node, whose callers are in the node's subnet. Larger worlds have none:
/// their callers say in headers where they are.
async fn bind_files(
    world: &World,
    (tls, count): (&TlsAcceptor, usize),
    node: usize,
    served: &mut Vec<Served>,
) -> anyhow::Result<Option<String>> {
    if count > NODES_WITH_FILES {
        return Ok(None);
    }
    let (subscription, group) = (
        world.file.subscription.get_ref(),
        world.file.resource_group.get_ref(),
    );
    let place = seed::place(subscription, group, u32::try_from(node).unwrap_or(u32::MAX));
    let listener = listen(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).await?;
    let url = format!("https://localhost:{}", listener.address().port());
    served.push((listener, Some(tls.clone()), files_site(world, Some(place))));
    Ok(Some(url))
}

async fn bind_nodes(
    world: &World,
    tls: &TlsAcceptor,
    endpoints: &mut Endpoints,
    served: &mut Vec<Served>,
) -> anyhow::Result<BTreeMap<String, Throttle>> {
    let clock: Arc<dyn Clock> = world.clock.clone();
    let tenant = world.file.tenant.get_ref();
    let key = world.secrets.token_key();
    let identities = Arc::new(Identities::new(tenant, key, clock, Vec::new()));
    let mut throttles = BTreeMap::new();
    let nodes = world.backend.nodes();
    let count = nodes.len();
    for (index, node) in nodes.into_iter().enumerate() {
        let files = bind_files(world, (tls, count), index, served).await?;
        let listener = listen(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).await?;
        let throttle = Throttle::default();
        let machine = machine::Node::new(&node.name, &world.backend, &world.lag);
        let imds = Imds::new(Arc::new(machine), Arc::clone(&identities), throttle.clone());
        endpoints.nodes.push(NodeEndpoints {
            imds: format!("http://{}", listener.address()),
            files,
            device_root: world
                .devices
                .then(|| world.dir.join("nodes").join(&node.name).join("dev")),
            provider_id: node.provider_id,
            name: node.name.clone(),
        });
        let site = ImdsSite {
            imds,
            backend: Arc::clone(&world.backend),
        };
        served.push((listener, None, Arc::new(site)));
        throttles.insert(node.name, throttle);
    }
    Ok(throttles)
}

async fn listen(address: SocketAddr) -> anyhow::Result<Listener> {
    Listener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; choose another --listen address on 127.0.0.1")
    })
}

fn describe(world: &World, ca_file: PathBuf) -> Endpoints {
    let app = world.file.apps.first();
    let file = |name: &str| world.dir.join(name);
    Endpoints {
        arm: String::new(),
        arm_http: String::new(),
        authority: String::new(),
        control: String::new(),
        kubernetes: String::new(),
        files: String::new(),
        storage_suffix: "core.windows.net".to_owned(),
        shares: file("shares"),
        file_controller_config: file("file-controller/azure.json"),
        file_node_config: file("file-node/azure.json"),
        kubeconfig: file("kubeconfig"),
        ca_file,
        controller_config: file("disk-controller/azure.json"),
        node_config: file("disk-node/azure.json"),
        federated_token_file: world.file.own_subject().map(|_| file("federated-token")),
        tenant: world.file.tenant.get_ref().clone(),
        subscription: world.file.subscription.get_ref().clone(),
        resource_group: world.file.resource_group.get_ref().clone(),
        location: world.file.location.get_ref().clone(),
        client_id: app
            .map(|app| app.client_id.get_ref().clone())
            .unwrap_or_default(),
        client_secret: app.and_then(|app| app.secret.clone()).unwrap_or_default(),
        nodes: Vec::new(),
        pid: std::process::id(),
    }
}
