//! NFS through TLS: one tunnel for each server, in this process, with nothing installed on the node.
//!
//! A tunnel listens on a port of the loopback address, which the kernel's NFS client mounts from, and
//! carries each connection to port 2049 of the server inside TLS. The server's name is resolved anew
//! for each connection, and its certificate is checked against that name and the system's roots.
//!
//! The port of a server is written down before anything is mounted from it. After a restart of the
//! plugin the same ports are listened on again; meanwhile the kernel waits and tries again, as it
//! does for a server that restarts. Whoever connects must come from a port below 1024, which only
//! root can: no pod can reach a server through another's tunnel.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azcsi_host::HostError;
use azcsi_host::mountinfo::Table;
use azcsi_host::state::StateStore;
use rustls_platform_verifier::BuilderVerifierExt as _;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

/// The ports of tunnels.
const PORTS: RangeInclusive<u16> = 20_049..=21_049;
/// The port of NFS.
const REMOTE: u16 = 2049;
/// Longest time until a connection to a server stands.
const CONNECT: Duration = Duration::from_secs(20);
/// Clients of the kernel come from ports below this one.
const PRIVILEGED: u16 = 1024;

/// A tunnel, as it is written down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Record {
    host: String,
    port: u16,
}

/// The tunnels of this node.
#[derive(Debug)]
pub struct Tunnels {
    far: Far,
    store: StateStore,
    live: Mutex<BTreeMap<String, Live>>,
    opening: tokio::sync::Mutex<()>,
}

/// How to reach servers.
#[derive(Clone)]
struct Far {
    tls: TlsConnector,
    port: u16,
}

impl std::fmt::Debug for Far {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Far(port {})", self.port)
    }
}

#[derive(Debug)]
struct Live {
    port: u16,
    users: usize,
    task: JoinHandle<()>,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A tunnel that stays while this value does, whatever the mount table says.
#[derive(Debug)]
pub struct Lease<'a> {
    tunnels: &'a Tunnels,
    host: String,
    /// The port on the loopback address.
    pub port: u16,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(live) = self.tunnels.lock().get_mut(&self.host) {
            live.users = live.users.saturating_sub(1);
        }
    }
}

