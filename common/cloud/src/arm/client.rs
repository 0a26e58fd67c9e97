//! Requests to Azure Resource Manager, from the typed call to the final state.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use azcsi_types::clock::Clock;
use azcsi_types::op::Op;
use azcsi_types::resource_id::ResourceId;
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{ArmError, ErrorKind, InDoubt};
use super::lro::{self, Absent, Start, Step, Watch, absence, moved, result_of};
use super::request::{AUXILIARY, ArmRequest, bearer};
use crate::auth::Tokens;
use crate::environment::{ApiFamily, Environment};
use crate::pipeline::retry::{Attempt, Outcome, RetryPolicy, Verdict, retry_after, spread};
use crate::pipeline::throttle::{Governor, Patience, remaining};
use crate::pipeline::transport::Transport;

/// Sends requests for the typed clients. Cheap to clone.
#[derive(Clone)]
pub struct ArmClient(Arc<Parts>);

/// What an [`ArmClient`] is made of.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) environment: Environment,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) tokens: Tokens,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) governor: Arc<dyn Governor>,
    pub(crate) retry: RetryPolicy,
    pub(crate) user_agent: String,
    /// Tokens of a second tenant, for writes that touch resources of it.
    pub(crate) auxiliary: Option<Tokens>,
}

impl fmt::Debug for ArmClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArmClient({})", self.0.environment.arm)
    }
}

/// Reads the body of an answer.
pub(crate) fn decode<T: DeserializeOwned>(response: &Response<Bytes>) -> Result<T, ArmError> {
    let mut reader = serde_json::Deserializer::from_slice(response.body());
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = error.path().to_string();
        ArmError::protocol(format!("Azure's answer is not understood at '{place}'"))
            .because(error.into_inner())
    })
}

pub(crate) fn decode_value<T: DeserializeOwned>(value: Value) -> Result<T, ArmError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let place = error.path().to_string();
        ArmError::protocol(format!("Azure's answer is not understood at '{place}'"))
            .because(error.into_inner())
    })
}

