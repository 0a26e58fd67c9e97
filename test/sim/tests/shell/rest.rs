//! A plain client of the simulator's ARM endpoint, with a token.

use azcsi_sim::serve::endpoints::Endpoints;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// One connection.
pub(crate) struct Rest {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    scope: String,
    token: String,
}

type Heard = Result<(u16, Value), hyper::Error>;

impl Rest {
    /// Connects and gets a token.
    pub(crate) async fn open(endpoints: &Endpoints) -> Self {
        let mut this = Self::connect(&endpoints.arm_http).await;
        this.scope = format!(
            "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Compute",
            endpoints.subscription, endpoints.resource_group
        );
        let form = format!(
            "grant_type=client_credentials&client_id={}&client_secret={}&scope=https%3A%2F%2Fmanagement.azure.com%2F.default",
            endpoints.client_id, endpoints.client_secret
        );
        let path = format!("/{}/oauth2/v2.0/token", endpoints.tenant);
        let (status, body) = this.raw(Method::POST, &path, form).await.expect("token");
        assert_eq!(status, 200, "{body}");
        body.get("access_token")
            .and_then(Value::as_str)
            .expect("token")
            .clone_into(&mut this.token);
        this
    }

    /// Connects to any plain endpoint, without a token.
    pub(crate) async fn connect(url: &str) -> Self {
        let host = url.trim_start_matches("http://").to_owned();
        let stream = TcpStream::connect(&host).await.expect("connect");
        let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("handshake");
        tokio::spawn(connection);
        Self {
            sender,
            host,
            scope: String::new(),
            token: String::new(),
        }
    }

    /// The ARM id of a compute resource such as `disks/d`.
    pub(crate) fn id(&self, resource: &str) -> String {
        format!("{}/{resource}", self.scope)
    }

    /// A request for a compute resource such as `disks/d`.
    pub(crate) async fn compute(&mut self, method: Method, resource: &str, body: Value) -> Heard {
        let path = format!("{}?api-version=2024-03-02", self.id(resource));
        self.send(method, &path, body).await
    }

    /// A request for a path.
    pub(crate) async fn send(&mut self, method: Method, path: &str, body: Value) -> Heard {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.raw(method, path, body).await
    }

    async fn raw(&mut self, method: Method, path: &str, body: String) -> Heard {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .header("metadata", "true")
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .body(Full::new(Bytes::from(body)))
            .expect("request");
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok((status, serde_json::from_slice(&bytes).unwrap_or_default()))
    }
}
