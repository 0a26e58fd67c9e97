//! The line from a controller to the simulator. It can be cut, as it is when a process is killed:
//! what the process sent stays sent, and nothing reaches it or leaves it any more.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use azcsi_sim::Sim;
use azcsi_sim::sim::Disconnected;
use bytes::Bytes;
use futures_util::future::{Either, FutureExt, select};
use http::{Request, Response};
use tokio::sync::watch;

/// On which side of Azure's work a line is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The request was about to be sent.
    BeforeSending,
    /// Azure has it, and its answer was not heard.
    BeforeAnswer,
}

/// One process's line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    sim: Sim,
    cut: watch::Sender<bool>,
    agents: Arc<Mutex<Vec<(String, String)>>>,
    planned: Arc<Mutex<Option<(usize, Cut)>>>,
}

impl Line {
    pub(crate) fn new(sim: Sim) -> Self {
        Self {
            sim,
            cut: watch::Sender::new(false),
            agents: Arc::default(),
            planned: Arc::default(),
        }
    }

    /// The user agents of the requests with this method so far.
    pub(crate) fn agents(&self, method: &str) -> Vec<String> {
        let seen = self.agents.lock().unwrap();
        let wanted = seen.iter().filter(|(seen, _)| seen == method);
        wanted.map(|(_, agent)| agent.clone()).collect()
    }

    fn note(&self, request: &Request<Bytes>) {
        let agent = request.headers().get(http::header::USER_AGENT);
        let agent = agent.map_or_else(String::new, |agent| agent.to_str().unwrap().to_owned());
        let seen = (request.method().to_string(), agent);
        self.agents.lock().unwrap().push(seen);
    }

    /// The line is cut at one of the next requests, the next of all being 0.
    pub(crate) fn cut_at(&self, request: usize, cut: Cut) {
        *self.planned.lock().unwrap() = Some((request, cut));
    }

    /// Whether the line is cut at this request.
    fn planned(&self) -> Option<Cut> {
        let mut planned = self.planned.lock().unwrap();
        let (left, cut) = (*planned)?;
        *planned = left.checked_sub(1).map(|left| (left, cut));
        (left == 0).then_some(cut)
    }

    /// Waits until the line is cut.
    pub(crate) async fn until_cut(&self) {
        let mut cut = self.cut.subscribe();
        cut.wait_for(|cut| *cut).await.unwrap();
    }

    /// Nothing passes from now on, in either direction.
    pub(crate) fn cut(&self) {
        self.cut.send_replace(true);
    }
}

impl tower::Service<Request<Bytes>> for Line {
    type Response = Response<Bytes>;
    type Error = Disconnected;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Bytes>, Disconnected>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Disconnected>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        self.note(&request);
        let line = self.clone();
        Box::pin(async move {
            if *line.cut.borrow() {
                return std::future::pending().await;
            }
            if let Some(cut) = line.planned() {
                if cut == Cut::BeforeAnswer {
                    let _ = line.sim.answer(request).now_or_never();
                }
                line.cut();
                return std::future::pending().await;
            }
            let mut cut = line.cut.subscribe();
            let killed = async move { cut.wait_for(|cut| *cut).await.is_ok() };
            let answer = line.sim.answer(request);
            match select(pin!(killed), pin!(answer)).await {
                Either::Left(_) => std::future::pending().await,
                Either::Right((answer, _)) => answer,
            }
        })
    }
}
