//! A server with a certificate, a tunnel to it, and whoever tries to get through.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use azcsi_host::mountinfo::Table;
use azcsi_host::state::StateStore;
use rcgen::{CertificateParams, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::{Tunnels, is_client, is_mounted};

/// Answers each byte with the same byte; its certificate is for `names`.
async fn server(names: &[&str]) -> (u16, Arc<ClientConfig>) {
    azcsi_cloud::install_crypto_provider();
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let certificate = CertificateParams::new(names)
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let client = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let secret = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], secret)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut tls) = acceptor.accept(tcp).await else {
                    return;
                };
                let mut byte = [0];
                while tls.read_exact(&mut byte).await.is_ok() {
                    tls.write_all(&byte).await.unwrap();
                }
            });
        }
    });
    (port, Arc::new(client))
}

fn store(folder: &Path) -> StateStore {
    StateStore::open(folder).unwrap()
}

/// Connects as the kernel does.
async fn as_kernel(port: u16) -> TcpStream {
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    for own in 700..1000 {
        let socket = TcpSocket::new_v4().unwrap();
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, own));
        if socket.bind(from).is_ok()
            && let Ok(stream) = socket.connect(to).await
        {
            return stream;
        }
    }
    panic!("no port below 1024 is free: run this as root");
}

async fn echoes(mut stream: TcpStream) -> bool {
    let mut byte = [0];
    stream.write_all(b"x").await.is_ok()
        && stream.read_exact(&mut byte).await.is_ok()
        && byte == *b"x"
}

#[tokio::test]
async fn the_kernel_gets_through_and_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let (port, client) = server(&["localhost"]).await;
    let tunnels = Tunnels::over(client, port, store(folder.path()));
    let lease = tunnels.open("LocalHost").await.unwrap();
    assert!(echoes(as_kernel(lease.port).await).await);
    let stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, lease.port)).await;
    assert!(!echoes(stranger.unwrap()).await);
    let again = tunnels.open("localhost").await.unwrap();
    assert_eq!(again.port, lease.port, "one for each server");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let (port, client) = server(&["other.example"]).await;
    let tunnels = Tunnels::over(client, port, store(folder.path()));
    let lease = tunnels.open("localhost").await.unwrap();
    assert!(!echoes(as_kernel(lease.port).await).await);
}

#[tokio::test]
async fn a_restart_listens_on_the_same_port_and_a_sweep_closes_what_nobody_uses() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, client) = server(&["localhost"]).await;
    let first = Tunnels::over(Arc::clone(&client), remote, store(folder.path()));
    let port = first.open("localhost").await.unwrap().port;
    let task = first.lock().remove("localhost").unwrap();
    task.task.abort();
    while !task.task.is_finished() {
        tokio::task::yield_now().await;
    }
    let second = Tunnels::over(client, remote, store(folder.path()));
    second.resume().await;
    assert!(echoes(as_kernel(port).await).await);
    let lease = second.open("localhost").await.unwrap();
    assert_eq!(lease.port, port);
    second.sweep(&Table::default(), "");
    assert_eq!(second.lock().len(), 1, "somebody is about to mount");
    drop(lease);
    let used = format!("NV SERVER   PORT USE HOSTNAME\nv4 7f000001 {port:x}   1 h\n");
    second.sweep(&Table::default(), &used);
    assert_eq!(second.lock().len(), 1, "the kernel has a client of it");
    second.sweep(&Table::default(), "");
    assert!(second.lock().is_empty() && second.ports().is_empty());
}

#[test]
fn a_mount_through_a_tunnel_is_seen() {
    let line = "30 1 0:55 / /t rw - nfs4 a.file.x:/a/s rw,vers=4.1,addr=127.0.0.1,port=20051\n";
    let table = Table::parse(line.as_bytes()).unwrap();
    assert!(is_mounted(&table, 20051));
    assert!(!is_mounted(&table, 20052));
    assert!(is_client("NV SERVER PORT USE\nv4 7f000001 4e53 2 h", 20051));
    assert!(!is_client("NV SERVER PORT USE", 20051));
}
