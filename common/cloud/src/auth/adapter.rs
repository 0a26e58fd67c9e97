//! Our transport in the shape that the Azure SDK wants, for one token request.
//!
//! The SDK's credentials know the protocols; this adapter keeps them away from the network. It puts
//! the configured authority and metadata hosts into the URL, so that proxies, private clouds and a
//! local authority on plain http work (the SDK accepts https only, so it is given a stand-in host).
//! It keeps the raw answer, because the SDK loses the text of errors that hold line breaks. And it
//! shows the SDK no status that makes it retry: retries are ours, bounded by the deadline.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use azure_core::http::headers::Headers;
use azure_core::http::{AsyncRawResponse, Body, HttpClient, Request, StatusCode};
use bytes::Bytes;
use serde_json::Value;

use super::TokenError;
use crate::pipeline::retry::retry_after;
use crate::pipeline::transport::Transport;

/// The host that stands for the configured authority inside the SDK.
pub(crate) const STAND_IN: &str = "https://authority.invalid";
const SDK_IMDS: &str = "http://169.254.169.254";

/// Carries one token request and remembers how it ended.
#[derive(Debug)]
pub(crate) struct Adapter {
    transport: Arc<dyn Transport>,
    authority: String,
    imds: String,
    ended: Mutex<Option<Ended>>,
}

/// How the request ended.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    /// With a token that is good until then, or for so long.
    Granted {
        until: Option<SystemTime>,
        lifetime: Option<Duration>,
    },
    /// Without.
    Refused(TokenError),
}

impl Adapter {
    pub(crate) fn new(transport: Arc<dyn Transport>, authority: &str, imds: &str) -> Self {
        Self {
            transport,
            authority: authority.to_owned(),
            imds: imds.to_owned(),
            ended: Mutex::default(),
        }
    }

    pub(crate) fn ended(&self) -> Option<Ended> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.clone()
    }

    fn end(&self, with: Ended) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(with);
    }

    fn place(&self, url: &str) -> (Service, String) {
        if let Some(rest) = url.strip_prefix(STAND_IN) {
            (Service::Authority, format!("{}{rest}", self.authority))
        } else if let Some(rest) = url.strip_prefix(SDK_IMDS) {
            (Service::Metadata, format!("{}{rest}", self.imds))
        } else {
            (Service::Metadata, url.to_owned())
        }
    }

    fn request(&self, request: &Request) -> Result<(Service, http::Request<Bytes>), TokenError> {
        let (service, url) = self.place(request.url().as_str());
        let wrong = |e: http::Error| TokenError::lasting(format!("bad token request: {e}"));
        let mut builder = http::Request::builder()
            .method(request.method().as_str())
            .uri(url);
        for (name, value) in request.headers().iter() {
            builder = builder.header(name.as_str(), value.as_str());
        }
        let body = match request.body() {
            Body::Bytes(bytes) => bytes.clone(),
            Body::SeekableStream(_) => Bytes::new(),
        };
        Ok((service, builder.body(body).map_err(wrong)?))
    }
}

/// Which service is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    Authority,
    Metadata,
}

impl Service {
    const fn name(self) -> &'static str {
        match self {
            Self::Authority => "the token authority",
            Self::Metadata => "the instance metadata service",
        }
    }
}

fn number(body: &Value, key: &str) -> Option<u64> {
    match body.get(key)? {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    }
}

/// The answer with the types that the SDK insists on.
fn as_the_sdk_wants(service: Service, mut body: Value) -> Value {
    if let (Service::Metadata, Some(map)) = (service, body.as_object_mut()) {
        for key in ["expires_on", "token_type", "resource"] {
            let text = match map.get(key) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Null) | None if key == "expires_on" => "0".to_owned(),
                Some(Value::Null) | None => String::new(),
                Some(other) => other.to_string(),
            };
            map.insert(key.to_owned(), Value::String(text));
        }
    } else if let Some(map) = body.as_object_mut() {
        for key in ["expires_in", "ext_expires_in"] {
            let number = map.get(key).and_then(|value| match value {
                Value::String(text) => text.parse::<u64>().ok(),
                other => other.as_u64(),
            });
            map.insert(key.to_owned(), number.unwrap_or_default().into());
        }
    }
    body
}

fn granted(body: &Value) -> Ended {
    let until = number(body, "expires_on").filter(|at| *at > 0);
    Ended::Granted {
        until: until.map(|at| SystemTime::UNIX_EPOCH + Duration::from_secs(at)),
        lifetime: number(body, "expires_in").map(Duration::from_secs),
    }
}

fn stop(text: &'static str) -> azure_core::Error {
    // A kind that the SDK does not retry.
    azure_core::Error::with_message(azure_core::error::ErrorKind::Other, text)
}

#[async_trait::async_trait]
impl HttpClient for Adapter {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let (service, request) = match self.request(request) {
            Ok(request) => request,
            Err(error) => {
                self.end(Ended::Refused(error));
                return Err(stop("bad token request"));
            }
        };
        let answer = match self.transport.send(request).await {
            Ok(answer) => answer,
            Err(error) => {
                let text = azcsi_types::fault::report(&error);
                let text = format!("{} cannot be reached: {text}", service.name());
                self.end(Ended::Refused(TokenError::passing(text, None)));
                return Err(stop("no answer"));
            }
        };
        let body = serde_json::from_slice::<Value>(answer.body()).ok();
        let token = body.filter(|b| b.get("access_token").is_some_and(Value::is_string));
        if let (true, Some(body)) = (answer.status().is_success(), token) {
            self.end(granted(&body));
            let bytes = as_the_sdk_wants(service, body).to_string();
            return Ok(AsyncRawResponse::from_bytes(
                StatusCode::Ok,
                Headers::new(),
                bytes,
            ));
        }
        let status = answer.status();
        let error = if status.is_success() {
            let text = format!("{} answered without a token", service.name());
            TokenError::passing(text, None)
        } else {
            let pause = retry_after(answer.headers());
            TokenError::from_answer(service.name(), status, answer.body(), pause)
        };
        self.end(Ended::Refused(error));
        Ok(AsyncRawResponse::from_bytes(
            StatusCode::BadRequest,
            Headers::new(),
            "{}",
        ))
    }
}
