//! Tests of `keys`.

use azcsi_types::fault::{Fault, Faulty};

use super::KeyName;
use crate::testing::{Script, account, answer, azure, op};

const KEYS: &str = r#"{"keys":[{"creationTime":"2026-01-01T00:00:00Z","keyName":"key1","value":"geheim1==","permissions":"FULL"},{"keyName":"key2","value":"geheim2==","permissions":"Read"}],"new":1}"#;

#[tokio::test(start_paused = true)]
async fn keys_are_read_and_not_shown() {
    let script = Script::new([
        (
            "POST /storageAccounts/acct1/listKeys?api-version=2025-01-01",
            answer(503, ""),
        ),
        (
            "POST /storageAccounts/acct1/listKeys?api-version=2025-01-01",
            answer(200, KEYS),
        ),
    ]);
    let (azure, clock) = azure(&script);
    let keys = azure
        .storage_keys()
        .list(&op(&clock, 60), &account())
        .await
        .unwrap();
    assert_eq!(keys[0].value.expose(), "geheim1==");
    assert!(keys[0].is_full() && !keys[1].is_full());
    assert!(!format!("{keys:?}").contains("geheim"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_understood_does_not_show_its_keys() {
    for body in [
        r#"{"keys":[{"keyName":["geheim"],"value":"geheim"}]}"#,
        r#"{"keys":"geheim"}"#,
        r#"["geheim"]"#,
        "geheim",
    ] {
        let script = Script::new([("POST /listKeys", answer(200, body))]);
        let (azure, clock) = azure(&script);
        let keys = azure.storage_keys().list(&op(&clock, 60), &account()).await;
        let error = keys.unwrap_err();
        assert!(std::error::Error::source(&error).is_none());
        let shown = format!("{error} {error:?}");
        assert!(
            shown.contains("POST storageAccounts/acct1/listKeys"),
            "{shown}"
        );
        assert!(!shown.contains("geheim"), "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_is_replaced_once_even_if_the_answer_is_lost() {
    let script = Script::new([
        ("POST /storageAccounts/acct1/regenerateKey", answer(500, "")),
        (
            "POST /storageAccounts/acct1/regenerateKey",
            answer(200, KEYS),
        ),
    ]);
    let (azure, clock) = azure(&script);
    let op = op(&clock, 60);
    let lost = azure
        .storage_keys()
        .regenerate(&op, &account(), KeyName::Key2)
        .await;
    assert!(lost.unwrap_err().is_uncertain());
    assert_eq!(script.left(), 1);
    let keys = azure
        .storage_keys()
        .regenerate(&op, &account(), KeyName::Key2)
        .await;
    assert_eq!(keys.unwrap().len(), 2);
    assert_eq!(script.bodies()[1], r#"{"keyName":"key2"}"#);
}

#[tokio::test(start_paused = true)]
async fn an_account_that_is_not_ready_yet_is_worth_another_try() {
    let body = r#"{"error":{"code":"StorageAccountIsNotProvisioned","message":"The storage account provisioning state must be 'Succeeded' before executing the operation."}}"#;
    let script = Script::new([("POST /listKeys", answer(409, body))]);
    let (azure, clock) = azure(&script);
    let keys = azure.storage_keys().list(&op(&clock, 60), &account()).await;
    let error = keys.unwrap_err();
    assert!(error.is_account_not_ready());
    assert_eq!(error.fault(), Fault::InProgress);
}
