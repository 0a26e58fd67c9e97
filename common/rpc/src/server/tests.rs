//! Tests of `server`.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use azcsi_proto::csi::v1;
use futures_util::future::BoxFuture;
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;
use tonic::body::Body;
use tonic::service::Routes;
use tonic::transport::{Channel, Server, Uri};
use tonic::{Code, Request, Response, Status};
use v1::controller_client::ControllerClient;
use v1::identity_client::IdentityClient;
use v1::identity_server::IdentityServer;

use super::{Serving, serve};
use crate::capability::PluginCapabilities;
use crate::clock::SystemClock;
use crate::dispatcher::{Dispatcher, Limits};
use crate::endpoint::Endpoint;
use crate::identity::{Health, Plugin, Readiness};
use crate::listener::Listener;
use crate::metrics::Metrics;
use crate::probe::SocketProbe;
use crate::testing::{DeleteVolume, Driver, delete};
use crate::web::HealthCheck as _;

/// A Controller service with the one method of the test driver.
#[derive(Clone)]
struct Tiny {
    dispatcher: Dispatcher,
    driver: Arc<Driver>,
}

impl tonic::server::NamedService for Tiny {
    const NAME: &'static str = "csi.v1.Controller";
}

impl tonic::server::UnaryService<v1::DeleteVolumeRequest> for Tiny {
    type Response = v1::DeleteVolumeResponse;
    type Future = BoxFuture<'static, Result<Response<v1::DeleteVolumeResponse>, Status>>;

    fn call(&mut self, request: Request<v1::DeleteVolumeRequest>) -> Self::Future {
        let Self { dispatcher, driver } = self.clone();
        Box::pin(async move { dispatcher.unary::<DeleteVolume>(&driver, request).await })
    }
}

impl tower::Service<http::Request<Body>> for Tiny {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<http::Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let service = self.clone();
        let codec = tonic_prost::ProstCodec::default();
        Box::pin(async move {
            Ok(tonic::server::Grpc::new(codec)
                .unary(service, request)
                .await)
        })
    }
}

struct Running {
    driver: Arc<Driver>,
    dispatcher: Dispatcher,
    metrics: Arc<Metrics>,
    endpoint: Endpoint,
    readiness: Readiness,
    stop: oneshot::Sender<()>,
    server: tokio::task::JoinHandle<()>,
}

fn routes(dispatcher: &Dispatcher, driver: &Arc<Driver>, readiness: &Readiness) -> Routes {
    let capabilities = PluginCapabilities::default();
    let plugin = Plugin::new("disk.csi.azure.com", "1", capabilities, readiness.clone());
    let tiny = Tiny {
        dispatcher: dispatcher.clone(),
        driver: Arc::clone(driver),
    };
    Routes::new(IdentityServer::new(plugin)).add_service(tiny)
}

async fn start(endpoint: &Endpoint, drain: Duration) -> Running {
    let listener = Listener::bind(endpoint).await.unwrap();
    let endpoint = listener.endpoint().unwrap();
    let (clock, metrics) = (Arc::new(SystemClock::new()), Metrics::new("x"));
    let dispatcher = Dispatcher::new(clock.clone(), Limits::default());
    let driver = Driver::new();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = Serving {
        drain,
        ..Serving::new(clock, Arc::clone(&metrics))
    };
    let readiness = Readiness::default();
    let (routes, shared) = (routes(&dispatcher, &driver, &readiness), dispatcher.clone());
    let server = tokio::spawn(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        serve(listener, routes, &shared, serving, stopped)
            .await
            .unwrap();
    });
    Running {
        driver,
        dispatcher,
        metrics,
        endpoint,
        readiness,
        stop,
        server,
    }
}

async fn connect(endpoint: &Endpoint) -> Channel {
    let text = match endpoint {
        Endpoint::Unix(path) => format!("unix://{}", path.display()),
        Endpoint::Tcp(address) => format!("http://{address}"),
    };
    tonic::transport::Endpoint::from_shared(text)
        .unwrap()
        .connect()
        .await
        .unwrap()
}

fn socket(folder: &Path) -> Endpoint {
    Endpoint::Unix(folder.join("csi.sock"))
}