impl ArmClient {
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.0.environment
    }

    /// The same client under another name; tokens, connections and throttling are shared.
    pub(crate) fn named(&self, user_agent: &str) -> Self {
        Self(Arc::new(Parts {
            user_agent: user_agent.to_owned(),
            ..Parts::clone(&self.0)
        }))
    }

    fn request(&self, method: Method, family: ApiFamily, path: &str) -> ArmRequest {
        ArmRequest::new(self.environment(), method, family, path, &[])
    }

    /// The same client, with tokens of a second tenant for writes of machines: a machine may have
    /// network interfaces there.
    pub(crate) fn with_auxiliary(&self, tokens: Tokens) -> Self {
        Self(Arc::new(Parts {
            auxiliary: Some(tokens),
            ..Parts::clone(&self.0)
        }))
    }

    /// Reads a resource.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        op: &Op,
        family: ApiFamily,
        id: &ResourceId,
    ) -> Result<T, ArmError> {
        self.get_with(op, family, id.as_str(), &[]).await
    }

    /// Reads a path with a query.
    pub(crate) async fn get_with<T: DeserializeOwned>(
        &self,
        op: &Op,
        family: ApiFamily,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<T, ArmError> {
        let request = ArmRequest::new(self.environment(), Method::GET, family, path, query);
        let response = self.send(op, &request).await?;
        decode(&response).map_err(|error| error.during(|| request.name()))
    }

    /// Creates or replaces a resource and waits for its final state.
    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        op: &Op,
        family: ApiFamily,
        id: &ResourceId,
        body: &impl Serialize,
    ) -> Result<T, ArmError> {
        self.write(op, (family, id), Method::PUT, (body, None))
            .await
    }

    /// Changes a resource and waits for its final state.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        op: &Op,
        family: ApiFamily,
        id: &ResourceId,
        body: &impl Serialize,
    ) -> Result<T, ArmError> {
        self.write(op, (family, id), Method::PATCH, (body, None))
            .await
    }

    /// Writes a resource, guarded by its version, and reads its final state.
    pub(crate) async fn write<T: DeserializeOwned>(
        &self,
        op: &Op,
        (family, id): (ApiFamily, &ResourceId),
        method: Method,
        (body, version): (&impl Serialize, Option<&str>),
    ) -> Result<T, ArmError> {
        let mut request = self.request(method, family, id.as_str()).with_body(body)?;
        request.if_match = version.map(str::to_owned);
        self.write_request(op, &request, id).await
    }

    /// Sends a write of a resource and reads its final state.
    pub(crate) async fn write_request<T: DeserializeOwned>(
        &self,
        op: &Op,
        request: &ArmRequest,
        id: &ResourceId,
    ) -> Result<T, ArmError> {
        let family = request.family;
        let named = |error: ArmError| error.during(|| request.name());
        let first = self.send(op, request).await?;
        let output = match lro::begin(&request.method, &first).map_err(named)? {
            Start::Done if first.body().is_empty() => None,
            Start::Done => return decode(&first).map_err(named),
            Start::Running(watch) => {
                let followed = self.follow(op, request, watch, &first).await;
                followed.map_err(|error| error.doubted_like(&first))?
            }
        };
        // Compute puts the resource into the status document, which saves a read. A machine's does
        // not hold it.
        match output {
            Some(value) if value.get("id").is_some() => decode_value(value).map_err(named),
            // What was written stays written, whatever becomes of this read.
            _ => self.get(op, family, id).await.map_err(ArmError::in_doubt),
        }
    }

    /// Deletes a resource and waits until it is gone. Absent is gone; an absent parent is not.
    pub(crate) async fn delete(
        &self,
        op: &Op,
        family: ApiFamily,
        id: &ResourceId,
    ) -> Result<(), ArmError> {
        let request = self.request(Method::DELETE, family, id.as_str());
        let gone = |result: Result<(), ArmError>| match result {
            Err(error) if error.is_not_found() => Ok(()),
            other => other,
        };
        let first = match self.send(op, &request).await {
            Ok(first) => first,
            Err(error) => return gone(Err(error)),
        };
        match lro::begin(&request.method, &first).map_err(|e| e.during(|| request.name()))? {
            Start::Done => Ok(()),
            Start::Running(watch) => gone(self.follow(op, &request, watch, &first).await.map(drop)),
        }
    }

    /// Runs an action of a resource. `None` if Azure gave no result with it.
    pub(crate) async fn action(
        &self,
        op: &Op,
        family: ApiFamily,
        (id, action): (&ResourceId, &str),
        body: &impl Serialize,
    ) -> Result<Option<Value>, ArmError> {
        let path = format!("{id}/{action}");
        let request = self.request(Method::POST, family, &path).with_body(body)?;
        let first = self.send(op, &request).await?;
        let start = lro::begin(&request.method, &first);
        match start.map_err(|error| error.during(|| request.name()))? {
            Start::Done => Ok(lro::json(&first)),
            Start::Running(watch) => {
                let result = match &watch {
                    Watch::Status { result, .. } => result.clone(),
                    _ => None,
                };
                match (self.follow(op, &request, watch, &first).await?, result) {
                    (None, Some(url)) => self.result_at(op, &request, &url).await,
                    (output, _) => Ok(output),
                }
            }
        }
    }

    /// The result of an operation that has succeeded; `None` if Azure does not keep it any more.
    async fn result_at(
        &self,
        op: &Op,
        request: &ArmRequest,
        url: &str,
    ) -> Result<Option<Value>, ArmError> {
        let poll = ArmRequest::verbatim(self.environment(), url, request)?;
        let response = self.exchange(op, &poll).await?;
        let here = response.status().is_success();
        Ok(lro::json(&response).filter(|_| here))
    }

    /// Waits for the end of an operation.
    async fn follow(
        &self,
        op: &Op,
        request: &ArmRequest,
        mut watch: Watch,
        first: &Response<Bytes>,
    ) -> Result<Option<Value>, ArmError> {
        let named = |error: ArmError| error.during(|| request.name()).correlated(op.id());
        let mut asked = retry_after(first.headers());
        let mut absent = 0;
        for index in 0_usize.. {
            let poll = self.poll_request(request, &watch).map_err(named)?;
            let in_line = self.0.governor.has_line(&poll.buckets());
            self.pause(op, lro::pace(index, asked.take(), in_line))
                .await
                .map_err(named)?;
            let response = match self.exchange(op, &poll).await {
                Ok(response) => response,
                // The operation goes on whether or not we can watch it.
                Err(error) if error.kind() == ErrorKind::Credentials => {
                    return Err(named(error).in_doubt());
                }
                Err(error) if error.kind() == ErrorKind::Deadline => return Err(named(error)),
                Err(error) => {
                    asked = error.retry_after();
                    continue;
                }
            };
            asked = retry_after(response.headers());
            match lro::judge(&watch, &response) {
                Step::Running => {}
                Step::Moved(url) => moved(&mut watch, url),
                Step::Succeeded(output) => {
                    return result_of(&request.method, &watch, output).map_err(named);
                }
                Step::Forgotten => watch = Watch::Resource,
                Step::Failed(error) => match absence(&request.method, &watch, &error, absent) {
                    Absent::Gone => return Ok(None),
                    Absent::NotYet => absent += 1,
                    Absent::Error => return Err(named(error)),
                },
            }
        }
        Err(named(ArmError::deadline("waiting for Azure")))
    }

    fn poll_request(&self, request: &ArmRequest, watch: &Watch) -> Result<ArmRequest, ArmError> {
        match watch {
            Watch::Status { url, .. } | Watch::Location { url } => {
                ArmRequest::verbatim(self.environment(), url, request)
            }
            Watch::Resource => {
                // An action's path is one segment longer than its resource's.
                let path = match request.method {
                    Method::POST => request.path.rsplit_once('/').map_or("", |(path, _)| path),
                    _ => request.path.as_str(),
                };
                Ok(self.request(Method::GET, request.family, path))
            }
        }
    }

    /// Sends a request and takes only a success.
    pub(crate) async fn send(
        &self,
        op: &Op,
        request: &ArmRequest,
    ) -> Result<Response<Bytes>, ArmError> {
        let response = self.exchange(op, request).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(ArmError::from_response(&response)
            .during(|| request.name())
            .correlated(op.id()))
    }

    /// Sends a request until there is an answer worth taking, of whatever status.
    async fn exchange(&self, op: &Op, request: &ArmRequest) -> Result<Response<Bytes>, ArmError> {
        let mut doubt = false;
        match self.attempts(op, request, &mut doubt).await {
            Ok(mut response) => {
                if doubt {
                    response.extensions_mut().insert(InDoubt);
                }
                Ok(response)
            }
            Err(error) => {
                let error = error.during(|| request.name()).correlated(op.id());
                Err(if doubt { error.in_doubt() } else { error })
            }
        }
    }

    /// `doubt` is set when a write is sent again that Azure may have carried out already.
    async fn attempts(
        &self,
        op: &Op,
        request: &ArmRequest,
        doubt: &mut bool,
    ) -> Result<Response<Bytes>, ArmError> {
        let request_id = uuid::Uuid::new_v4().to_string();
        let mut refreshed = false;
        let mut tried = 0;
        loop {
            self.pass(op, request).await?;
            let token = self.0.tokens.bearer(op.deadline()).await?;
            let mut http = self.build(request, &token, (op.id(), &request_id))?;
            if let Some(tokens) = self
                .0
                .auxiliary
                .as_ref()
                .filter(|_| request.is_of_machines())
            {
                let second = tokens.bearer(op.deadline()).await?;
                http.headers_mut().insert(AUXILIARY, bearer(&second)?);
            }
            let sent = self.once(op, request, http).await?;
            if !refreshed && matches!(&sent, Ok(r) if r.status() == StatusCode::UNAUTHORIZED) {
                refreshed = true;
                self.0.tokens.refuse(&token);
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
                // The gate holds it back.
                (Verdict::Again(_), _) if outcome.is_throttled() => {}
                (Verdict::Again(pause), _) => {
                    *doubt |= request.method != Method::GET && outcome.may_be_done();
                    self.pause(op, pause).await?;
                }
                (Verdict::Done, Ok(response)) => return Ok(response),
                (Verdict::Done, Err(error)) => return Err(ArmError::transport(error)),
            }
        }
    }

    async fn once(
        &self,
        op: &Op,
        request: &ArmRequest,
        http: http::Request<Bytes>,
    ) -> Result<Result<Response<Bytes>, crate::TransportError>, ArmError> {
        let left = self.left(op, "sending the request")?;
        let sent = tokio::time::timeout(left, self.0.transport.send(http))
            .await
            .map_err(|_| ArmError::deadline("waiting for Azure's answer"))?;
        match &sent {
            Ok(response) => {
                let status = response.status().as_u16();
                tracing::debug!(call = request.name(), status, correlation = op.id(), "ARM");
                let buckets = request.buckets();
                if status == 429 {
                    let error = ArmError::from_response(response);
                    self.0.governor.refused(&buckets, &error);
                } else {
                    let left = remaining(response.headers());
                    self.0.governor.observe(&buckets, &left);
                }
            }
            Err(error) => {
                tracing::debug!(call = request.name(), %error, correlation = op.id(), "ARM");
            }
        }
        Ok(sent)
    }

    /// Waits at the gate, if the wait is short; says so, if it is long.
    async fn pass(&self, op: &Op, request: &ArmRequest) -> Result<(), ArmError> {
        let left = self.left(op, "waiting for Azure's throttling to end")?;
        let patience = Patience {
            pause: self.0.retry.obey.min(left / 4),
            line: left / 4,
        };
        let buckets = request.buckets();
        let passed = tokio::time::timeout(left, self.0.governor.pass(&buckets, patience)).await;
        passed
            .map_err(|_| ArmError::deadline("waiting for Azure's throttling to end"))?
            .map_err(ArmError::paused)
    }

    fn build(
        &self,
        request: &ArmRequest,
        token: &azcsi_types::secret::Secret,
        (correlation, request_id): (&str, &str),
    ) -> Result<http::Request<Bytes>, ArmError> {
        let bearer = bearer(token)?;
        let mut builder = http::Request::builder()
            .method(request.method.clone())
            .uri(&request.url)
            .header(http::header::AUTHORIZATION, bearer)
            .header(http::header::ACCEPT, "application/json")
            .header(http::header::USER_AGENT, &self.0.user_agent)
            .header("x-ms-client-request-id", request_id)
            .header("x-ms-correlation-request-id", correlation);
        if let Some(version) = &request.if_match {
            builder = builder.header(http::header::IF_MATCH, version);
        }
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        if request.body.is_some() {
            builder = builder.header(http::header::CONTENT_TYPE, "application/json");
        }
        builder
            .body(request.body.clone().unwrap_or_default())
            .map_err(|error| ArmError::protocol("the request cannot be built").because(error))
    }

    fn left(&self, op: &Op, doing: &str) -> Result<Duration, ArmError> {
        let left = op.deadline().remaining(&*self.0.clock);
        if left.is_zero() {
            return Err(ArmError::deadline(doing));
        }
        Ok(left)
    }

    /// Sleeps, or says that the deadline comes first.
    async fn pause(&self, op: &Op, pause: Duration) -> Result<(), ArmError> {
        if pause >= self.left(op, "waiting for Azure")? {
            return Err(ArmError::deadline("waiting for Azure"));
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

fn outcome(sent: &Result<Response<Bytes>, crate::TransportError>) -> Outcome {
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
