//! Tests of `transport`.

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{HttpOptions, HttpTransport, Proxy, Transport, TransportStartError, Trust};

fn direct() -> HttpOptions {
    HttpOptions {
        proxy: Proxy::Never,
        ..HttpOptions::default()
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_repeated_headers_stay() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).await.unwrap();
        let reply = "HTTP/1.1 302 Found\r\nlocation: http://elsewhere.invalid/\r\nx-a: 1\r\nx-a: 2\r\ncontent-length: 2\r\n\r\nok";
        stream.write_all(reply.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let transport = HttpTransport::new(&direct()).unwrap();
    let request = http::Request::put(format!("http://{address}/x?y=a%2Fb"))
        .body(Bytes::from_static(b"{}"))
        .unwrap();
    let answer = transport.send(request).await.unwrap();
    assert_eq!(answer.status(), 302);
    assert_eq!(answer.headers().get_all("x-a").iter().count(), 2);
    assert_eq!(answer.body().as_ref(), b"ok");
    assert!(server.await.unwrap().starts_with("PUT /x?y=a%2Fb HTTP/1.1"));
}

#[tokio::test]
async fn a_closed_port_is_known_not_to_have_seen_the_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x?sig=geheim", listener.local_addr().unwrap());
    drop(listener);
    let transport = HttpTransport::new(&direct()).unwrap();
    let request = http::Request::get(url).body(Bytes::new()).unwrap();
    let error = transport.send(request).await.unwrap_err();
    assert!(!error.may_have_arrived());
    assert!(!azcsi_types::fault::report(&error).contains("geheim"));
}

#[test]
fn a_ca_bundle_is_checked_at_the_start() {
    let with = |pem: &[u8]| {
        HttpTransport::new(&HttpOptions {
            ca_bundle: Some(pem.to_vec()),
            ..direct()
        })
    };
    let ours = rcgen::generate_simple_self_signed(["x".to_owned()]).unwrap();
    with(ours.cert.pem().as_bytes()).unwrap();
    assert!(matches!(
        with(b"nothing"),
        Err(TransportStartError::EmptyCaBundle)
    ));
}

#[tokio::test]
async fn without_certificates_plain_http_works_and_tls_says_what_is_missing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let _ = stream.read(&mut request).await.unwrap();
        let reply = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        stream.write_all(reply.as_bytes()).await.unwrap();
    });
    let transport = HttpTransport::build(&direct(), Trust::Nobody).unwrap();
    let ask = |scheme: &str| {
        let request = http::Request::get(format!("{scheme}://{address}/")).body(Bytes::new());
        transport.send(request.unwrap())
    };
    let error = ask("https").await.unwrap_err();
    assert!(!error.may_have_arrived());
    let said = azcsi_types::fault::report(&error);
    assert!(
        said.contains("install the package ca-certificates"),
        "{said}"
    );
    assert_eq!(ask("http").await.unwrap().status(), 200);
    server.await.unwrap();
}
