//! Names and ports of a file server: the cheap questions that tell why a mount failed.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use nix::libc;

/// What the resolver said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// Its addresses, never none.
    Addresses(Vec<IpAddr>),
    /// There is no such name, or no address for it.
    Unknown(String),
    /// No answer in time.
    Silent,
}

/// What a port did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// It took a connection.
    Open,
    /// Nobody listens there.
    Refused,
    /// Nothing came back: packets are dropped on the way.
    Silent,
    /// There is no way to the host.
    Unreachable,
}

/// Asks for the addresses of a host. An address is its own answer.
///
/// The question goes on in a thread of the runtime when the resolver is slower than `wait`.
pub async fn resolve(host: &str, wait: Duration) -> Resolved {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Resolved::Addresses(vec![address]);
    }
    match tokio::time::timeout(wait, tokio::net::lookup_host((host, 0))).await {
        Err(_) => Resolved::Silent,
        Ok(Err(error)) => Resolved::Unknown(error.to_string()),
        Ok(Ok(found)) => {
            let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            addresses.dedup();
            if addresses.is_empty() {
                Resolved::Unknown("it has no address".to_owned())
            } else {
                Resolved::Addresses(addresses)
            }
        }
    }
}

/// Connects to a port and hangs up.
pub async fn knock(address: IpAddr, port: u16, wait: Duration) -> Port {
    let connect = tokio::net::TcpStream::connect(SocketAddr::new(address, port));
    match tokio::time::timeout(wait, connect).await {
        Err(_) => Port::Silent,
        Ok(Ok(_)) => Port::Open,
        Ok(Err(error)) => of_error(&error),
    }
}

fn of_error(error: &io::Error) -> Port {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED | libc::ECONNRESET) => Port::Refused,
        Some(libc::ETIMEDOUT) => Port::Silent,
        _ => Port::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::IpAddr;
    use std::time::Duration;

    use nix::libc;

    use super::{Port, Resolved, knock, of_error, resolve};

    const WAIT: Duration = Duration::from_secs(20);
    const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[tokio::test]
    async fn a_port_is_open_while_somebody_listens() {
        let listener = tokio::net::TcpListener::bind((LOCAL, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(knock(LOCAL, port, WAIT).await, Port::Open);
        drop(listener);
        assert_eq!(knock(LOCAL, port, WAIT).await, Port::Refused);
    }

    #[test]
    fn errors_of_the_network_are_told_apart() {
        for (errno, port) in [
            (libc::ECONNREFUSED, Port::Refused),
            (libc::ETIMEDOUT, Port::Silent),
            (libc::EHOSTUNREACH, Port::Unreachable),
            (libc::ENETUNREACH, Port::Unreachable),
        ] {
            assert_eq!(of_error(&io::Error::from_raw_os_error(errno)), port);
        }
    }

    #[tokio::test]
    async fn an_address_needs_no_resolver() {
        let found = resolve("127.0.0.1", Duration::ZERO).await;
        assert_eq!(found, Resolved::Addresses(vec![LOCAL]));
    }
}
