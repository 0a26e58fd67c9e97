//! Tests of `certificate`.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature;
use serde_json::Value;

use super::{Certificate, CertificateError};

/// A self-signed test certificate for CN=test with its RSA key; used nowhere else.
const PEM: &[u8] = include_bytes!("../testdata/rsa.pem");

#[test]
fn an_assertion_is_signed_with_the_key_and_names_the_certificate() {
    let certificate = Certificate::from_pem(PEM).unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let jwt = certificate
        .assertion("https://a/t/oauth2/v2.0/token", "app", now)
        .unwrap();
    let parts: Vec<&str> = jwt.split('.').collect();
    let read = |part: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    let (header, claims) = (read(parts[0]), read(parts[1]));
    assert_eq!(header["alg"], "PS256");
    let thumbprint = ring::digest::digest(&ring::digest::SHA256, &certificate.chain[0]);
    assert_eq!(header["x5t#S256"], URL_SAFE_NO_PAD.encode(thumbprint));
    assert_eq!(claims["aud"], "https://a/t/oauth2/v2.0/token");
    assert_eq!(
        (&claims["iss"], &claims["sub"]),
        (&Value::from("app"), &Value::from("app"))
    );
    assert_eq!(claims["exp"], 1_800_000_600_u64);

    let public = certificate.key.public();
    let key = signature::UnparsedPublicKey::new(&signature::RSA_PSS_2048_8192_SHA256, public);
    let signed = format!("{}.{}", parts[0], parts[1]);
    let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
    key.verify(signed.as_bytes(), &signature).unwrap();
}

#[test]
fn other_files_are_explained() {
    let text = std::str::from_utf8(PEM).unwrap();
    let key_at = text.find("-----BEGIN PRIVATE KEY").unwrap();
    for (pem, expected) in [
        (&b"0\x82\x01"[..], CertificateError::NotPem),
        (&PEM[key_at..], CertificateError::NoCertificate),
        (&PEM[..key_at], CertificateError::NoKey),
    ] {
        assert_eq!(Certificate::from_pem(pem).unwrap_err(), expected);
    }
    let pair = rcgen::generate_simple_self_signed(["x".to_owned()]).unwrap();
    let elliptic = format!("{}{}", pair.cert.pem(), pair.signing_key.serialize_pem());
    let error = Certificate::from_pem(elliptic.as_bytes()).unwrap_err();
    assert_eq!(error, CertificateError::BadKey);
}
