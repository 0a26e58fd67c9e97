//! Tests of `layers`.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use tokio::sync::Semaphore;
use tonic::Code;
use tonic::body::Body;
use tower::{Layer as _, Service as _, ServiceBuilder, ServiceExt as _, service_fn};

use super::{CatchPanicLayer, LimitLayer, MetricsLayer, TraceLayer, code_of};
use crate::clock::SystemClock;
use crate::method::Method;
use crate::metrics::Metrics;

fn request(path: &str) -> Request<Body> {
    Request::builder().uri(path).body(Body::empty()).unwrap()
}

async fn answered() -> Result<Response<Body>, Infallible> {
    Ok(Response::new(Body::empty()))
}

#[tokio::test]
async fn a_panic_is_answered_traced_and_counted_ob_04() {
    let (metrics, clock) = (Metrics::new("x"), Arc::new(SystemClock::new()));
    let service = ServiceBuilder::new()
        .layer(TraceLayer::new(clock.clone()))
        .layer(MetricsLayer::new(Arc::clone(&metrics), clock))
        .layer(CatchPanicLayer)
        .service(service_fn(|request: Request<Body>| async move {
            assert_ne!(request.uri().path(), Method::DeleteVolume.path(), "planned");
            answered().await
        }));
    let panicked = service
        .clone()
        .oneshot(request(Method::DeleteVolume.path()))
        .await
        .unwrap();
    assert_eq!(code_of(&panicked), Code::Internal);
    let fine = service
        .oneshot(request(Method::Probe.path()))
        .await
        .unwrap();
    assert_eq!(code_of(&fine), Code::Ok);
    let text = metrics.render();
    for labels in [
        "grpc_service=\"csi.v1.Controller\",grpc_method=\"DeleteVolume\",grpc_code=\"Internal\"",
        "grpc_service=\"csi.v1.Identity\",grpc_method=\"Probe\",grpc_code=\"OK\"",
    ] {
        let line = format!("grpc_server_handled_total{{grpc_type=\"unary\",{labels}}} 1");
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(text.contains("grpc_server_in_flight 0"), "{text}");
}

#[tokio::test]
async fn a_call_that_is_given_up_is_counted_as_cancelled() {
    let (metrics, clock) = (Metrics::new("x"), Arc::new(SystemClock::new()));
    let never = service_fn(|_: Request<Body>| async {
        std::future::pending::<()>().await;
        answered().await
    });
    let mut service = MetricsLayer::new(Arc::clone(&metrics), clock).layer(never);
    drop(service.call(request(Method::DeleteVolume.path())));
    let text = metrics.render();
    assert!(text.contains("grpc_code=\"Canceled\"} 1"), "{text}");
}

#[tokio::test]
async fn calls_beyond_the_limit_are_refused_but_identity_passes() {
    let go = Arc::new(Semaphore::new(0));
    let held = Arc::clone(&go);
    let service = LimitLayer::new(1).layer(service_fn(move |request: Request<Body>| {
        let held = Arc::clone(&held);
        async move {
            if request.uri().path() == Method::DeleteVolume.path() {
                held.acquire().await.unwrap().forget();
            }
            answered().await
        }
    }));
    let first = tokio::spawn(
        service
            .clone()
            .oneshot(request(Method::DeleteVolume.path())),
    );
    let probe = || service.clone().oneshot(request(Method::Probe.path()));
    // The first call holds the only place as soon as its task has run.
    let refused = loop {
        let answer = service
            .clone()
            .oneshot(request(Method::CreateVolume.path()))
            .await
            .unwrap();
        match code_of(&answer) {
            Code::Ok => tokio::task::yield_now().await,
            code => break code,
        }
    };
    assert_eq!(refused, Code::Unavailable);
    assert_eq!(code_of(&probe().await.unwrap()), Code::Ok);
    go.add_permits(1);
    assert_eq!(code_of(&first.await.unwrap().unwrap()), Code::Ok);
    let after = service
        .clone()
        .oneshot(request(Method::CreateVolume.path()))
        .await
        .unwrap();
    assert_eq!(code_of(&after), Code::Ok);
}
