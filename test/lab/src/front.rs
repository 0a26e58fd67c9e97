//! Stands before a controller: carries each call to it and back, and has the lab follow what a call
//! changed before the caller hears of it. A share is on Azure's servers when Azure has answered.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Collected, Either, Empty, Full};
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// The body of an answer. An error is told in the headers and has none: an empty one is not the same.
type Carried = Either<Collected<Bytes>, Empty<Bytes>>;

/// Somebody waits until the lab has followed.
pub type Change = oneshot::Sender<()>;

/// A front. It ends when this is dropped.
#[derive(Debug)]
pub struct Front {
    task: JoinHandle<()>,
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens on `socket` for what `driver` serves. Each change has to be answered.
///
/// # Errors
/// When the socket cannot be made.
pub fn open(socket: &Path, driver: PathBuf) -> Result<(Front, mpsc::Receiver<Change>)> {
    // An earlier case of this run may have left it.
    let _ = std::fs::remove_file(socket);
    let listener = UnixListener::bind(socket).with_context(|| socket.display().to_string())?;
    let (changes, told) = mpsc::channel(1);
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (driver, changes) = (driver.clone(), changes.clone());
            tokio::spawn(async move {
                let carry = service_fn(move |request| {
                    let (driver, changes) = (driver.clone(), changes.clone());
                    async move { answer(&driver, &changes, request).await }
                });
                let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), carry)
                    .await;
            });
        }
    });
    Ok((Front { task }, told))
}

async fn answer(
    driver: &Path,
    changes: &mpsc::Sender<Change>,
    request: Request<Incoming>,
) -> Result<Response<Carried>, Infallible> {
    let changed = is_change(request.uri().path());
    let reply = match carry(driver, request).await {
        Ok(reply) => reply,
        Err(_) => broken(),
    };
    if changed {
        let (done, followed) = oneshot::channel();
        if changes.send(done).await.is_ok() {
            let _ = followed.await;
        }
    }
    Ok(reply)
}

/// Calls after which Azure's shares may be others.
fn is_change(path: &str) -> bool {
    let rpc = path.rsplit('/').next().unwrap_or_default();
    matches!(rpc, "CreateVolume" | "DeleteVolume")
}

async fn carry(driver: &Path, request: Request<Incoming>) -> Result<Response<Carried>> {
    let (parts, body) = request.into_parts();
    let body = Full::new(body.collect().await?.to_bytes());
    let stream = TokioIo::new(UnixStream::connect(driver).await?);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await?;
    let connection = tokio::spawn(connection);
    let reply = sender
        .send_request(Request::from_parts(parts, body))
        .await?;
    let (parts, body) = reply.into_parts();
    let body = if body.is_end_stream() {
        Either::Right(Empty::new())
    } else {
        Either::Left(body.collect().await?)
    };
    connection.abort();
    Ok(Response::from_parts(parts, body))
}

/// What a caller hears when the controller cannot be reached.
fn broken() -> Response<Carried> {
    let mut reply = Response::new(Either::Right(Empty::new()));
    *reply.status_mut() = StatusCode::BAD_GATEWAY;
    reply
}
