//! Binding: a private socket that no other process of the plugin serves.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener, UnixSocket, UnixStream};

use crate::endpoint::Endpoint;

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Why an endpoint could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process answers on the socket.
    #[error("the socket {} is served by another process: stop that one first", .0.display())]
    Taken(PathBuf),
    /// The path exists and is no socket.
    #[error("{} exists and is no socket; it is left alone", .0.display())]
    NotASocket(PathBuf),
    /// Nobody answered, but not in the way of a socket that is left over.
    #[error("cannot tell whether the socket {} is in use", path.display())]
    Unclear {
        /// The socket.
        path: PathBuf,
        /// What connecting to it gave.
        source: io::Error,
    },
    /// The system refused.
    #[error("cannot listen on {endpoint}")]
    Refused {
        /// The endpoint.
        endpoint: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// A bound socket.
#[derive(Debug)]
pub struct Listener(pub(crate) Bound);

#[derive(Debug)]
pub(crate) enum Bound {
    Unix(UnixListener, SocketFile),
    Tcp(TcpListener),
}

impl Listener {
    /// Binds `endpoint`. From then on calls wait until they are served.
    ///
    /// A Unix socket is private to the user (mode 0600) from its first moment. One that is left over
    /// from an earlier process is replaced, but only after nobody answered on it.
    ///
    /// # Errors
    /// Another process serves it, something else is in the way, or the system refuses.
    pub async fn bind(endpoint: &Endpoint) -> Result<Self, BindError> {
        let refused = |source| BindError::Refused {
            endpoint: endpoint.to_string(),
            source,
        };
        match endpoint {
            Endpoint::Tcp(address) => TcpListener::bind(address)
                .await
                .map(|tcp| Self(Bound::Tcp(tcp)))
                .map_err(refused),
            Endpoint::Unix(path) => {
                remove_stale(path).await?;
                let unix = bind_private(path).map_err(refused)?;
                let file = SocketFile::of(path).map_err(refused)?;
                Ok(Self(Bound::Unix(unix, file)))
            }
        }
    }

    /// Where it really listens: for TCP with the port that the system chose for port 0.
    #[must_use]
    pub fn endpoint(&self) -> Option<Endpoint> {
        match &self.0 {
            Bound::Unix(_, file) => Some(Endpoint::Unix(file.path.clone())),
            Bound::Tcp(tcp) => Some(Endpoint::Tcp(tcp.local_addr().ok()?.to_string())),
        }
    }
}

/// Binds a Unix socket with mode 0600.
///
/// The mode is set on the socket before it has a name: Linux gives the file the mode of the socket
/// (less the umask), so there is no moment at which others could connect.
pub(crate) fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let socket = UnixSocket::new_stream()?;
    let handle = File::from(socket.as_fd().try_clone_to_owned()?);
    handle.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    socket.bind(path)?;
    socket.listen(BACKLOG)
}

/// Removes a socket that nobody serves.
pub(crate) async fn remove_stale(path: &Path) -> Result<(), BindError> {
    let Ok(before) = path.symlink_metadata() else {
        return Ok(());
    };
    if !before.file_type().is_socket() {
        return Err(BindError::NotASocket(path.to_owned()));
    }
    match UnixStream::connect(path).await {
        Ok(_) => return Err(BindError::Taken(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
        Err(source) => {
            return Err(BindError::Unclear {
                path: path.to_owned(),
                source,
            });
        }
    }
    // Somebody may have replaced it since; then it is not the one that was found dead.
    SocketFile {
        path: path.to_owned(),
        device: before.dev(),
        inode: before.ino(),
    }
    .remove();
    Ok(())
}

/// The file of a socket, known by its inode.
#[derive(Clone, Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let metadata = path.symlink_metadata()?;
        Ok(Self {
            path: path.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }

    /// Gives the file another name, in the place of what has that name.
    pub(crate) fn renamed(self, path: &Path) -> io::Result<Self> {
        std::fs::rename(&self.path, path)?;
        Ok(Self {
            path: path.to_owned(),
            ..self
        })
    }

    /// Whether the file of that name is still this one.
    pub(crate) fn is_there(&self) -> bool {
        let now = self.path.symlink_metadata();
        now.is_ok_and(|now| (now.dev(), now.ino()) == (self.device, self.inode))
    }

    /// Removes the file if it is still this one, and not already that of a successor.
    pub(crate) fn remove(&self) {
        if !self.is_there() {
            return;
        }
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "the socket is left behind");
        }
    }
}

#[cfg(test)]
mod tests;
