//! The sites: what each socket answers with.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use serde_json::json;

use super::backend::Backend;
use super::discovery;
use super::keeper::Keeper;
use super::site::{Answer, Site, full};
use crate::entra::Entra;
use crate::files::PathStyle;
use crate::imds::Imds;
use crate::kubeapi::{self, Store};
use crate::network::reach::Place;

/// ARM and, on the same address, the authority and the discovery document.
#[derive(Debug)]
pub struct ArmSite {
    /// The world.
    pub backend: Arc<dyn Backend>,
    /// What keeps it.
    pub keeper: Arc<Keeper>,
    /// Who gives tokens.
    pub entra: Arc<Entra>,
    /// Where.
    pub authority: String,
}

impl Site for ArmSite {
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Answer> {
        let own =
            discovery::answer(&request, &self.authority).or_else(|| self.entra.answer(&request));
        if let Some(response) = own {
            return Box::pin(std::future::ready(Ok(full(response))));
        }
        let answer = self.backend.arm(request);
        let keeper = Arc::clone(&self.keeper);
        Box::pin(async move {
            let answer = answer.await;
            // The world may have changed even when the client is to see a cut connection.
            if let Err(error) = keeper.kept().await {
                return Ok(full(not_kept(&error)));
            }
            answer.map(full)
        })
    }
}

/// The data plane of Azure Files. The account is in the host or in the path.
#[derive(Debug)]
pub struct FilesSite {
    /// The world.
    pub backend: Arc<dyn Backend>,
    /// What keeps it.
    pub keeper: Arc<Keeper>,
    /// Where its callers are; none for what their headers say, or the internet.
    pub place: Option<Place>,
}

impl Site for FilesSite {
    fn answer(&self, mut request: Request<Bytes>) -> BoxFuture<'static, Answer> {
        request.extensions_mut().insert(PathStyle);
        if let Some(place) = &self.place {
            request.extensions_mut().insert(place.clone());
        }
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let answer = self.backend.arm(request);
        let keeper = Arc::clone(&self.keeper);
        Box::pin(async move {
            let answer = answer.await;
            if !reads && let Err(error) = keeper.kept().await {
                return Ok(full(not_kept(&error)));
            }
            answer.map(full)
        })
    }
}

/// The metadata service of one node.
#[derive(Debug)]
pub struct ImdsSite {
    /// The service.
    pub imds: Imds,
    /// The world it tells of.
    pub backend: Arc<dyn Backend>,
}

impl Site for ImdsSite {
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Answer> {
        self.backend.settle();
        let response = self.imds.answer(&request);
        Box::pin(std::future::ready(Ok(full(response))))
    }
}

/// The Kubernetes stub.
#[derive(Debug)]
pub struct KubeSite {
    /// Its objects.
    pub store: Arc<Store>,
    /// What keeps them.
    pub keeper: Arc<Keeper>,
}

impl Site for KubeSite {
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Answer> {
        let reads = request.method() == Method::GET;
        let answer = kubeapi::answer(Arc::clone(&self.store), request);
        let keeper = Arc::clone(&self.keeper);
        Box::pin(async move {
            let response = answer.await;
            if !reads && let Err(error) = keeper.kept().await {
                return Ok(full(not_kept(&error)));
            }
            Ok(response)
        })
    }
}

/// A change that is not on the disk is not reported as done.
pub(crate) fn not_kept(error: &dyn std::error::Error) -> Response<Bytes> {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        message = format!("{message}: {inner}");
        cause = inner.source();
    }
    tracing::error!(%message, "a change could not be kept");
    let body = json!({"error": {"code": "InternalServerError", "message": message}});
    reply(StatusCode::INTERNAL_SERVER_ERROR, &body)
}

/// A JSON response.
pub(crate) fn reply(status: StatusCode, body: &serde_json::Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
