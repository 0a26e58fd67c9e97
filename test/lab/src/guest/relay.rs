//! Carries connections from an address of the machine to a port of the host's loopback.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use anyhow::{Context as _, Result};

use super::say;
use crate::wire::HOST_ADDRESS;

/// Listens from now on.
pub(super) fn listen(address: &str, port: u16) -> Result<()> {
    let listener = TcpListener::bind(address).with_context(|| format!("listening on {address}"))?;
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || {
                if let Err(error) = carry(client, port) {
                    say(&format!("relay to port {port}: {error}"));
                }
            });
        }
    });
    Ok(())
}

fn carry(client: TcpStream, port: u16) -> io::Result<()> {
    let host = TcpStream::connect((HOST_ADDRESS, port))?;
    let (mut from_client, mut to_host) = (client.try_clone()?, host.try_clone()?);
    let up = thread::spawn(move || {
        // A side that went away ends the copy; the other half then ends by itself.
        let _ = io::copy(&mut from_client, &mut to_host);
        let _ = to_host.shutdown(Shutdown::Write);
    });
    let (mut from_host, mut to_client) = (host, client);
    let _ = io::copy(&mut from_host, &mut to_client);
    let _ = to_client.shutdown(Shutdown::Write);
    let _ = up.join();
    Ok(())
}
