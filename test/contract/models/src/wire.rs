//! The least HTTP that the crate's client needs: one request on one connection, plain, on loopback.
//! The crate's own stack is not built.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use azure_core::auth::{AccessToken, TokenCredential};
use azure_core::error::{Error, ErrorKind};
use azure_core::headers::Headers;
use azure_core::{BytesStream, HttpClient, Request, Response, StatusCode, Url};
use serde_json::Value;

use crate::report::Trouble;

/// Speaks to one address.
#[derive(Debug)]
pub struct Loopback;

#[async_trait::async_trait]
impl HttpClient for Loopback {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<Response> {
        let headers: Vec<(String, String)> = request
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), value.as_str().to_owned()))
            .collect();
        let answer = exchange(request.method().as_ref(), request.url(), &headers, "");
        let (status, body) =
            answer.map_err(|error| Error::message(ErrorKind::Io, error.to_string()))?;
        let status = StatusCode::try_from(status)
            .map_err(|_| Error::message(ErrorKind::Io, format!("{status} is no status")))?;
        Ok(Response::new(
            status,
            Headers::new(),
            Box::pin(BytesStream::new(body)),
        ))
    }
}

/// Sends a request and gives status and body.
pub fn exchange(
    method: &str,
    url: &Url,
    headers: &[(String, String)],
    body: &str,
) -> Result<(u16, Vec<u8>), Trouble> {
    let host = url.host_str().ok_or("no host")?;
    let port = url.port().ok_or("no port")?;
    let target = url.query().map_or(url.path().to_owned(), |query| {
        format!("{}?{query}", url.path())
    });
    let mut text =
        format!("{method} {target} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n");
    for (name, value) in headers
        .iter()
        .filter(|(name, _)| !name.eq_ignore_ascii_case("content-length"))
    {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    let mut stream = TcpStream::connect((host, port))?;
    stream.write_all(text.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    split(&answer)
}

fn split(answer: &[u8]) -> Result<(u16, Vec<u8>), Trouble> {
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .ok_or("the answer has no end of its head")?;
    let (head, body) = answer.split_at(end);
    let body = body.get(4..).unwrap_or_default();
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let status = head
        .split(' ')
        .nth(1)
        .ok_or("the answer has no status")?
        .parse()?;
    if head.contains("transfer-encoding: chunked") {
        return Ok((status, joined(body)?));
    }
    Ok((status, body.to_vec()))
}

/// The pieces of a chunked body.
fn joined(mut rest: &[u8]) -> Result<Vec<u8>, Trouble> {
    let mut whole = Vec::new();
    loop {
        let end = rest
            .windows(2)
            .position(|two| two == b"\r\n")
            .ok_or("a chunk has no size")?;
        let size = usize::from_str_radix(String::from_utf8_lossy(&rest[..end]).trim(), 16)?;
        if size == 0 {
            return Ok(whole);
        }
        let from = end + 2;
        whole.extend_from_slice(rest.get(from..from + size).ok_or("a chunk is cut off")?);
        rest = rest.get(from + size + 2..).ok_or("a chunk is cut off")?;
    }
}

/// A token that was fetched before.
#[derive(Debug)]
pub struct Given(String);

impl Given {
    /// Asks the authority, at the plain ARM address, for a token of the application.
    pub fn fetch(arm: &str, endpoints: &Value) -> Result<Self, Trouble> {
        let text = |name: &str| endpoints[name].as_str().unwrap_or_default().to_owned();
        let url = Url::parse(&format!("{arm}/{}/oauth2/v2.0/token", text("tenant")))?;
        let form = format!(
            "grant_type=client_credentials&client_id={}&client_secret={}&scope=https%3A%2F%2Fmanagement.azure.com%2F.default",
            text("clientId"),
            text("clientSecret"),
        );
        let kind = [(
            "Content-Type".to_owned(),
            "application/x-www-form-urlencoded".to_owned(),
        )];
        let (status, body) = exchange("POST", &url, &kind, &form)?;
        let body: Value = serde_json::from_slice(&body)?;
        let token = body["access_token"].as_str();
        token
            .map(|token| Self(token.to_owned()))
            .ok_or_else(|| format!("no token: {status} {body}").into())
    }
}

#[async_trait::async_trait]
impl TokenCredential for Given {
    async fn get_token(&self, _scopes: &[&str]) -> azure_core::Result<AccessToken> {
        let expires = time::OffsetDateTime::now_utc() + time::Duration::HOUR;
        Ok(AccessToken::new(self.0.clone(), expires))
    }

    async fn clear_cache(&self) -> azure_core::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunked_body_is_put_together() -> Result<(), Trouble> {
        let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        assert_eq!(split(answer)?, (200, b"abcde".to_vec()));
        Ok(())
    }
}
