//! The network of a run: a bridge with the nodes on it, and forwarders where a node expects what this
//! program's side has: the metadata service, Resource Manager, the API server's address in the cluster.
//!
//! A listener belongs to the network in which it was made, whoever accepts on it. So there is no address
//! translation, and no kube-proxy.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result};
use nix::sched::{CloneFlags, setns};
use tokio::net::{TcpListener, TcpStream};

use crate::shell;

/// The address of the control plane.
pub(crate) const CONTROL_PLANE: &str = "10.88.0.1";

/// The address of a node.
pub(crate) fn address(index: usize) -> String {
    format!("10.88.0.{}", 11 + index)
}

/// The network of a node's pods.
pub(crate) fn pods(index: usize) -> String {
    format!("10.90.{index}.0/24")
}

async fn ip(args: &str) -> Result<()> {
    let args: Vec<&str> = args.split(' ').collect();
    shell::run(Path::new("ip"), &args, "").await.map(drop)
}

/// Makes the bridge.
pub(crate) async fn bridge() -> Result<()> {
    ip("link set lo up").await?;
    ip("link add nodes0 type bridge").await?;
    ip(&format!("addr add {CONTROL_PLANE}/24 dev nodes0")).await?;
    ip("link set nodes0 up").await
}

/// Puts a node, known by a process in its network, on the bridge.
pub(crate) async fn join(index: usize, pid: u32) -> Result<()> {
    ip(&format!(
        "link add node{index} type veth peer name eth0 netns {pid}"
    ))
    .await?;
    ip(&format!("link set node{index} master nodes0 up")).await?;
    let inside = ["--target", &pid.to_string(), "--net", "ip"].map(str::to_owned);
    for args in [
        format!("addr add {}/24 dev eth0", address(index)),
        "link set eth0 up".to_owned(),
    ] {
        let args: Vec<&str> = inside
            .iter()
            .map(String::as_str)
            .chain(args.split(' '))
            .collect();
        shell::run(Path::new("nsenter"), &args, "").await?;
    }
    Ok(())
}

/// Listens in the network of a process, and passes connections on to an address of this side.
pub(crate) async fn forward(pid: u32, from: SocketAddr, to: SocketAddr) -> Result<()> {
    let bound = tokio::task::spawn_blocking(move || {
        // A thread of its own, because it does not come back from the other network.
        std::thread::spawn(move || -> Result<std::net::TcpListener> {
            setns(
                File::open(format!("/proc/{pid}/ns/net"))?,
                CloneFlags::CLONE_NEWNET,
            )?;
            let listener = std::net::TcpListener::bind(from)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        })
        .join()
    });
    let listener = bound
        .await?
        .map_err(|_| anyhow::anyhow!("the thread of a listener panicked"))?
        .with_context(|| format!("listening on {from} for a node"))?;
    let listener = TcpListener::from_std(listener)?;
    tokio::spawn(async move {
        while let Ok((mut inside, _)) = listener.accept().await {
            tokio::spawn(async move {
                if let Ok(mut outside) = TcpStream::connect(to).await {
                    // Either end may go at any time.
                    let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
                }
            });
        }
    });
    Ok(())
}
