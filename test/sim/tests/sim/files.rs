//! Directories, files, ranges and copies on the data plane, and who may use them.

use std::time::Duration;

use azcsi_sim::Profile;
use http::Request;
use serde_json::{Value, json};

use crate::storage_support::{Plane, account, below, between, body, hmac, signed};
use crate::support::{Got, Lab};

struct Here {
    lab: Lab,
    key: String,
}

impl Here {
    async fn new(profile: Profile) -> Self {
        let lab = Lab::with(profile);
        let key = lab
            .account("files01", body("StorageV2", "Standard_LRS"))
            .await;
        lab.share("files01", "data", json!({"shareQuota": 1})).await;
        Self { lab, key }
    }

    async fn ask(&self, verb: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Got {
        let given = Plane {
            headers: headers.to_vec(),
            body: body.to_vec(),
        };
        self.lab
            .plane(("files01", &self.key), verb, path, given)
            .await
    }

    /// Makes a file with this text.
    async fn file(&self, path: &str, text: &[u8]) {
        let size = text.len().to_string();
        let made = self
            .ask(
                "PUT",
                path,
                &[("x-ms-type", "file"), ("x-ms-content-length", &size)],
                b"",
            )
            .await;
        assert_eq!(made.status, 201, "{}", made.text());
        let range = format!("bytes=0-{}", text.len() - 1);
        let put = self
            .ask(
                "PUT",
                &format!("{path}?comp=range"),
                &[("x-ms-write", "update"), ("x-ms-range", &range)],
                text,
            )
            .await;
        assert_eq!(put.status, 201, "{}", put.text());
    }
}

#[tokio::test]
async fn a_file_is_written_by_ranges_and_read_whole_or_in_part() {
    let here = Here::new(Profile::Instant).await;
    let dir = here
        .ask(
            "PUT",
            "/data/Dir?restype=directory",
            &[("x-ms-meta-a", "b")],
            b"",
        )
        .await;
    assert_eq!(dir.status, 201);
    here.file("/data/Dir/hello.txt", b"hello world").await;
    let got = here.ask("GET", "/data/dir/HELLO.txt", &[], b"").await;
    assert_eq!((got.status, got.text().as_str()), (200, "hello world"));
    let got = here
        .ask(
            "GET",
            "/data/Dir/hello.txt",
            &[("x-ms-range", "bytes=6-8")],
            b"",
        )
        .await;
    assert_eq!((got.status, got.text().as_str()), (206, "wor"));
    assert_eq!(got.header("content-range"), "bytes 6-8/11");
    let head = here.ask("HEAD", "/data/Dir/hello.txt", &[], b"").await;
    assert_eq!(
        (head.header("content-length"), head.header("x-ms-type")),
        ("11", "File")
    );
    assert!(head.response.body().is_empty());
}

#[tokio::test]
async fn directories_ranges_and_use_are_told_as_xml() {
    let here = Here::new(Profile::Instant).await;
    here.ask("PUT", "/data/Dir?restype=directory", &[], b"")
        .await;
    here.file("/data/Dir/hello.txt", b"hello world").await;
    let list = here
        .ask("GET", "/data/Dir?restype=directory&comp=list", &[], b"")
        .await
        .text();
    assert_eq!(between(&list, "<Name>", "</Name>"), "hello.txt");
    assert_eq!(
        between(&list, "<Content-Length>", "</Content-Length>"),
        "11"
    );
    let ranges = here
        .ask("GET", "/data/Dir/hello.txt?comp=rangelist", &[], b"")
        .await
        .text();
    assert!(ranges.contains("<Start>0</Start><End>10</End>"), "{ranges}");
    let stats = here
        .ask("GET", "/data?restype=share&comp=stats", &[], b"")
        .await
        .text();
    assert_eq!(
        between(&stats, "<ShareUsageBytes>", "</ShareUsageBytes>"),
        "11"
    );
    let clear = [("x-ms-write", "clear"), ("x-ms-range", "bytes=0-4")];
    assert_eq!(
        here.ask("PUT", "/data/Dir/hello.txt?comp=range", &clear, b"")
            .await
            .status,
        201
    );
    assert_eq!(
        here.ask("GET", "/data/Dir/hello.txt", &[], b"")
            .await
            .text(),
        "\0\0\0\0\0 world"
    );
}

type Refused = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    u16,
    &'static str,
);
const FILE: [(&str, &str); 2] = [("x-ms-type", "file"), ("x-ms-content-length", "5")];
const HUGE: [(&str, &str); 2] = [("x-ms-type", "file"), ("x-ms-content-length", "2000000000")];
const BEYOND: [(&str, &str); 2] = [("x-ms-write", "update"), ("x-ms-range", "bytes=0-9")];
const REFUSED: [Refused; 11] = [
    ("PUT", "/data/none/file", &FILE, 404, "ParentNotFound"),
    ("GET", "/data/absent", &[], 404, "ResourceNotFound"),
    ("GET", "/none/absent", &[], 404, "ShareNotFound"),
    (
        "PUT",
        "/data/dir?restype=directory",
        &[],
        409,
        "ResourceAlreadyExists",
    ),
    (
        "DELETE",
        "/data/dir?restype=directory",
        &[],
        409,
        "DirectoryNotEmpty",
    ),
    ("GET", "/data/dir", &[], 409, "ResourceTypeMismatch"),
    ("PUT", "/data/a%3Ab", &FILE, 400, "InvalidResourceName"),
    ("PUT", "/data/big", &HUGE, 413, "ShareSizeLimitReached"),
    ("PUT", "/data/untyped", &[], 400, "MissingRequiredHeader"),
    (
        "PUT",
        "/data/dir/file?comp=range",
        &BEYOND,
        416,
        "InvalidRange",
    ),
    (
        "GET",
        "/data/dir/file?comp=nonsense",
        &[],
        400,
        "InvalidQueryParameterValue",
    ),
];