/// Why there can be no tunnels.
#[derive(Debug, thiserror::Error)]
#[error("TLS cannot be set up")]
pub struct NoTls(#[from] tokio_rustls::rustls::Error);

impl Tunnels {
    /// With the roots of the system. The process needs a crypto provider before.
    ///
    /// # Errors
    /// When there are no roots.
    pub fn new(store: StateStore) -> Result<Self, NoTls> {
        let config = ClientConfig::builder().with_platform_verifier()?;
        let config = config.with_no_client_auth();
        Ok(Self::over(Arc::new(config), REMOTE, store))
    }

    fn over(config: Arc<ClientConfig>, port: u16, store: StateStore) -> Self {
        Self {
            far: Far {
                tls: TlsConnector::from(config),
                port,
            },
            store,
            live: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    /// Listens again where mounts of an earlier process expect it.
    pub async fn resume(&self) {
        for (_, record) in self.store.all::<Record>().unwrap_or_default() {
            match self.listen(&record.host, record.port).await {
                Ok(()) => {
                    tracing::info!(host = record.host, port = record.port, "a tunnel is back")
                }
                Err(error) => {
                    let why = azcsi_types::fault::report(&error);
                    tracing::error!(host = record.host, why, "a tunnel cannot be opened again");
                }
            }
        }
    }

    /// The tunnel to a server.
    ///
    /// # Errors
    /// When no port is free, or the port cannot be written down.
    pub async fn open(&self, host: &str) -> Result<Lease<'_>, HostError> {
        let _one_at_a_time = self.opening.lock().await;
        let host = host.to_ascii_lowercase();
        if let Some(lease) = self.lease(&host) {
            return Ok(lease);
        }
        let known = self.store.load::<Record>(&key(&host)).map(|r| r.port);
        let taken = self.ports();
        let free = PORTS.filter(|port| !taken.contains(port));
        for port in known.into_iter().chain(free) {
            if self.listen(&host, port).await.is_err() {
                continue;
            }
            let record = Record {
                host: host.clone(),
                port,
            };
            if let Err(error) = self.store.save(&key(&host), &record) {
                self.lock().remove(&host);
                return Err(error);
            }
            return self.lease(&host).ok_or_else(|| none(&host));
        }
        Err(none(&host))
    }

    /// Closes the tunnels that no mount uses: neither one of the mount table, nor one that the kernel
    /// still has for somebody else (`clients` is its list, `/proc/fs/nfsfs/servers`).
    pub fn sweep(&self, table: &Table, clients: &str) {
        let used = |port: u16| is_mounted(table, port) || is_client(clients, port);
        let mut live = self.lock();
        let idle: Vec<String> = live
            .iter()
            .filter(|(_, tunnel)| tunnel.users == 0 && !used(tunnel.port))
            .map(|(host, _)| host.clone())
            .collect();
        for host in idle {
            live.remove(&host);
            if let Err(error) = self.store.remove(&key(&host)) {
                tracing::warn!(%error, "the record of a tunnel was not removed");
            }
        }
    }

    fn lease(&self, host: &str) -> Option<Lease<'_>> {
        let mut live = self.lock();
        let tunnel = live.get_mut(host).filter(|t| !t.task.is_finished())?;
        tunnel.users += 1;
        Some(Lease {
            tunnels: self,
            host: host.to_owned(),
            port: tunnel.port,
        })
    }

    fn ports(&self) -> Vec<u16> {
        let written = self.store.all::<Record>().unwrap_or_default();
        written.into_iter().map(|(_, record)| record.port).collect()
    }

    async fn listen(&self, host: &str, port: u16) -> Result<(), HostError> {
        let fail = |source| HostError::io("listen for", Path::new(host), source);
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|error| fail(io::Error::other(error)))?;
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(here).await.map_err(fail)?;
        let serve = serve(listener, self.far.clone(), (host.to_owned(), name));
        let live = Live {
            port,
            users: 0,
            task: tokio::spawn(serve),
        };
        self.lock().insert(host.to_owned(), live);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A host as the key of a record.
fn key(host: &str) -> String {
    host.replace('.', "_")
}

fn none(host: &str) -> HostError {
    let full = io::Error::other("no port is free");
    HostError::io("listen for", Path::new(host), full)
}

/// Whether something is mounted through a port.
fn is_mounted(table: &Table, port: u16) -> bool {
    let word = format!("port={port}");
    table
        .iter()
        .any(|mount| mount.fs_type.starts_with("nfs") && mount.super_options.contains(&word))
}

/// Whether the kernel lists a client of a port: version, address, port (hexadecimal), users, name.
fn is_client(clients: &str, port: u16) -> bool {
    let fields = clients.lines().skip(1).map(str::split_whitespace);
    let mut ports = fields.filter_map(|mut line| u16::from_str_radix(line.nth(2)?, 16).ok());
    ports.any(|found| found == port)
}

async fn serve(listener: TcpListener, far: Far, (host, name): (String, ServerName<'static>)) {
    let mut carried = tokio::task::JoinSet::new();
    loop {
        while carried.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((near, from)) if from.port() < PRIVILEGED => {
                let (far, host, name) = (far.clone(), host.clone(), name.clone());
                carried.spawn(async move {
                    if let Err(error) = carry(near, &far, (&host, name)).await {
                        tracing::warn!(host, %error, "a connection through TLS ended");
                    }
                });
            }
            Ok((_, from)) => tracing::warn!(host, %from, "refused: only the kernel may connect"),
            Err(error) => {
                tracing::warn!(host, %error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn carry(
    mut near: TcpStream,
    far: &Far,
    (host, name): (&str, ServerName<'static>),
) -> io::Result<()> {
    let connect = async {
        let tcp = TcpStream::connect((host, far.port)).await?;
        tcp.set_nodelay(true)?;
        near.set_nodelay(true)?;
        far.tls.connect(name, tcp).await
    };
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let mut tls = tokio::time::timeout(CONNECT, connect)
        .await
        .map_err(late)??;
    tokio::io::copy_bidirectional(&mut near, &mut tls).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
