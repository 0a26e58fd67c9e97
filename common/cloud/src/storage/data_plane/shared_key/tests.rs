//! Tests of `shared_key`.
//!
//! The form of the text is that of "Authorize with Shared Key" (REST reference of the storage
//! services). Each signature was computed apart from this crate, with the HMAC of Python's standard
//! library over the text written out by hand, and compared with the signer of the official Python
//! client.

use azcsi_types::account::AccountName;
use azcsi_types::secret::Secret;
use bytes::Bytes;
use http::Request;
use proptest::prelude::*;

use super::{authorize, string_to_sign};
use crate::testing::ACCOUNT_KEY;

fn account() -> AccountName {
    "examplefiles01".parse().unwrap()
}

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Request<Bytes> {
    let mut builder = Request::builder()
        .method(method)
        .uri(format!(
            "https://examplefiles01.file.core.windows.net{path}"
        ))
        .header("user-agent", "not signed")
        .header("x-ms-version", "2024-11-04")
        .header("x-ms-date", "Tue, 03 Mar 2026 09:30:00 GMT");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(Bytes::copy_from_slice(body)).unwrap()
}

fn signed(mut request: Request<Bytes>) -> (String, String) {
    let text = string_to_sign(&request, &account());
    authorize(&mut request, &account(), &Secret::new(ACCOUNT_KEY)).unwrap();
    let header = request.headers()["authorization"].clone();
    assert!(header.is_sensitive());
    (text, header.to_str().unwrap().to_owned())
}

const DATE: &str = "x-ms-date:Tue, 03 Mar 2026 09:30:00 GMT\n";

#[test]
fn a_create_of_a_share_is_signed_as_computed_elsewhere() {
    let headers = [("x-ms-share-quota", "100"), ("x-ms-meta-created-by", "csi")];
    let (text, header) = signed(request("PUT", "/pvc-0001?restype=share", &headers, b""));
    assert_eq!(
        text,
        format!(
            "PUT\n\n\n\n\n\n\n\n\n\n\n\n{DATE}x-ms-meta-created-by:csi\nx-ms-share-quota:100\nx-ms-version:2024-11-04\n/examplefiles01/pvc-0001\nrestype:share"
        )
    );
    assert_eq!(
        header,
        "SharedKey examplefiles01:+VJIFx0QkidLsV5nQ1Fr5F2RDPCGCYGKHM1bEaGe2XQ="
    );
}

#[test]
fn a_query_is_sorted_and_decoded() {
    let path = "/pvc-0001?restype=share&comp=properties";
    let (_, header) = signed(request("PUT", path, &[("x-ms-share-quota", "200")], b""));
    assert_eq!(
        header,
        "SharedKey examplefiles01:9Z5nqvFUtXCUv7UGIn1uNWV+k3MXDWQRBhqU9PK8joI="
    );
    let path = "/?prefix=a%20b&comp=list&include=metadata%2Csnapshots";
    let (text, header) = signed(request("GET", path, &[], b""));
    assert!(
        text.ends_with("\n/examplefiles01/\ncomp:list\ninclude:metadata,snapshots\nprefix:a b")
    );
    assert_eq!(
        header,
        "SharedKey examplefiles01:0IDQxxyqqSJDseqMtiOtP2hL+jHnGk6zbusYtFVjSdg="
    );
}

#[test]
fn a_body_is_signed_by_length_and_type() {
    let acl = [b'x'; 77];
    let path = "/pvc-0001?comp=acl&restype=share";
    let (_, header) = signed(request(
        "PUT",
        path,
        &[("content-type", "application/xml")],
        &acl,
    ));
    assert_eq!(
        header,
        "SharedKey examplefiles01:xt4sTqJPVqV+qhaK4aFEbE5GD0Npz11vED8zPJwDY94="
    );
}

#[test]
fn a_path_is_signed_as_it_is_sent() {
    let headers = [
        ("content-type", "application/octet-stream"),
        ("x-ms-write", "update"),
        ("x-ms-range", "bytes=0-2"),
    ];
    let path = "/pvc-0001/d%20%C3%A4/f?comp=range";
    let (_, header) = signed(request("PUT", path, &headers, b"abc"));
    assert_eq!(
        header,
        "SharedKey examplefiles01:bhy9AHC80arc+7YcB18jQA0Jl5sXFReTHtZwKCvGqOU="
    );
}

#[test]
fn repeated_names_become_one_line() {
    let headers = [("x-ms-a", " 1 "), ("x-ms-a", "2")];
    let text = string_to_sign(
        &request("GET", "/s?b=2&B=1&a=%3D", &headers, b""),
        &account(),
    );
    assert!(text.contains("\nx-ms-a:1,2\n"), "{text}");
    assert!(text.ends_with("/examplefiles01/s\na:=\nb:1,2"), "{text}");
}

#[test]
fn a_key_that_is_no_key_is_not_shown() {
    let mut request = request("GET", "/", &[], b"");
    let error = authorize(&mut request, &account(), &Secret::new("geheim!")).unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("not valid base64") && !text.contains("geheim"),
        "{text}"
    );
    assert!(std::error::Error::source(&error).is_none());
}

proptest! {
    #[test]
    fn every_header_of_the_service_is_signed(names in proptest::collection::btree_set("x-ms-[a-z]{1,8}", 1..6), value in "[!-~]{0,20}") {
        let headers: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), value.as_str())).collect();
        let text = string_to_sign(&request("GET", "/s", &headers, b""), &account());
        for name in &names {
            let line = format!("\n{name}:{value}\n");
            prop_assert!(text.contains(&line));
        }
        let signed: Vec<&str> = text.lines().filter_map(|l| l.split_once(':')).map(|(n, _)| n).collect();
        prop_assert!(signed.is_sorted());
    }
}
