//! Ports of the host's loopback that lead into machines. A machine may start minutes after its ports
//! are known, so they are none of those that the kernel gives to outgoing connections.

use std::fs;
use std::net::TcpListener;

use anyhow::{Context as _, Result};

const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// Below are ports that services are known by.
const FIRST: u16 = 10_240;

/// A port that is kept until it is let go.
#[derive(Debug)]
pub(super) struct Port {
    listener: TcpListener,
    /// Its number.
    pub(super) number: u16,
}

impl Port {
    /// A free one. Where to begin to look depends on the process, so that two labs seldom meet.
    pub(super) fn reserve() -> Result<Self> {
        let text = fs::read_to_string(RANGE).context(RANGE)?;
        let end = text.split_whitespace().next().unwrap_or_default();
        let end: u16 = end.parse().with_context(|| format!("{RANGE}: {text:?}"))?;
        let count = u32::from(end.saturating_sub(FIRST));
        let start = std::process::id().wrapping_mul(97);
        (0..count)
            .filter_map(|step| u16::try_from(start.wrapping_add(step) % count).ok())
            .find_map(|step| {
                let number = FIRST + step;
                let listener = TcpListener::bind(("127.0.0.1", number)).ok()?;
                Some(Self { listener, number })
            })
            .with_context(|| format!("no free port from {FIRST} to {end} on 127.0.0.1"))
    }

    /// Lets it go, for the one that it was kept for.
    pub(super) fn release(self) {
        drop(self.listener);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_no_other_machines_and_none_that_the_kernel_gives_away() {
        let ports = [(); 3].map(|()| Port::reserve().unwrap());
        let numbers = std::collections::BTreeSet::from_iter(ports.iter().map(|port| port.number));
        assert_eq!(numbers.len(), 3);
        let given = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let given = given.local_addr().unwrap().port();
        assert!(numbers.iter().all(|number| *number < given), "{numbers:?}");
        let [first, ..] = ports;
        let number = first.number;
        first.release();
        TcpListener::bind(("127.0.0.1", number)).unwrap();
    }
}
