//! Parsers of single values. Each error says what is allowed; clap adds the flag and the value.

use std::net::SocketAddr;
use std::str::FromStr;

use super::Mode;
use crate::model::volume_context::GroupChange;
use crate::node::InlineSecrets;

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

/// A rate of requests.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate >= 0.0 => Ok(rate),
        _ => Err("expected requests per second, 0 or more".to_owned()),
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
            "expected at most 63 letters, digits, '-' and '.', such as file.csi.azure.com"
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
        .map_err(|_| "expected an address and a port, such as 0.0.0.0:29614".to_owned())
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

/// Text for an HTTP header.
pub(super) fn header(text: &str) -> Result<String, String> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        Ok(text.trim().to_owned())
    } else {
        Err("expected visible ASCII characters and spaces".to_owned())
    }
}

/// A mode in octal.
pub(super) fn mode_bits(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o7777 => Ok(mode),
        _ => Err("expected a mode in octal, such as 0777, or 0".to_owned()),
    }
}

/// When groups are changed; empty for the default.
pub(super) fn change(text: &str) -> Result<GroupChange, String> {
    if text.is_empty() {
        return Ok(GroupChange::OnRootMismatch);
    }
    let found = GroupChange::WORDS
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(text));
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| "expected None, Always or OnRootMismatch".to_owned())
}

/// What is asked before a Secret is read for an inline volume.
pub(super) fn inline(text: &str) -> Result<InlineSecrets, String> {
    match text {
        "off" => Ok(InlineSecrets::Off),
        "warn" => Ok(InlineSecrets::Warn),
        "enforce" => Ok(InlineSecrets::Enforce),
        _ => Err("expected off, warn or enforce".to_owned()),
    }
}
