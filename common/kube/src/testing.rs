//! An API server in the process: a tower service whose answers a test decides.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use azcsi_types::clock::Clock;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::client::Body;
use serde_json::{Value, json};

use crate::client::Kube;

pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, std::convert::Infallible>>;
type Decide = Arc<dyn Fn(&Request<()>) -> Answer + Send + Sync>;

/// A complete answer.
pub(crate) fn answer(code: u16, body: &Value) -> Answer {
    let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
    Response::builder().status(code).body(body).unwrap()
}

/// A watch that sends these lines and then stays open, or ends.
pub(crate) fn stream(lines: &[Value], end: End) -> Answer {
    use futures_util::StreamExt as _;
    let lines: Vec<_> = lines
        .iter()
        .map(|line| Ok(http_body::Frame::data(Bytes::from(format!("{line}\n")))))
        .collect();
    let sent = futures_util::stream::iter(lines);
    let body = match end {
        End::Closed => StreamBody::new(sent).boxed_unsync(),
        End::Open => StreamBody::new(sent.chain(futures_util::stream::pending())).boxed_unsync(),
    };
    Response::new(body)
}

/// What a watch does after its last line.
pub(crate) enum End {
    Open,
    Closed,
}

#[derive(Debug)]
struct TestClock(tokio::time::Instant);

impl Clock for TestClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + self.now()
    }
}

#[derive(Clone)]
pub(crate) struct Server {
    decide: Decide,
    seen: Arc<Mutex<Vec<(String, String, Value)>>>,
}

impl Server {
    pub(crate) fn new(decide: impl Fn(&Request<()>) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            decide: Arc::new(decide),
            seen: Arc::default(),
        }
    }

    /// The same server behind `times` answers of 500.
    pub(crate) fn failing(times: u32, server: Self) -> Self {
        let left = Mutex::new(times);
        let decide = server.decide;
        Self::new(move |request| {
            let mut left = left.lock().unwrap();
            if *left == 0 {
                return decide(request);
            }
            *left -= 1;
            answer(
                500,
                &json!({"kind": "Status", "code": 500, "message": "no"}),
            )
        })
    }

    pub(crate) fn kube(&self) -> Kube {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await.unwrap();
                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let seen = (head.method.to_string(), head.uri.path().to_owned(), body);
                server.seen.lock().unwrap().push(seen);
                let request = Request::from_parts(head, ());
                Ok::<_, std::convert::Infallible>((server.decide)(&request))
            }
        });
        let client = kube::Client::new(service, "default");
        Kube::over(client, Arc::new(TestClock(tokio::time::Instant::now())))
    }

    /// Bodies of the requests of this method, in order.
    pub(crate) fn bodies(&self, method: &str) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        let of = seen.iter().filter(|(seen, _, _)| seen == method);
        of.map(|(_, _, body)| body.clone()).collect()
    }

    /// How many requests this path got.
    pub(crate) fn count(&self, path: &str) -> usize {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|(_, seen, _)| seen == path).count()
    }
}
