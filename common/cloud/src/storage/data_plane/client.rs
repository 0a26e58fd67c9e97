//! Requests to the file service: signed, sent, sent again where that is harmless.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use azcsi_types::clock::Clock;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};

use super::endpoint::FilesEndpoint;
use super::request::FilesRequest;
use super::{shared_key, xml};
use crate::TransportError;
use crate::arm::error::{ArmError, ErrorKind, InDoubt};
use crate::auth::Tokens;
use crate::pipeline::retry::{Attempt, Outcome, RetryPolicy, Verdict, retry_after, spread};
use crate::pipeline::transport::Transport;

/// The file service of one account, as one caller sees it. Cheap to clone.
#[derive(Clone)]
pub struct Files(Arc<Parts>);

/// What [`Files`] is made of.
pub(crate) struct Parts {
    pub(crate) endpoint: FilesEndpoint,
    pub(crate) auth: Auth,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) retry: RetryPolicy,
    pub(crate) user_agent: String,
}

/// A credential, ready for use.
pub(crate) enum Auth {
    Key(Secret),
    /// Without its question mark.
    Sas(Secret),
    Tokens(Tokens),
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Files({})", self.0.endpoint)
    }
}

impl Files {
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// Where it is.
    #[must_use]
    pub fn endpoint(&self) -> &FilesEndpoint {
        &self.0.endpoint
    }

    /// Sends a request and takes only a success.
    pub(super) async fn send(
        &self,
        op: &Op,
        request: &FilesRequest,
    ) -> Result<Response<Bytes>, ArmError> {
        let named = |error: ArmError| error.during(|| request.name()).correlated(op.id());
        let mut doubt = false;
        let doubted = |error: ArmError, doubt| if doubt { error.in_doubt() } else { error };
        match self.attempts(op, request, &mut doubt).await {
            Ok(response) if response.status().is_success() => Ok(response),
            Ok(mut response) => {
                if doubt {
                    response.extensions_mut().insert(InDoubt);
                }
                Err(named(ArmError::from_response(&response)))
            }
            Err(error) => Err(named(doubted(error, doubt))),
        }
    }

    /// Sends a request and reads the XML of its answer.
    pub(super) async fn read_xml(
        &self,
        op: &Op,
        request: &FilesRequest,
    ) -> Result<xml::Element, ArmError> {
        let response = self.send(op, request).await?;
        xml::parse(response.body()).map_err(|error| {
            ArmError::protocol("Azure's answer is not understood")
                .because(error)
                .during(|| request.name())
                .correlated(op.id())
        })
    }

