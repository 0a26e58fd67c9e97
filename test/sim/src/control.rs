//! The control API: `/_sim/…` on its own port.
//!
//! The world answers for faults, requests, state and violations. Time, the metadata services and
//! the list of endpoints belong to the running binary and are answered here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::imds::Throttle;
use crate::kubeapi::Store;
use crate::serve::backend::Backend;
use crate::serve::clock::ScaledClock;
use crate::serve::endpoints::Endpoints;
use crate::serve::keeper::Keeper;
use crate::serve::site::{Answer, Site, full};
use crate::serve::sites::{not_kept, reply};

/// The control port.
#[derive(Debug)]
pub struct ControlSite {
    /// The world.
    pub backend: Arc<dyn Backend>,
    /// The stub of Kubernetes, whose volumes own disks.
    pub kube: Arc<Store>,
    /// What keeps it.
    pub keeper: Arc<Keeper>,
    /// Simulated time.
    pub clock: Arc<ScaledClock>,
    /// The metadata services by node.
    pub throttles: BTreeMap<String, Throttle>,
    /// What `serve` printed.
    pub endpoints: Endpoints,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    seconds: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refuse {
    count: u32,
    node: Option<String>,
}

impl Site for ControlSite {
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Answer> {
        let response = self
            .own(&request)
            .or_else(|| self.backend.control(&request));
        let response = response.unwrap_or_else(|| {
            refuse(
                StatusCode::NOT_FOUND,
                "the control API has no such path or method",
            )
        });
        let keeper = Arc::clone(&self.keeper);
        let reads = request.method() == Method::GET;
        Box::pin(async move {
            if !reads && let Err(error) = keeper.kept().await {
                return Ok(full(not_kept(&error)));
            }
            Ok(full(response))
        })
    }
}

impl ControlSite {
    fn own(&self, request: &Request<Bytes>) -> Option<Response<Bytes>> {
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/_sim/endpoints") => {
                let body = serde_json::to_value(&self.endpoints).unwrap_or_default();
                Some(reply(StatusCode::OK, &body))
            }
            (&Method::GET, "/_sim/violations") => {
                self.backend.released(self.kube.released());
                None
            }
            (&Method::POST, "/_sim/clock/advance") => Some(self.advance(request.body())),
            (&Method::POST, "/_sim/devices/lag") => Some(self.device_lag(request.body())),
            (&Method::POST, "/_sim/imds/throttle") => Some(self.throttle(request.body())),
            _ => None,
        }
    }

    fn advance(&self, body: &Bytes) -> Response<Bytes> {
        if !self.clock.stands_still() {
            let reason = "time runs by itself; start with --time-scale 0 to advance it by hand";
            return refuse(StatusCode::CONFLICT, reason);
        }
        let by = match serde_json::from_slice::<Advance>(body) {
            Ok(Advance { seconds }) => Duration::try_from_secs_f64(seconds).ok(),
            Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        let Some(by) = by else {
            return refuse(StatusCode::BAD_REQUEST, "seconds is a number from 0 on");
        };
        self.clock.advance(by);
        self.backend.settle();
        reply(StatusCode::OK, &json!({"advanced": by.as_secs_f64()}))
    }

    fn device_lag(&self, body: &Bytes) -> Response<Bytes> {
        let lag = match serde_json::from_slice::<Advance>(body) {
            Ok(Advance { seconds }) => Duration::try_from_secs_f64(seconds).ok(),
            Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        let Some(lag) = lag else {
            return refuse(StatusCode::BAD_REQUEST, "seconds is a number from 0 on");
        };
        if !self.keeper.set_device_lag(lag) {
            let reason = "only disks of virtual machines can be late: start with --host-link qmp";
            return refuse(StatusCode::CONFLICT, reason);
        }
        reply(StatusCode::OK, &json!({"seconds": lag.as_secs_f64()}))
    }

    fn throttle(&self, body: &Bytes) -> Response<Bytes> {
        let wanted = match serde_json::from_slice::<Refuse>(body) {
            Ok(wanted) => wanted,
            Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        let chosen: Vec<&Throttle> = match &wanted.node {
            None => self.throttles.values().collect(),
            Some(node) => self.throttles.get(node).into_iter().collect(),
        };
        if chosen.is_empty() {
            return refuse(StatusCode::NOT_FOUND, "there is no such node");
        }
        for throttle in &chosen {
            throttle.refuse_next(wanted.count);
        }
        reply(
            StatusCode::OK,
            &json!({"nodes": chosen.len(), "count": wanted.count}),
        )
    }
}

fn refuse(status: StatusCode, message: &str) -> Response<Bytes> {
    let body: Value = json!({"error": {"code": "BadControlRequest", "message": message}});
    reply(status, &body)
}