async fn calls_are_answered(endpoint: &Endpoint) {
    let running = start(endpoint, Duration::from_secs(25)).await;
    let channel = connect(&running.endpoint).await;
    let mut identity = IdentityClient::new(channel.clone());
    let info = identity.get_plugin_info(v1::GetPluginInfoRequest {});
    assert_eq!(info.await.unwrap().into_inner().name, "disk.csi.azure.com");
    running.driver.go.add_permits(1);
    let mut controller = ControllerClient::new(channel);
    controller
        .delete_volume(delete("disk", "a", None))
        .await
        .unwrap();
    let status = controller
        .delete_volume(delete("", "a", None))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.message(), "bad request: volume_id is missing");
    drop((identity, controller));
    drop(running.stop);
    running.server.await.unwrap();
    let text = running.metrics.render();
    for code in ["OK", "InvalidArgument"] {
        let label = format!("grpc_method=\"DeleteVolume\",grpc_code=\"{code}\"}} 1");
        assert!(text.contains(&label), "{label}\n{text}");
    }
}

#[tokio::test]
async fn calls_are_answered_over_a_unix_socket_which_is_gone_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    calls_are_answered(&socket(folder.path())).await;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn calls_are_answered_over_tcp() {
    calls_are_answered(&Endpoint::Tcp("127.0.0.1:0".to_owned())).await;
}

#[tokio::test]
async fn stopping_waits_for_the_call_in_progress() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(&socket(folder.path()), Duration::from_secs(600)).await;
    let mut controller = ControllerClient::new(connect(&running.endpoint).await);
    let call = tokio::spawn(async move {
        controller
            .delete_volume(delete("disk", "a", None))
            .await
            .map(|_| ())
    });
    running.driver.until_started(1).await;
    running.stop.send(()).unwrap();
    running.driver.go.add_permits(1);
    call.await.unwrap().unwrap();
    running.server.await.unwrap();
    assert_eq!(running.dispatcher.running(), 0);
}

#[tokio::test]
async fn stopping_does_not_wait_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(&socket(folder.path()), Duration::ZERO).await;
    let mut controller = ControllerClient::new(connect(&running.endpoint).await);
    let call = tokio::spawn(async move {
        controller
            .delete_volume(delete("disk", "a", None))
            .await
            .map(|_| ())
    });
    running.driver.until_started(1).await;
    running.stop.send(()).unwrap();
    running.server.await.unwrap();
    assert_eq!(running.dispatcher.running(), 1);
    call.abort();
}

#[tokio::test]
async fn the_health_check_asks_over_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(&socket(folder.path()), Duration::from_secs(25)).await;
    let probe = SocketProbe::new(running.endpoint.clone());
    assert_eq!(probe.check().await, Err("starting".to_owned()));
    running.readiness.set(Health::Ready);
    assert_eq!(probe.check().await, Ok(()));
    running
        .readiness
        .set(Health::Unhealthy("mkfs.ext4 is missing".to_owned()));
    let why = probe.check().await.unwrap_err();
    assert_eq!(why, "the plugin cannot work: mkfs.ext4 is missing");
    drop(running.stop);
    running.server.await.unwrap();
    let why = probe.check().await.unwrap_err();
    assert!(why.starts_with("nobody answers on unix://"), "{why}");
}

/// tonic has a timer of its own for `grpc-timeout`, which answers CANCELLED. Under paused time and
/// in memory the order of the timers is exact.
#[tokio::test(start_paused = true)]
async fn the_client_sees_deadline_exceeded_and_not_cancelled() {
    let dispatcher = Dispatcher::new(Arc::new(SystemClock::new()), Limits::default());
    let driver = Driver::new();
    let (client, server) = tokio::io::duplex(64 * 1024);
    let incoming = tokio_stream::once(Ok::<_, std::io::Error>(server));
    let served = Server::builder().add_routes(routes(&dispatcher, &driver, &Readiness::default()));
    let served = tokio::spawn(served.serve_with_incoming(incoming));
    let mut client = Some(client);
    let connector = tower::service_fn(move |_: Uri| {
        let stream = client
            .take()
            .ok_or_else(|| std::io::Error::other("connected already"));
        async { stream.map(TokioIo::new) }
    });
    let channel = Channel::from_static("http://localhost");
    let channel = channel.connect_with_connector(connector).await.unwrap();
    let mut controller = ControllerClient::new(channel);
    let status = controller
        .delete_volume(delete("disk", "a", Some("1S")))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(status.message().contains("still running"), "{status:?}");
    assert_eq!((driver.runs(), dispatcher.running()), (1, 1));
    served.abort();
}