#[tokio::test]
async fn what_cannot_be_is_told_by_its_code() {
    let here = Here::new(Profile::Instant).await;
    here.ask("PUT", "/data/dir?restype=directory", &[], b"")
        .await;
    here.file("/data/dir/file", b"x").await;
    for (verb, path, headers, status, code) in REFUSED {
        let got = here.ask(verb, path, headers, b"").await;
        assert_eq!(
            (got.status, got.xml_code().as_str()),
            (status, code),
            "{verb} {path}"
        );
    }
    assert_eq!(
        here.ask("DELETE", "/data/dir/file", &[], b"").await.status,
        202
    );
    assert_eq!(
        here.ask("DELETE", "/data/dir?restype=directory", &[], b"")
            .await
            .status,
        202
    );
}

#[tokio::test]
async fn a_snapshot_keeps_the_files_and_takes_no_writes() {
    let here = Here::new(Profile::Instant).await;
    here.file("/data/file", b"before").await;
    let taken = here
        .ask("PUT", "/data?restype=share&comp=snapshot", &[], b"")
        .await;
    let time = taken.header("x-ms-snapshot").to_owned();
    here.file("/data/file", b"after").await;
    let old = here
        .ask("GET", &format!("/data/file?sharesnapshot={time}"), &[], b"")
        .await;
    assert_eq!(old.text(), "before");
    assert_eq!(
        here.ask("GET", "/data/file", &[], b"").await.text(),
        "after"
    );
    let refused = here
        .ask(
            "DELETE",
            &format!("/data/file?sharesnapshot={time}"),
            &[],
            b"",
        )
        .await;
    assert_eq!(
        (refused.status, refused.xml_code().as_str()),
        (400, "ShareSnapshotOperationNotSupported")
    );
}

