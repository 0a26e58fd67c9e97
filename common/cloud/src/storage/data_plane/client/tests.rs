//! Tests of `client`: who is told what, what is sent again, what errors become.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azcsi_types::clock::Clock;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::secret::Secret;

use crate::testing::{Script, answer, answer_with, files, files_with, op, sent_header, share};
use crate::{ErrorKind, FilesCredential, Metadata, ShareCreate, SnapshotsToo};

const DENIED: &str = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>AuthenticationFailed</Code><Message>Server failed to authenticate the request.\nRequestId:1\nTime:2</Message><AuthenticationErrorDetail>The MAC signature &apos;x&apos; is not &lt;right&gt;</AuthenticationErrorDetail><HeaderValue>geheim</HeaderValue></Error>";

#[tokio::test(start_paused = true)]
async fn a_key_signs_and_never_leaves() {
    let script = Script::new([("GET /pvc-1?restype=share", answer(200, ""))]);
    let (files, clock) = files(&script);
    files.get_share(&op(&clock, 60), &share()).await.unwrap();
    let authorization = sent_header(&script, 0, "authorization");
    assert!(
        authorization.starts_with("SharedKey acct1:"),
        "{authorization}"
    );
    assert_eq!(sent_header(&script, 0, "x-ms-version"), "2025-05-05");
    assert_eq!(
        sent_header(&script, 0, "x-ms-date"),
        "Fri, 15 Jan 2027 08:00:00 GMT"
    );
    assert_eq!(sent_header(&script, 0, "x-ms-client-request-id"), "corr-1");
    assert_eq!(sent_header(&script, 0, "x-ms-file-request-intent"), "");
    let seen = format!("{:?} {files:?}", script.seen.lock().unwrap());
    assert!(!seen.contains(crate::testing::ACCOUNT_KEY), "{seen}");
    assert!(!seen.contains(&authorization), "{seen}");
}

#[tokio::test(start_paused = true)]
async fn a_signature_goes_into_the_address_and_into_no_message() {
    let credential = FilesCredential::Sas(Secret::new("?sv=1&sig=geheim%3D"));
    assert_eq!(format!("{credential:?}"), "Sas(..)");
    let script = Script::new([(
        "DELETE /pvc-1?restype=share&sv=1&sig=geheim%3D",
        answer(
            409,
            "<Error><Code>LeaseIdMissing</Code><Message>no https://x/?sig=geheim%3D</Message></Error>",
        ),
    )]);
    let (files, clock) = files_with(&script, credential);
    let result = files
        .delete_share(&op(&clock, 60), &share(), SnapshotsToo::No)
        .await;
    let error = result.unwrap_err();
    let shown = format!("{error} {error:?} {files:?}");
    assert!(
        shown.contains("LeaseIdMissing") && !shown.contains("geheim"),
        "{shown}"
    );
    assert_eq!(sent_header(&script, 0, "authorization"), "");
}

#[tokio::test(start_paused = true)]
async fn a_token_comes_with_the_intent_and_is_renewed_once_when_refused() {
    let script = Script::new([
        ("GET /pvc-1", answer(401, "")),
        ("GET /pvc-1", answer(200, "")),
    ]);
    let (files, clock) = files_with(&script, FilesCredential::Identity);
    files.get_share(&op(&clock, 60), &share()).await.unwrap();
    assert_eq!(sent_header(&script, 0, "authorization"), "Bearer token-1");
    assert_eq!(sent_header(&script, 1, "authorization"), "Bearer token-2");
    assert_eq!(
        sent_header(&script, 1, "x-ms-file-request-intent"),
        "backup"
    );
}