    /// Sends a delete. What is absent is gone, and so is what was in something absent.
    pub(super) async fn remove(&self, op: &Op, request: &FilesRequest) -> Result<(), ArmError> {
        match self.send(op, request).await {
            Ok(_) => Ok(()),
            Err(error) if error.absence().is_some() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// `doubt` is set when a write is sent again that Azure may have carried out already.
    async fn attempts(
        &self,
        op: &Op,
        request: &FilesRequest,
        doubt: &mut bool,
    ) -> Result<Response<Bytes>, ArmError> {
        let mut refreshed = false;
        let mut tried = 0;
        loop {
            let (http, token) = self.build(op, request).await?;
            let sent = self.once(op, request, http).await?;
            let refused = matches!(&sent, Ok(r) if r.status() == StatusCode::UNAUTHORIZED);
            if let (true, false, Some((tokens, token))) = (refused, refreshed, token) {
                refreshed = true;
                tokens.refuse(&token);
                continue;
            }
            let outcome = outcome(&sent);
            tried += u32::from(!outcome.is_throttled());
            let attempt = Attempt {
                tried,
                repeatable: request.repeatable,
                left: op.deadline().remaining(&*self.0.clock),
                jitter: spread(),
            };
            match (self.0.retry.decide(attempt, outcome), sent) {
                (Verdict::Again(pause), _) => {
                    let reads = request.method == Method::GET || request.method == Method::HEAD;
                    *doubt |= !reads && outcome.may_be_done();
                    tokio::time::sleep(pause).await;
                }
                (Verdict::Done, Ok(response)) => return Ok(response),
                (Verdict::Done, Err(error)) => return Err(ArmError::transport(error)),
            }
        }
    }

    async fn once(
        &self,
        op: &Op,
        request: &FilesRequest,
        http: Request<Bytes>,
    ) -> Result<Result<Response<Bytes>, TransportError>, ArmError> {
        let left = self.left(op, "sending the request")?;
        let sent = tokio::time::timeout(left, self.0.transport.send(http))
            .await
            .map_err(|_| ArmError::deadline("waiting for Azure's answer"))?;
        match &sent {
            Ok(response) => {
                let status = response.status().as_u16();
                tracing::debug!(
                    call = request.name(),
                    status,
                    correlation = op.id(),
                    "Files"
                );
            }
            Err(error) => {
                tracing::debug!(call = request.name(), %error, correlation = op.id(), "Files");
            }
        }
        Ok(sent)
    }

    /// The request with date and proof of who sends it; made anew for every sending.
    async fn build(
        &self,
        op: &Op,
        request: &FilesRequest,
    ) -> Result<(Request<Bytes>, Option<(&Tokens, Secret)>), ArmError> {
        let mut url = request.url(self.0.endpoint.url());
        if let Auth::Sas(sas) = &self.0.auth {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(sas.expose());
        }
        // The error could quote the address, and with it a signature.
        let uri: http::Uri = url.parse().map_err(|_| ArmError::invalid("the address"))?;
        let mut builder = Request::builder()
            .method(request.method.clone())
            .uri(uri)
            .header(header::USER_AGENT, &self.0.user_agent)
            .header("x-ms-version", self.0.endpoint.version())
            .header("x-ms-date", httpdate::fmt_http_date(self.0.clock.wall()))
            .header("x-ms-client-request-id", op.id());
        for (name, value) in &request.headers {
            let mut value = HeaderValue::try_from(value.as_str())
                .map_err(|_| ArmError::invalid(&format!("the header {name}")))?;
            // The address of a source carries a signature.
            value.set_sensitive(name == "x-ms-copy-source");
            builder = builder.header(name, value);
        }
        let mut http = builder
            .body(request.body.clone())
            .map_err(|_| ArmError::invalid("a header"))?;
        let token = match &self.0.auth {
            Auth::Sas(_) => None,
            Auth::Key(key) => {
                shared_key::authorize(&mut http, self.0.endpoint.account(), key)?;
                None
            }
            Auth::Tokens(tokens) => {
                let token = tokens.bearer(op.deadline()).await?;
                bear(&mut http, &token, request)?;
                Some((tokens, token))
            }
        };
        Ok((http, token))
    }

    fn left(&self, op: &Op, doing: &str) -> Result<Duration, ArmError> {
        let left = op.deadline().remaining(&*self.0.clock);
        if left.is_zero() {
            return Err(ArmError::deadline(doing));
        }
        Ok(left)
    }
}

/// With a token a caller has to say that it acts above the permissions of single files.
fn bear(http: &mut Request<Bytes>, token: &Secret, request: &FilesRequest) -> Result<(), ArmError> {
    let mut bearer = HeaderValue::try_from(format!("Bearer {}", token.expose()))
        .map_err(|_| ArmError::of(ErrorKind::Credentials, "the token is no text".to_owned()))?;
    bearer.set_sensitive(true);
    let headers = http.headers_mut();
    if request.lends_token {
        headers.insert("x-ms-copy-source-authorization", bearer.clone());
    }
    headers.insert(header::AUTHORIZATION, bearer);
    let intent = HeaderValue::from_static("backup");
    headers.insert("x-ms-file-request-intent", intent);
    Ok(())
}

fn outcome(sent: &Result<Response<Bytes>, TransportError>) -> Outcome {
    match sent {
        Ok(response) => Outcome::Answer {
            status: response.status(),
            retry_after: retry_after(response.headers()),
        },
        Err(error) if error.may_have_arrived() => Outcome::Lost,
        Err(_) => Outcome::NotSent,
    }
}

#[cfg(test)]
mod tests;