#[tokio::test]
async fn a_copy_runs_by_itself_and_can_be_aborted() {
    let here = Here::new(Profile::Azure).await;
    here.file("/data/source", b"copied").await;
    let url = "https://files01.file.core.windows.net/data/source";
    let copy = [("x-ms-copy-source", url)];
    let got = here.ask("PUT", "/data/one", &copy, b"").await;
    assert_eq!(
        (got.status, got.header("x-ms-copy-status")),
        (202, "pending")
    );
    let other = here.ask("PUT", "/data/two", &copy, b"").await;
    let abort = format!(
        "/data/two?comp=copy&copyid={}",
        other.header("x-ms-copy-id")
    );
    assert_eq!(
        here.ask("PUT", &abort, &[("x-ms-copy-action", "abort")], b"")
            .await
            .status,
        204
    );
    let busy = [("x-ms-write", "clear"), ("x-ms-range", "bytes=0-1")];
    let got = here.ask("PUT", "/data/one?comp=range", &busy, b"").await;
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (409, "PendingCopyOperation")
    );
    here.lab.clock.advance(Duration::from_secs(60));
    let done = here.ask("GET", "/data/one", &[], b"").await;
    assert_eq!(
        (done.text().as_str(), done.header("x-ms-copy-status")),
        ("copied", "success")
    );
    assert_eq!(done.header("x-ms-copy-progress"), "6/6");
    let aborted = here.ask("HEAD", "/data/two", &[], b"").await;
    assert_eq!(
        (
            aborted.header("content-length"),
            aborted.header("x-ms-copy-status")
        ),
        ("0", "aborted")
    );
    let again = here
        .ask("PUT", &abort, &[("x-ms-copy-action", "abort")], b"")
        .await;
    assert_eq!(
        (again.status, again.xml_code().as_str()),
        (409, "NoPendingCopyOperation")
    );
}

/// A SAS of the account, by the reference's own words.
fn account_sas(key: &str, permissions: &str, types: &str, expiry: &str) -> String {
    let text = format!("files01\n{permissions}\nf\n{types}\n\n{expiry}\n\nhttps\n2024-11-04\n\n");
    let signature = hmac(key, &text)
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D");
    format!("sv=2024-11-04&ss=f&srt={types}&sp={permissions}&se={expiry}&spr=https&sig={signature}")
}

async fn with_sas(lab: &Lab, verb: &str, path: &str, sas: &str) -> Got {
    let mark = if path.contains('?') { '&' } else { '?' };
    let url = format!("https://files01.file.core.windows.net{path}{mark}{sas}");
    let request = Request::builder()
        .method(verb)
        .uri(url)
        .header("x-ms-version", "2024-11-04");
    lab.raw(request.body(bytes::Bytes::new()).expect("request"))
        .await
        .expect("an answer")
}

#[tokio::test]
async fn a_sas_allows_what_it_says_as_long_as_it_says() {
    let here = Here::new(Profile::Instant).await;
    here.file("/data/file", b"text").await;
    let (key, later) = (here.key.as_str(), "2026-01-01T01:00:00Z");
    let all = account_sas(key, "rwdlc", "sco", later);
    assert_eq!(
        with_sas(&here.lab, "GET", "/data/file", &all).await.text(),
        "text"
    );
    assert_eq!(
        with_sas(&here.lab, "GET", "/?comp=list", &all).await.status,
        200
    );
    for (sas, code) in [
        (
            account_sas(key, "w", "sco", later),
            "AuthorizationPermissionMismatch",
        ),
        (
            account_sas(key, "r", "s", later),
            "AuthorizationResourceTypeMismatch",
        ),
        (
            account_sas(key, "r", "o", "2025-12-31T00:00:00Z"),
            "AuthenticationFailed",
        ),
        (all.replace("sp=rwdlc", "sp=rwdlcx"), "AuthenticationFailed"),
    ] {
        let got = with_sas(&here.lab, "GET", "/data/file", &sas).await;
        assert_eq!((got.status, got.xml_code().as_str()), (403, code), "{sas}");
    }
}

#[tokio::test]
async fn a_sas_of_a_share_is_good_for_what_is_in_it() {
    let here = Here::new(Profile::Instant).await;
    here.file("/data/file", b"text").await;
    let wanted = json!({
        "canonicalizedResource": "/file/files01/data", "signedResource": "s",
        "signedPermission": "rl", "signedExpiry": "2026-01-01T01:00:00.0000000Z",
    });
    let got = here
        .lab
        .send("POST", &below("files01", "ListServiceSas"), wanted)
        .await;
    let sas = got.body["serviceSasToken"]
        .as_str()
        .expect("a token")
        .to_owned();
    assert_eq!(
        with_sas(&here.lab, "GET", "/data/file", &sas).await.text(),
        "text"
    );
    let got = with_sas(&here.lab, "GET", "/?comp=list", &sas).await;
    assert_eq!(got.status, 403, "a share's SAS does not list shares");
    here.lab
        .send(
            "POST",
            &below("files01", "regenerateKey"),
            json!({"keyName": "key1"}),
        )
        .await;
    assert_eq!(
        with_sas(&here.lab, "GET", "/data/file", &sas).await.status,
        403
    );
    assert!(
        here.lab.sim.violations().is_empty(),
        "a SAS in a URL is no leak"
    );
}

