//! Sockets: what clients see when an answer is broken on purpose.

use std::net::SocketAddr;
use std::sync::Arc;

use azcsi_sim::cli::client::{self, ClientError};
use azcsi_sim::serve::site::{Answer, Cut, Listener, Site, full};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::CONTENT_LENGTH;
use http::{Method, Request, Response};
use tokio::sync::watch;

#[derive(Debug)]
struct Broken;

impl Site for Broken {
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Answer> {
        let mut response = Response::new(Bytes::from_static(b"{\"half\":"));
        if request.uri().path() == "/truncated" {
            response.headers_mut().insert(CONTENT_LENGTH, 100.into());
        }
        let answer = if request.uri().path() == "/cut" {
            Err(Cut)
        } else {
            Ok(full(response))
        };
        Box::pin(std::future::ready(answer))
    }
}

async fn ask(path: &str) -> Result<Bytes, ClientError> {
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .expect("bind");
    let url = format!("http://{}", listener.address());
    let (_stop, stopped) = watch::channel(false);
    tokio::spawn(listener.serve(None, Arc::new(Broken), stopped));
    client::call(&url, Method::GET, path, Bytes::new()).await
}

#[tokio::test]
async fn a_broken_promise_of_length_is_a_broken_connection() {
    assert_eq!(ask("/whole").await.expect("whole"), "{\"half\":");
    assert!(matches!(
        ask("/truncated").await,
        Err(ClientError::NoAnswer { .. })
    ));
    assert!(matches!(
        ask("/cut").await,
        Err(ClientError::NoAnswer { .. })
    ));
}
