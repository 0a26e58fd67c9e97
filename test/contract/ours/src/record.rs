//! A transport that writes every exchange with the compute provider to a file.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use azcsi_cloud::{HttpTransport, Transport, TransportError};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// Only these are recorded: tokens are on other paths, and headers are left out.
const PROVIDER: &str = "/providers/microsoft.compute/";

/// The network, watched.
#[derive(Debug)]
pub(crate) struct Recorded {
    network: HttpTransport,
    file: Mutex<File>,
}

impl Recorded {
    /// Appends to the file.
    pub(crate) fn new(network: HttpTransport, path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| path.display().to_string())?;
        Ok(Self {
            network,
            file: Mutex::new(file),
        })
    }

    fn keep(&self, line: &Value) -> std::io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(file, "{line}")
    }
}

impl Transport for Recorded {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let sent = request.body().clone();
        Box::pin(async move {
            let answer = self.network.send(request).await?;
            if uri.path().to_ascii_lowercase().contains(PROVIDER) {
                let line = json!({
                    "client": "azcsi-cloud",
                    "method": method.as_str(),
                    "path": uri.path(),
                    "apiVersion": api_version(uri.query().unwrap_or_default()),
                    "request": parsed(&sent),
                    "status": answer.status().as_u16(),
                    "response": parsed(answer.body()),
                });
                self.keep(&line)
                    .map_err(|error| TransportError::broken("the record", error))?;
            }
            Ok(answer)
        })
    }
}

fn api_version(query: &str) -> &str {
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix("api-version="))
        .unwrap_or_default()
}

/// The body as JSON; text that is none is kept as text, so that the check refuses it.
fn parsed(body: &Bytes) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}
