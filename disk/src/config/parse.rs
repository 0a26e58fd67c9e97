//! Parsers of single values. Each error says what is allowed; clap adds the flag and the value.

use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use azcsi_types::size::GiB;

use super::Mode;
use crate::node::identity::IdentityCheck;

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "controller" => Ok(Self::Controller),
            "node" => Ok(Self::Node),
            "all" => Ok(Self::All),
            _ => Err("expected controller, node or all".to_owned()),
        }
    }
}

impl FromStr for IdentityCheck {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "strict" => Ok(Self::Strict),
            "compat" => Ok(Self::Compat),
            _ => Err("expected strict or compat".to_owned()),
        }
    }
}

/// A verbosity. Larger ones than 10 mean 10.
pub(super) fn verbosity(text: &str) -> Result<u8, String> {
    let number: u32 = text
        .parse()
        .map_err(|_| "expected a whole number from 0 to 10".to_owned())?;
    Ok(u8::try_from(number.min(10)).unwrap_or(10))
}

/// A whole number of 0 or more.
pub(super) fn whole(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("expected a whole number from 0 to {}", u32::MAX))
}

/// A limit of volumes; negative means that it is computed.
pub(super) fn limit(text: &str) -> Result<Option<u32>, String> {
    let number: i64 = text
        .parse()
        .map_err(|_| "expected a whole number; below 0 the limit is computed".to_owned())?;
    if number < 0 {
        return Ok(None);
    }
    u32::try_from(number)
        .map(Some)
        .map_err(|_| format!("expected at most {}", u32::MAX))
}

/// A rate of requests.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate >= 0.0 => Ok(rate),
        _ => Err("expected requests per second, 0 or more".to_owned()),
    }
}

/// A TCP port.
pub(super) fn port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err("expected a port from 1 to 65535".to_owned()),
    }
}

/// The name of a driver (CSI, `GetPluginInfoResponse.name`).
pub(super) fn driver(text: &str) -> Result<String, String> {
    let edge = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: u8| c.is_ascii_alphanumeric() || b"-.".contains(&c);
    let bytes = text.as_bytes();
    let good = edge(bytes.first().copied())
        && edge(bytes.last().copied())
        && text.len() <= 63
        && bytes.iter().all(|&c| inner(c));
    if good {
        Ok(text.to_owned())
    } else {
        Err(
            "expected at most 63 letters, digits, '-' and '.', such as disk.csi.azure.com"
                .to_owned(),
        )
    }
}

/// Where to serve metrics: `host:port` as Go writes it, so the host may be empty.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let full = match text.strip_prefix(':') {
        Some(port) => format!("[::]:{port}"),
        None => text.replace("localhost:", "127.0.0.1:"),
    };
    full.parse()
        .map_err(|_| "expected an address and a port, such as 0.0.0.0:29604".to_owned())
}

/// An HTTP base URL.
pub(super) fn url(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    match rest {
        Some(host) if !host.trim_matches('/').is_empty() => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err("expected a URL that begins with http:// or https://".to_owned()),
    }
}

/// A time as Go writes it: `5h`, `1h30m`, `90s`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 5h or 1h30m".to_owned();
    let (mut total, mut rest) = (0_u64, text.trim());
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let number: u64 = rest[..end].parse().map_err(|_| wrong())?;
        let mut unit = rest[end..].chars();
        let seconds = match unit.next() {
            Some('h') => 3600,
            Some('m') => 60,
            Some('s') => 1,
            _ => return Err(wrong()),
        };
        total = number
            .checked_mul(seconds)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(wrong)?;
        rest = unit.as_str();
    }
    if total == 0 {
        return Err(wrong());
    }
    Ok(Duration::from_secs(total))
}

/// Times by size: `2Ti=5h,4Ti=8h`.
pub(super) fn sizes(text: &str) -> Result<Vec<(GiB, Duration)>, String> {
    let one = |part: &str| {
        let (size, time) = part.split_once('=')?;
        let size = size.trim();
        let (number, unit) = size.split_at(size.len().checked_sub(2)?);
        let number: u32 = number.parse().ok()?;
        let gib = match unit {
            "Gi" => number,
            "Ti" => number.checked_mul(1024)?,
            _ => return None,
        };
        Some((GiB::new(gib), duration(time).ok()?))
    };
    text.split(',')
        .map(|part| {
            one(part).ok_or_else(|| "expected sizes and times such as 2Ti=5h,4Ti=8h".to_owned())
        })
        .collect()
}

/// Text for an HTTP header.
pub(super) fn header(text: &str) -> Result<String, String> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        Ok(text.trim().to_owned())
    } else {
        Err("expected visible ASCII characters and spaces".to_owned())
    }
}
