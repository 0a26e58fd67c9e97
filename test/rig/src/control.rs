//! The simulator's control API, read over plain HTTP on loopback.

use anyhow::{Context as _, Result, bail};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// A client of one running simulator.
#[derive(Clone, Debug)]
pub struct Control {
    authority: String,
}

impl Control {
    /// For the control URL that the simulator printed.
    pub fn new(url: &str) -> Result<Self> {
        let rest = url
            .strip_prefix("http://")
            .with_context(|| format!("control URL '{url}' is not http"))?;
        Ok(Self {
            authority: rest
                .trim_end_matches('/')
                .split('/')
                .next()
                .unwrap_or(rest)
                .to_owned(),
        })
    }

    /// GET, answered with JSON.
    pub async fn get(&self, path: &str) -> Result<Value> {
        self.request("GET", path, Bytes::new()).await
    }

    /// POST of a JSON body, answered with JSON or nothing.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let body = serde_json::to_vec(body)?;
        self.request("POST", path, body.into()).await
    }

    /// POST of plain text, answered with JSON or nothing.
    ///
    /// # Errors
    /// If the simulator does not answer, or refuses.
    pub async fn post_text(&self, path: &str, text: String) -> Result<Value> {
        self.request("POST", path, text.into()).await
    }

    /// DELETE, answered with JSON or nothing.
    ///
    /// # Errors
    /// If the simulator does not answer, or refuses.
    pub async fn delete(&self, path: &str) -> Result<Value> {
        self.request("DELETE", path, Bytes::new()).await
    }

    async fn request(&self, method: &str, path: &str, body: Bytes) -> Result<Value> {
        let stream = TcpStream::connect(&self.authority)
            .await
            .context("simulator's control port")?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let driver = tokio::spawn(connection);
        let request = hyper::Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.authority)
            .header("content-type", "application/json")
            .body(Full::new(body))?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        let bytes = response.into_body().collect().await?.to_bytes();
        driver.abort();
        if !status.is_success() {
            bail!(
                "{method} {path}: {status}: {}",
                String::from_utf8_lossy(&bytes)
            );
        }
        if bytes.is_empty() {
            Ok(Value::Null)
        } else {
            Ok(serde_json::from_slice(&bytes)?)
        }
    }
}
