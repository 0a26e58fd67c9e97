//! Shares on the data plane, and the signatures it asks for.

use std::time::Duration;

use serde_json::json;

use crate::storage_support::{Plane, below, between, body, share, signed};
use crate::support::Lab;

#[tokio::test]
async fn the_data_plane_makes_shows_lists_and_deletes_the_same_shares() {
    let lab = Lab::new();
    let key = lab
        .account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    let who = ("files01", key.as_str());
    let quota = Plane {
        headers: vec![("x-ms-share-quota", "5"), ("x-ms-meta-owner", "csi")],
        ..Plane::default()
    };
    let got = lab
        .plane(who, "PUT", "/pvc-1?restype=share", quota.clone())
        .await;
    assert_eq!(got.status, 201, "{}", got.text());
    let got = lab.plane(who, "PUT", "/pvc-1?restype=share", quota).await;
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (409, "ShareAlreadyExists")
    );
    let got = lab.ask(who, "GET", "/pvc-1?restype=share").await;
    assert_eq!(
        (
            got.header("x-ms-share-quota"),
            got.header("x-ms-meta-owner")
        ),
        ("5", "csi")
    );
    assert_eq!(
        lab.get(&share("files01", "pvc-1")).await.body["properties"]["shareQuota"],
        5
    );
    let more = Plane {
        headers: vec![("x-ms-share-quota", "9")],
        ..Plane::default()
    };
    assert_eq!(
        lab.plane(who, "PUT", "/pvc-1?restype=share&comp=properties", more)
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn the_data_plane_deletes_snapshots_one_by_one_and_shares_without() {
    let lab = Lab::new();
    let key = lab
        .account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    let who = ("files01", key.as_str());
    lab.share(
        "files01",
        "pvc-1",
        json!({"shareQuota": 5, "metadata": {"owner": "csi"}}),
    )
    .await;
    let snapshot = lab
        .ask(who, "PUT", "/pvc-1?restype=share&comp=snapshot")
        .await;
    assert_eq!(snapshot.status, 201);
    let time = snapshot.header("x-ms-snapshot").to_owned();
    let list = lab
        .ask(who, "GET", "/?comp=list&include=metadata,snapshots")
        .await
        .text();
    assert_eq!(between(&list, "<Snapshot>", "</Snapshot>"), time);
    assert_eq!(list.matches("<owner>csi</owner>").count(), 2);
    let got = lab.ask(who, "DELETE", "/pvc-1?restype=share").await;
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (409, "ShareHasSnapshots")
    );
    let got = lab
        .ask(
            who,
            "DELETE",
            &format!("/pvc-1?restype=share&sharesnapshot={time}"),
        )
        .await;
    assert_eq!(got.status, 202);
    assert_eq!(
        lab.ask(who, "DELETE", "/pvc-1?restype=share").await.status,
        202
    );
    let got = lab.ask(who, "GET", "/pvc-1?restype=share").await;
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (404, "ShareNotFound")
    );
}

#[tokio::test]
async fn a_wrong_signature_is_refused_with_what_should_have_been_signed() {
    let lab = Lab::new();
    let key = lab
        .account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    let wrong =
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";
    let got = lab.ask(("files01", wrong), "GET", "/?comp=list").await;
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (403, "AuthenticationFailed")
    );
    assert!(
        got.text()
            .contains("<AuthenticationErrorDetail>The MAC signature found"),
        "{}",
        got.text()
    );
    assert!(
        got.text().contains("/files01/\ncomp:list"),
        "{}",
        got.text()
    );
    assert_eq!(
        lab.ask(("files01", &key), "GET", "/?comp=list")
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_key_that_was_made_anew_and_a_date_long_ago_are_refused() {
    let lab = Lab::new();
    let key = lab
        .account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    lab.send(
        "POST",
        &below("files01", "regenerateKey"),
        json!({"keyName": "key1"}),
    )
    .await;
    assert_eq!(
        lab.ask(("files01", &key), "GET", "/?comp=list")
            .await
            .status,
        403,
        "the old key is void at once"
    );
    let key = lab.key("files01").await;
    let mut late = signed(("files01", &key), "GET", "/?comp=list", Plane::default());
    assert_eq!(lab.raw(late.clone()).await.expect("an answer").status, 200);
    lab.clock.advance(Duration::from_secs(16 * 60));
    let got = lab.raw(late.clone()).await.expect("an answer");
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (403, "AuthenticationFailed"),
        "too old"
    );
    late.headers_mut().remove("authorization");
    let got = lab.raw(late).await.expect("an answer");
    assert_eq!(
        (got.status, got.xml_code().as_str()),
        (401, "NoAuthenticationInformation")
    );
}
