//! Where to listen: `unix:///path`, `unix://path` or `tcp://host:port`.

use std::path::PathBuf;
use std::str::FromStr;

/// A parsed endpoint. The scheme is read without regard to case; a Unix path is absolute, with or
/// without a third slash, as in the drivers that ours replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP address, `host:port`.
    Tcp(String),
}

/// Why a text is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEndpoint {
    /// Neither `unix://` nor `tcp://`.
    #[error("'{0}' is no endpoint: it must begin with unix:// or tcp://")]
    Scheme(String),
    /// Nothing after the scheme.
    #[error("the endpoint '{0}' names nothing")]
    Empty(String),
    /// A TCP address without a port.
    #[error("the endpoint '{0}' has no port")]
    Port(String),
}

impl FromStr for Endpoint {
    type Err = BadEndpoint;

    fn from_str(text: &str) -> Result<Self, BadEndpoint> {
        let bad = || BadEndpoint::Scheme(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(bad)?;
        if rest.trim_matches('/').is_empty() {
            return Err(BadEndpoint::Empty(text.to_owned()));
        }
        if scheme.eq_ignore_ascii_case("unix") {
            return Ok(Self::Unix(PathBuf::from(format!(
                "/{}",
                rest.trim_start_matches('/')
            ))));
        }
        if !scheme.eq_ignore_ascii_case("tcp") {
            return Err(bad());
        }
        match rest.rsplit_once(':').map(|(_, port)| port.parse::<u16>()) {
            Some(Ok(_)) => Ok(Self::Tcp(rest.to_owned())),
            Some(Err(_)) | None => Err(BadEndpoint::Port(text.to_owned())),
        }
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadEndpoint, Endpoint};

    #[test]
    fn every_accepted_form_is_read() {
        let unix = |path: &str| Endpoint::Unix(path.into());
        let table = [
            ("unix:///csi/csi.sock", unix("/csi/csi.sock")),
            ("unix://csi/csi.sock", unix("/csi/csi.sock")),
            ("UNIX:///csi/csi.sock", unix("/csi/csi.sock")),
            (
                "tcp://127.0.0.1:10000",
                Endpoint::Tcp("127.0.0.1:10000".to_owned()),
            ),
            ("Tcp://[::1]:0", Endpoint::Tcp("[::1]:0".to_owned())),
        ];
        for (text, expected) in table {
            let parsed: Endpoint = text.parse().unwrap();
            assert_eq!(parsed, expected);
            assert_eq!(parsed.to_string().parse::<Endpoint>().unwrap(), parsed);
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_reason() {
        let text = |text: &str| text.to_owned();
        let table = [
            ("", BadEndpoint::Scheme(text(""))),
            ("/csi/csi.sock", BadEndpoint::Scheme(text("/csi/csi.sock"))),
            (
                "unix:/csi.sock",
                BadEndpoint::Scheme(text("unix:/csi.sock")),
            ),
            ("http://x:1", BadEndpoint::Scheme(text("http://x:1"))),
            ("unix://", BadEndpoint::Empty(text("unix://"))),
            ("unix:///", BadEndpoint::Empty(text("unix:///"))),
            ("tcp://", BadEndpoint::Empty(text("tcp://"))),
            (
                "tcp://localhost",
                BadEndpoint::Port(text("tcp://localhost")),
            ),
            (
                "tcp://localhost:99999",
                BadEndpoint::Port(text("tcp://localhost:99999")),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(text.parse::<Endpoint>(), Err(expected));
        }
    }
}