#[tokio::test]
async fn tokens_need_an_intent_and_a_new_enough_version() {
    let here = Here::new(Profile::Instant).await;
    here.file("/data/file", b"text").await;
    for (path, version, intent, status, code) in [
        ("/data/file", "2024-11-04", "backup", 200, ""),
        ("/data/file", "2024-11-04", "", 400, "MissingRequiredHeader"),
        ("/data/file", "2022-11-02", "backup", 200, ""),
        (
            "/data?restype=share",
            "2022-11-02",
            "backup",
            403,
            "FileOAuthManagementApiRestrictedToSrp",
        ),
    ] {
        let url = format!("https://files01.file.core.windows.net{path}");
        let mut request = Request::get(url)
            .header("authorization", "Bearer x")
            .header("x-ms-version", version);
        if !intent.is_empty() {
            request = request.header("x-ms-file-request-intent", intent);
        }
        let request = request.body(bytes::Bytes::new()).expect("request");
        let got = here.lab.raw(request).await.expect("an answer");
        assert_eq!(
            (got.status, got.header("x-ms-error-code")),
            (status, code),
            "{path} {version}"
        );
    }
}

#[tokio::test]
async fn keys_can_be_switched_off() {
    let here = Here::new(Profile::Instant).await;
    let off = json!({"properties": {"allowSharedKeyAccess": false}});
    assert_eq!(
        here.lab
            .send("PATCH", &account("files01"), off)
            .await
            .status,
        200
    );
    let got = here.ask("GET", "/?comp=list", &[], b"").await;
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (403, "KeyBasedAuthenticationNotPermitted")
    );
    let keys = here
        .lab
        .send("POST", &below("files01", "listKeys"), Value::Null)
        .await;
    assert_eq!(keys.status, 200, "they can still be listed");
}

#[tokio::test]
async fn faults_meet_the_data_plane_by_what_a_request_is_about() {
    let here = Here::new(Profile::Instant).await;
    let script = json!({"faults": [
        {"method": "GET", "kind": "files/shares", "name": "files01/data", "times": 1,
         "effect": {"do": "status", "status": 403, "code": "AuthorizationFailure", "message": "no"}},
        {"kind": "files/files", "times": 1, "effect": {"do": "throttle", "retryAfter": 3}},
    ]});
    here.lab
        .sim
        .inject(serde_json::from_value(script).expect("a script"));
    let got = here.ask("GET", "/data?restype=share", &[], b"").await;
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (403, "AuthorizationFailure")
    );
    assert_eq!(
        here.ask("GET", "/data?restype=share", &[], b"")
            .await
            .status,
        200
    );
    let got = here.ask("GET", "/data/file", &[], b"").await;
    assert_eq!(
        (
            got.status,
            got.xml_code().as_str(),
            got.header("retry-after")
        ),
        (503, "ServerBusy", "3")
    );
    let classes: Vec<String> = here
        .lab
        .sim
        .requests(0)
        .into_iter()
        .map(|logged| logged.class)
        .collect();
    assert!(
        classes.contains(&"GET files/shares".to_owned()),
        "{classes:?}"
    );
}

#[tokio::test]
async fn a_key_in_a_url_is_a_violation() {
    let here = Here::new(Profile::Instant).await;
    let request = signed(
        ("files01", &here.key),
        "GET",
        &format!("/data/file?x={}", here.key),
        Plane::default(),
    );
    here.lab.raw(request).await.expect("an answer");
    let rules: Vec<String> = here
        .lab
        .sim
        .violations()
        .into_iter()
        .map(|found| found.rule)
        .collect();
    assert_eq!(rules, ["secretInUrl"]);
}
