//! Talking to a running simulator: one request to its control port.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::ControlArgs;

/// Where `serve` leaves its endpoints for these commands.
pub const ENDPOINTS_FILE: &str = "endpoints.json";

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The state directory knows of no running simulator.
    #[error(
        "{path} cannot be read: no simulator seems to run with this --dir; start one with `azcsi-sim serve --dir ...`"
    )]
    NoEndpoints {
        /// The file.
        path: String,
        /// The reason.
        source: std::io::Error,
    },
    /// The file of endpoints or the URL makes no sense.
    #[error("{0:?} is not a control URL such as http://127.0.0.1:4000")]
    BadUrl(String),
    /// Nobody answers.
    #[error("no simulator answers at {url} ({reason}): is it still running?")]
    NoAnswer {
        /// Where.
        url: String,
        /// Why not.
        reason: String,
    },
    /// It answered with a refusal.
    #[error("the simulator refused: {status}: {message}")]
    Refused {
        /// Its status.
        status: StatusCode,
        /// Its words.
        message: String,
    },
}

/// Where the control port is.
///
/// # Errors
/// When no simulator is known.
pub fn control_url(args: &ControlArgs) -> Result<String, ClientError> {
    if let Some(url) = &args.control {
        return Ok(url.trim_end_matches('/').to_owned());
    }
    let dir = args.dir.as_deref().unwrap_or(Path::new("."));
    let path = dir.join(ENDPOINTS_FILE);
    let text = fs::read_to_string(&path).map_err(|source| ClientError::NoEndpoints {
        path: path.display().to_string(),
        source,
    })?;
    let endpoints: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let url = endpoints.get("control").and_then(serde_json::Value::as_str);
    url.map(str::to_owned)
        .ok_or_else(|| ClientError::BadUrl(path.display().to_string()))
}

/// Sends one request and gives the body of a success.
///
/// # Errors
/// When nobody answers or the answer is a refusal.
pub async fn call(
    control: &str,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<Bytes, ClientError> {
    let uri: Uri = format!("{control}{path}")
        .parse()
        .map_err(|_| ClientError::BadUrl(control.to_owned()))?;
    let authority = uri
        .authority()
        .ok_or_else(|| ClientError::BadUrl(control.to_owned()))?;
    let silent = |reason: &dyn std::fmt::Display| ClientError::NoAnswer {
        url: control.to_owned(),
        reason: reason.to_string(),
    };
    let stream = TcpStream::connect(authority.as_str())
        .await
        .map_err(|e| silent(&e))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| silent(&e))?;
    let driver = tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(
            uri.path_and_query()
                .map_or("/", http::uri::PathAndQuery::as_str),
        )
        .header(HOST, authority.as_str())
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(|_| ClientError::BadUrl(control.to_owned()))?;
    let response = sender.send_request(request).await.map_err(|e| silent(&e))?;
    let status = response.status();
    let body = response
        .into_body()
        .collect()
        .await
        .map_err(|e| silent(&e))?
        .to_bytes();
    driver.abort();
    if status.is_success() {
        return Ok(body);
    }
    Err(ClientError::Refused {
        status,
        message: message(&body),
    })
}

/// The words in an error body, whatever its shape.
fn message(body: &Bytes) -> String {
    let parsed: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let text = parsed
        .pointer("/error/message")
        .and_then(serde_json::Value::as_str);
    text.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned)
}
