//! What the tests of this crate share: a clock over tokio's paused time, and a service that answers
//! from a script and records what it was asked.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::op::Op;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use tower::Service;

use crate::auth::{Token, TokenError, TokenSource};
use crate::azure::Seams;
use crate::pipeline::throttle::Gate;
use crate::{
    Azure, CloudConfig, Environment, Files, FilesCredential, FilesEndpoint, ServiceTransport,
};

/// Follows tokio's clock.
#[derive(Debug)]
pub(crate) struct TestClock(tokio::time::Instant);

impl TestClock {
    pub(crate) fn start() -> Arc<Self> {
        Arc::new(Self(tokio::time::Instant::now()))
    }
}

/// The time of day at which every test starts.
pub(crate) const START: Duration = Duration::from_secs(1_800_000_000);

impl Clock for TestClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + START + self.0.elapsed()
    }
}

/// One scripted answer and the request that it is for: `"GET /path-part"`.
pub(crate) type Line = (&'static str, Response<Bytes>);

/// Answers line by line; a request that does not fit the next line gets a 599 that no code accepts.
#[derive(Clone)]
pub(crate) struct Script {
    lines: Arc<Mutex<VecDeque<Line>>>,
    pub(crate) seen: Arc<Mutex<Vec<Request<Bytes>>>>,
}

impl Script {
    pub(crate) fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        Self {
            lines: Arc::new(Mutex::new(lines.into_iter().collect())),
            seen: Arc::default(),
        }
    }

    pub(crate) fn left(&self) -> usize {
        self.lines.lock().unwrap().len()
    }

    pub(crate) fn bodies(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let text = |r: &Request<Bytes>| String::from_utf8(r.body().to_vec()).unwrap();
        seen.iter().map(text).collect()
    }
}

impl Service<Request<Bytes>> for Script {
    type Response = Response<Bytes>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Bytes>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let asked = format!("{} {}", request.method(), request.uri());
        self.seen.lock().unwrap().push(request);
        let (expected, response) = self
            .lines
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or_else(|| panic!("the script has ended, but was asked: {asked}"));
        let (method, part) = expected.split_once(' ').unwrap();
        assert!(
            asked.starts_with(method) && asked.contains(part),
            "expected {expected}, was asked: {asked}"
        );
        ready(Ok(response))
    }
}

pub(crate) fn answer(status: u16, body: &str) -> Response<Bytes> {
    Response::builder()
        .status(status)
        .body(Bytes::from(body.to_owned()))
        .unwrap()
}

pub(crate) fn answer_with(status: u16, headers: &[(&str, &str)], body: &str) -> Response<Bytes> {
    let mut builder = Response::builder().status(status);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(Bytes::from(body.to_owned())).unwrap()
}

/// Gives out `token-1`, `token-2`, …
#[derive(Debug, Default)]
pub(crate) struct Numbered(Mutex<u32>);

impl TokenSource for Numbered {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Token, TokenError>> {
        let mut number = self.0.lock().unwrap();
        *number += 1;
        let token = Token {
            secret: azcsi_types::secret::Secret::new(format!("token-{number}")),
            lifetime: Duration::from_secs(3600),
        };
        Box::pin(ready(Ok(token)))
    }
}

pub(crate) fn azure(script: &Script) -> (Azure, Arc<TestClock>) {
    let clock = TestClock::start();
    let config = CloudConfig {
        subscription_id: "s".to_owned(),
        ..CloudConfig::default()
    };
    let seams = Seams {
        transport: Arc::new(ServiceTransport::new(script.clone())),
        source: Arc::new(Numbered::default()),
        governor: Arc::new(Gate::new(clock.clone())),
        clock: clock.clone(),
    };
    (
        Azure::with(config, Environment::named("").unwrap(), seams),
        clock,
    )
}

/// Base64 of the bytes 0 to 63.
pub(crate) const ACCOUNT_KEY: &str =
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

/// The file service of account `acct1`, with its key.
pub(crate) fn files(script: &Script) -> (Files, Arc<TestClock>) {
    let key = azcsi_types::secret::Secret::new(ACCOUNT_KEY);
    files_with(script, FilesCredential::SharedKey(key))
}

pub(crate) fn files_with(script: &Script, credential: FilesCredential) -> (Files, Arc<TestClock>) {
    let (azure, clock) = azure(script);
    let account = "acct1".parse().unwrap();
    let endpoint = FilesEndpoint::in_cloud(azure.environment(), &account);
    (azure.files(endpoint, credential), clock)
}

/// A header of a request that was sent; empty if it had none.
pub(crate) fn sent_header(script: &Script, index: usize, name: &str) -> String {
    let seen = script.seen.lock().unwrap();
    let value = seen[index].headers().get(name);
    value.map_or_else(String::new, |v| v.to_str().unwrap().to_owned())
}

pub(crate) fn account() -> azcsi_types::account::AccountUri {
    let name = "acct1".parse().unwrap();
    azcsi_types::account::AccountUri::new("s", "g", &name).unwrap()
}

pub(crate) fn share() -> azcsi_types::share::ShareName {
    "pvc-1".parse().unwrap()
}

pub(crate) fn op(clock: &TestClock, seconds: u64) -> Op {
    Op::start(
        "corr-1",
        Deadline::after(clock, Duration::from_secs(seconds)),
    )
}
