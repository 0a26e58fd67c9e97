//! Which account, share and path a request is about. The account is in the host, or, for clients
//! that cannot resolve names, the first part of the path.

use bytes::Bytes;
use http::Request;
use percent_encoding::percent_decode_str;

use crate::query::Query;

/// Put into a request by a listener whose clients put the account into the path.
#[derive(Clone, Copy, Debug)]
pub struct PathStyle;

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) account: String,
    /// As in the path; empty for the account itself.
    pub(crate) share: String,
    /// Below the share, decoded, without a slash at either end.
    pub(crate) path: String,
    /// Whether it came to the blob service.
    pub(crate) blob: bool,
    /// Whether the account was in the path.
    pub(crate) in_path: bool,
}

/// The host that a request went to.
fn host(request: &Request<Bytes>) -> &str {
    let header = request.headers().get(http::header::HOST);
    let header = header.and_then(|host| host.to_str().ok());
    header
        .or_else(|| request.uri().authority().map(http::uri::Authority::as_str))
        .unwrap_or_default()
}

/// The account and whether it is its blob service, when a host is one of the data plane.
fn account_of(host: &str) -> Option<(String, bool)> {
    let (account, rest) = host.split_once('.')?;
    let rest = rest.strip_prefix("privatelink.").unwrap_or(rest);
    let account = account.to_ascii_lowercase();
    if rest.starts_with("file.") {
        Some((account, false))
    } else {
        rest.starts_with("blob.").then_some((account, true))
    }
}

impl Target {
    /// The target of a request; none when it is not for the data plane.
    pub(crate) fn of(request: &Request<Bytes>) -> Option<Self> {
        let path = request.uri().path().trim_start_matches('/');
        let (account, blob, rest, in_path) = match account_of(host(request)) {
            Some((account, blob)) => (account, blob, path, false),
            None => {
                request.extensions().get::<PathStyle>()?;
                let (account, rest) = path.split_once('/').unwrap_or((path, ""));
                (decode(account), false, rest, true)
            }
        };
        let (share, below) = rest.split_once('/').unwrap_or((rest, ""));
        Some(Self {
            account,
            share: decode(share),
            path: decode(below).trim_matches('/').to_owned(),
            blob,
            in_path,
        })
    }

    /// A source of a copy, from its URL.
    pub(crate) fn of_url(url: &str, in_path: bool) -> Option<(Self, Query)> {
        let uri: http::Uri = url.parse().ok()?;
        let query = Query::of(&uri);
        let mut request = Request::builder().uri(uri).body(Bytes::new()).ok()?;
        if in_path {
            request.extensions_mut().insert(PathStyle);
        }
        Some((Self::of(&request)?, query))
    }

    /// For logs, and for the names of faults: the account in front of the path.
    pub(crate) fn shown(&self) -> String {
        let mut shown = format!("/{}", self.account);
        for part in [&self.share, &self.path] {
            if !part.is_empty() {
                shown.push('/');
                shown.push_str(part);
            }
        }
        shown
    }
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str, style: Option<PathStyle>) -> Option<Target> {
        let mut request = Request::builder()
            .uri(url)
            .body(Bytes::new())
            .expect("request");
        if let Some(style) = style {
            request.extensions_mut().insert(style);
        }
        Target::of(&request)
    }

    #[test]
    fn the_account_is_in_the_host_or_in_the_path() {
        let found =
            target("https://acct.file.core.windows.net/pvc-1/a%20b/c", None).expect("files");
        assert_eq!(
            (found.account.as_str(), found.share.as_str()),
            ("acct", "pvc-1")
        );
        assert_eq!((found.path.as_str(), found.in_path), ("a b/c", false));
        let found = target("https://localhost:9/acct/pvc-1/", Some(PathStyle)).expect("files");
        assert_eq!(found.shown(), "/acct/pvc-1");
        let found = target("https://acct.privatelink.file.core.windows.net/", None);
        assert_eq!(found.expect("files").shown(), "/acct");
        assert_eq!(
            target("https://management.azure.com/subscriptions/x", None),
            None
        );
    }
}