#[tokio::test(start_paused = true)]
async fn every_sending_has_a_date_and_a_signature_of_its_own() {
    let busy = answer_with(503, &[("retry-after", "3")], "");
    let script = Script::new([("GET /pvc-1", busy), ("GET /pvc-1", answer(200, ""))]);
    let (files, clock) = files(&script);
    files.get_share(&op(&clock, 60), &share()).await.unwrap();
    assert_eq!(clock.now(), Duration::from_secs(3));
    for name in ["x-ms-date", "authorization"] {
        assert_ne!(sent_header(&script, 0, name), sent_header(&script, 1, name));
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_is_too_long_is_reported() {
    let busy = answer_with(
        503,
        &[("retry-after", "300"), ("x-ms-error-code", "ServerBusy")],
        "",
    );
    let script = Script::new([("GET /pvc-1", busy)]);
    let (files, clock) = files(&script);
    let error = files
        .get_share(&op(&clock, 60), &share())
        .await
        .unwrap_err();
    assert!(error.is_throttled());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(300)));
    assert_eq!(error.fault(), Fault::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_was_sent_twice_is_in_doubt() {
    let exists = answer_with(409, &[("x-ms-error-code", "ShareAlreadyExists")], "");
    let script = Script::new([("PUT /pvc-1", answer(500, "")), ("PUT /pvc-1", exists)]);
    let (files, clock) = files(&script);
    let created = files
        .create_share(&op(&clock, 60), &share(), &ShareCreate::default())
        .await;
    let error = created.unwrap_err();
    assert!(error.is_share_already_there() && error.is_in_doubt());
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_not_asked_for_twice() {
    let script = Script::new([("PUT /pvc-1?restype=share&comp=snapshot", answer(500, ""))]);
    let (files, clock) = files(&script);
    let taken = files
        .create_share_snapshot(&op(&clock, 60), &share(), &Metadata::new())
        .await;
    assert!(taken.unwrap_err().is_uncertain());
}

#[tokio::test(start_paused = true)]
async fn bodies_of_errors_are_read_in_every_form() {
    let html = "<html><head><title>403 Forbidden</title></head><body>&amp;</body></html>";
    let script = Script::new([
        ("GET /pvc-1", answer(403, DENIED)),
        ("GET /pvc-1", answer(403, html)),
        ("GET /pvc-1", answer(404, "")),
        (
            "GET /pvc-1",
            answer(
                404,
                "<Error><Code>ShareNotFound</Code><Message>gone &#x2026;",
            ),
        ),
    ]);
    let (files, clock) = files(&script);
    let op = op(&clock, 60);
    let denied = files.get_share(&op, &share()).await.unwrap_err();
    assert_eq!(denied.code(), "AuthenticationFailed");
    assert!(denied.message().ends_with("RequestId:1\nTime:2"));
    assert_eq!(
        denied.details()[0].message,
        "The MAC signature 'x' is not <right>"
    );
    assert!(!format!("{denied:?} {:?}", denied.details()).contains("geheim"));
    assert_eq!(denied.fault(), Fault::Denied);
    assert!(denied.to_string().starts_with("GET files:/pvc-1: 403 "));
    let html = files.get_share(&op, &share()).await.unwrap_err();
    assert_eq!((html.code(), html.message()), ("", "403 Forbidden"));
    // A 404 without a code proves nothing.
    let empty = files.get_share(&op, &share()).await.unwrap_err();
    assert_eq!(empty.absence(), None);
    let cut = files.get_share(&op, &share()).await.unwrap_err();
    assert!(cut.is_not_found());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_after_the_deadline() {
    let script = Script::new([]);
    let (files, clock) = files(&script);
    let error = files.get_share(&op(&clock, 0), &share()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
}

#[tokio::test(start_paused = true)]
async fn metadata_that_is_no_header_is_refused_before_anything_is_sent() {
    let script = Script::new([]);
    let (files, clock) = files(&script);
    for (key, value) in [("a b", "x"), ("a", "ä"), ("a", "x\ny"), ("", "x")] {
        let metadata = Metadata::from([(key.to_owned(), value.to_owned())]);
        let error = files
            .set_share_metadata(&op(&clock, 60), &share(), &metadata)
            .await
            .unwrap_err();
        assert_eq!(error.fault(), Fault::Invalid, "{key:?} {value:?}");
    }
}

/// Keeps everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl tracing::field::Visit for Log {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        let mut text = self.0.lock().unwrap();
        text.push_str(&format!("{field}={value:?} "));
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        attributes.record(&mut self.clone());
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn no_secret_reaches_the_log() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    for credential in [
        FilesCredential::Sas(Secret::new("sv=1&sig=geheim")),
        FilesCredential::SharedKey(Secret::new(crate::testing::ACCOUNT_KEY)),
        FilesCredential::Identity,
    ] {
        let script = Script::new([
            ("GET /pvc-1", answer(503, "")),
            ("GET /pvc-1", answer(403, DENIED)),
        ]);
        let (files, clock) = files_with(&script, credential);
        let denied = files.get_share(&op(&clock, 60), &share()).await;
        assert_eq!(denied.unwrap_err().code(), "AuthenticationFailed");
    }
    let text = log.0.lock().unwrap().clone();
    assert!(text.contains("GET files:/pvc-1"), "{text}");
    for secret in [
        "geheim",
        "sig=",
        crate::testing::ACCOUNT_KEY,
        "SharedKey",
        "token-",
    ] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}
