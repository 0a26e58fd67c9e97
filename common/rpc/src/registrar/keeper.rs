//! Who holds the socket, and what to do about it.

use std::path::PathBuf;
use std::sync::PoisonError;

use azcsi_proto::pluginregistration::registration_server::RegistrationServer;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;

use super::service::Service;
use super::stream::Adapted;
use super::{Counts, Held, Registrar};
use crate::listener::{self, BindError, SocketFile};

/// How it stands with the socket after a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not looked at yet.
    Unknown,
    /// This process serves it.
    Ours,
    /// Another process serves it.
    Another,
    /// It cannot be bound, because of this.
    Hindered(String),
}

/// Keeps the socket bound, by one look after the other.
#[derive(Debug)]
pub(super) struct Keeper {
    registrar: Registrar,
    held: Held,
    counts: Counts,
    state: State,
    server: Option<JoinHandle<()>>,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Keeper {
    pub(super) fn new(registrar: Registrar, held: Held, counts: Counts) -> Self {
        Self {
            registrar,
            held,
            counts,
            state: State::Unknown,
            server: None,
        }
    }

    /// The socket that kubelet finds.
    fn path(&self) -> PathBuf {
        let name = format!("{}-reg.sock", self.registrar.driver);
        self.registrar.folder.join(name)
    }

    /// Under this name kubelet overlooks it, until it is ready to be called.
    fn hidden(&self) -> PathBuf {
        let name = format!(".{}-reg.sock", self.registrar.driver);
        self.registrar.folder.join(name)
    }

    /// Looks at the socket and binds it where nobody else serves it.
    pub(super) async fn look(&mut self) -> &State {
        if self.is_ours() {
            return &self.state;
        }
        self.let_go();
        let next = match self.bind().await {
            Ok(listener) => {
                self.serve(listener);
                State::Ours
            }
            Err(BindError::Taken(_)) => State::Another,
            Err(error) => State::Hindered(azcsi_types::fault::report(&error)),
        };
        if next != self.state {
            self.tell(&next);
            self.state = next;
        }
        &self.state
    }

    /// Whether the file is still the one that this process made, and its server runs.
    fn is_ours(&self) -> bool {
        let served = self.server.as_ref().is_some_and(|task| !task.is_finished());
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        served && held.as_ref().is_some_and(SocketFile::is_there)
    }

    /// Ends the server of a socket that is not this process's any more.
    fn let_go(&mut self) {
        if let Some(server) = self.server.take() {
            server.abort();
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = held.take() {
            file.remove();
        }
    }

    async fn bind(&self) -> Result<UnixListener, BindError> {
        let (path, hidden) = (self.path(), self.hidden());
        listener::remove_stale(&path).await?;
        listener::remove_stale(&hidden).await?;
        let refused = |source| BindError::Refused {
            endpoint: path.display().to_string(),
            source,
        };
        let bound = listener::bind_private(&hidden).map_err(refused)?;
        let file = SocketFile::of(&hidden).map_err(refused)?;
        // Should another process have bound the name just now, then that one is a registrar too, and both
        // tell kubelet the same.
        let file = file.renamed(&path).map_err(refused)?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(file);
        Ok(bound)
    }

    fn serve(&mut self, listener: UnixListener) {
        let service = Service::new(self.registrar.clone(), self.counts.clone());
        let incoming = UnixListenerStream::new(listener).map(|stream| stream.map(Adapted::new));
        let server = Server::builder()
            .add_service(RegistrationServer::new(service))
            .serve_with_incoming(incoming);
        self.server = Some(tokio::spawn(async move {
            if let Err(error) = server.await {
                tracing::warn!(%error, "the registration socket is no longer served");
            }
        }));
    }

    fn tell(&self, next: &State) {
        let path = self.path();
        let path = path.display();
        match next {
            State::Unknown => {}
            State::Ours => tracing::info!(%path, "waiting for kubelet to register the driver"),
            State::Another => tracing::info!(
                %path,
                "another registrar serves this socket: the built-in one stays quiet while it does"
            ),
            State::Hindered(why) => {
                tracing::error!(%path, "kubelet cannot find the driver: {why}; trying again");
            }
        }
    }
}
