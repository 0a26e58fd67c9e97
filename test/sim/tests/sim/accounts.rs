//! Storage accounts.

use std::time::Duration;

use azcsi_sim::Profile;
use serde_json::{Value, json};

use crate::storage_support::{GROUP, VERSION, account, below, body, share};
use crate::support::Lab;

#[tokio::test]
async fn a_new_account_is_accepted_without_a_body_and_can_be_used_when_it_is_ready() {
    let lab = Lab::with(Profile::Azure);
    let got = lab
        .send(
            "PUT",
            &account("files01"),
            body("StorageV2", "Standard_LRS"),
        )
        .await;
    assert_eq!((got.status, got.response.body().len()), (202, 0));
    assert_eq!(got.header("azure-asyncoperation"), "");
    let poll = got.header("location").to_owned();
    assert!(
        poll.contains("/providers/Microsoft.Storage/locations/eastus2/asyncoperations/"),
        "{poll}"
    );
    assert_eq!(lab.get(&poll).await.status, 202);
    let early = lab
        .send("POST", &below("files01", "listKeys"), Value::Null)
        .await;
    assert_eq!(
        (early.status, early.code()),
        (409, "StorageAccountIsNotProvisioned")
    );
    lab.clock.advance(Duration::from_secs(300));
    let done = lab.get(&poll).await;
    assert_eq!((done.status, &done.body["name"]), (200, &json!("files01")));
    let got = lab.get(&account("files01")).await;
    assert_eq!(got.body, done.body);
    let properties = &got.body["properties"];
    assert_eq!(
        got.body["sku"],
        json!({"name": "Standard_LRS", "tier": "Standard"})
    );
    assert_eq!(got.body["kind"], "StorageV2");
    assert_eq!(properties["provisioningState"], "Succeeded");
    assert_eq!(
        properties["primaryEndpoints"]["file"],
        "https://files01.file.core.windows.net/"
    );
    assert_eq!(properties["networkAcls"]["defaultAction"], "Allow");
    assert_eq!(properties["supportsHttpsTrafficOnly"], true);
    assert_eq!(properties["accessTier"], "Hot");
    assert_eq!(properties["privateEndpointConnections"], json!([]));
}

#[tokio::test]
async fn names_are_unique_in_all_of_azure_and_have_a_form() {
    let lab = Lab::new();
    lab.account("taken", body("StorageV2", "Standard_LRS"))
        .await;
    for (name, available, reason) in [
        ("taken", false, "AlreadyExists"),
        ("No-Good", false, "AccountNameInvalid"),
        ("free", true, ""),
    ] {
        let path = format!(
            "/subscriptions/sub-1/providers/Microsoft.Storage/checkNameAvailability?{VERSION}"
        );
        let wanted = json!({"name": name, "type": "Microsoft.Storage/storageAccounts"});
        let got = lab.send("POST", &path, wanted).await;
        assert_eq!(
            (got.status, &got.body["nameAvailable"]),
            (200, &json!(available)),
            "{name}"
        );
        assert_eq!(
            got.body["reason"].as_str().unwrap_or_default(),
            reason,
            "{name}"
        );
    }
    let group = "/subscriptions/sub-1/resourceGroups/other";
    lab.send(
        "PUT",
        &format!("{group}?{VERSION}"),
        json!({"location": "eastus2"}),
    )
    .await;
    let there = account("taken").replace(GROUP, group);
    let got = lab
        .send("PUT", &there, body("StorageV2", "Standard_LRS"))
        .await;
    assert_eq!(
        (got.status, got.code()),
        (409, "StorageAccountInAnotherResourceGroup")
    );
    let got = lab
        .send("PUT", &account("No"), body("StorageV2", "Standard_LRS"))
        .await;
    assert_eq!((got.status, got.code()), (400, "AccountNameInvalid"));
}

#[tokio::test]
async fn put_again_is_a_success_and_what_is_fixed_is_refused() {
    let lab = Lab::new();
    lab.account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    let again = lab
        .send(
            "PUT",
            &account("files01"),
            body("StorageV2", "Standard_LRS"),
        )
        .await;
    assert_eq!(
        (again.status, &again.body["name"]),
        (200, &json!("files01"))
    );
    let mut hns = body("StorageV2", "Standard_LRS");
    hns["properties"] = json!({"isHnsEnabled": true});
    for (wanted, code) in [
        (
            body("FileStorage", "Standard_LRS"),
            "AccountPropertyCannotBeUpdated",
        ),
        (hns, "AccountPropertyCannotBeUpdated"),
        (
            json!({"location": "westus2", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}}),
            "InvalidResourceLocation",
        ),
    ] {
        let got = lab.send("PUT", &account("files01"), wanted).await;
        assert_eq!((got.status, got.code()), (409, code));
    }
    for (kind, sku, code) in [
        ("FileStorage", "Standard_LRS", "InvalidAccountKind"),
        ("StorageV2", "StandardV2_LRS", "InvalidAccountKind"),
        ("StorageV2", "Nonsense_LRS", "AccountPropertyIsInvalid"),
    ] {
        let got = lab.send("PUT", &account("another"), body(kind, sku)).await;
        assert_eq!((got.status, got.code()), (400, code), "{kind} {sku}");
    }
}

#[tokio::test]
async fn patch_replaces_tags_and_network_rules_whole_and_keeps_the_rest() {
    let lab = Lab::new();
    let mut wanted = body("FileStorage", "Premium_LRS");
    wanted["tags"] = json!({"k8s-azure-created-by": "azure", "skip-matching": ""});
    wanted["properties"] = json!({"supportsHttpsTrafficOnly": false, "networkAcls": {
        "defaultAction": "Deny", "ipRules": [{"value": "1.2.3.4"}]}});
    lab.account("files01", wanted).await;
    let got = lab
        .send("PATCH", &account("files01"), json!({"tags": {"a": "b"}}))
        .await;
    assert_eq!(got.status, 200);
    assert_eq!(got.body["tags"], json!({"a": "b"}));
    let rules = &got.body["properties"]["networkAcls"];
    assert_eq!(
        rules["ipRules"],
        json!([{"value": "1.2.3.4", "action": "Allow"}])
    );
    assert_eq!(rules["defaultAction"], "Deny");
    let acl = json!({"properties": {"networkAcls": {"defaultAction": "Allow"}}});
    let got = lab.send("PATCH", &account("files01"), acl).await;
    assert_eq!(got.body["properties"]["networkAcls"]["ipRules"], json!([]));
    assert_eq!(got.body["properties"]["supportsHttpsTrafficOnly"], false);
    assert_eq!(
        got.body["properties"]["primaryEndpoints"],
        json!({"file": "https://files01.file.core.windows.net/"})
    );
    let missing = lab.send("PATCH", &account("absent"), json!({})).await;
    assert_eq!((missing.status, missing.code()), (404, "ResourceNotFound"));
    assert_eq!(missing.header("x-ms-failure-cause"), "gateway");
}

#[tokio::test]
async fn each_key_is_made_anew_by_itself() {
    let lab = Lab::new();
    lab.account("files01", body("StorageV2", "Standard_LRS"))
        .await;
    let before = lab
        .send("POST", &below("files01", "listKeys"), Value::Null)
        .await
        .body;
    assert_eq!(before["keys"][0]["keyName"], "key1");
    assert_eq!(before["keys"][0]["permissions"], "FULL");
    lab.clock.advance(Duration::from_secs(3600));
    let path = below("files01", "regenerateKey");
    let after = lab
        .send("POST", &path, json!({"keyName": "key2"}))
        .await
        .body;
    assert_eq!(after["keys"][0], before["keys"][0]);
    assert_ne!(after["keys"][1]["value"], before["keys"][1]["value"]);
    assert_ne!(
        after["keys"][1]["creationTime"],
        before["keys"][1]["creationTime"]
    );
    let got = lab.send("POST", &path, json!({"keyName": "key3"})).await;
    assert_eq!(got.status, 400);
}

#[tokio::test]
async fn lists_are_of_a_group_or_of_the_subscription_and_deletes_can_be_repeated() {
    let lab = Lab::options(|options| options.page_size = 2);
    for name in ["aaa", "bbb", "ccc"] {
        lab.account(name, body("StorageV2", "Standard_LRS")).await;
    }
    let path =
        format!("/subscriptions/sub-1/providers/Microsoft.Storage/storageAccounts?{VERSION}");
    let first = lab.get(&path).await.body;
    assert_eq!(first["value"].as_array().expect("value").len(), 2);
    let next = lab
        .get(first["nextLink"].as_str().expect("a second page"))
        .await
        .body;
    assert_eq!(next["value"][0]["name"], "ccc");
    assert_eq!(
        lab.send("DELETE", &account("bbb"), Value::Null)
            .await
            .status,
        200
    );
    assert_eq!(
        lab.send("DELETE", &account("bbb"), Value::Null)
            .await
            .status,
        204
    );
    assert_eq!(lab.get(&account("bbb")).await.status, 404);
    let got = lab.get(&share("bbb", "abc")).await;
    assert_eq!((got.status, got.code()), (404, "ParentResourceNotFound"));
}

#[tokio::test]
async fn a_subscription_has_250_accounts_in_a_region() {
    let lab = Lab::new();
    for index in 0..250 {
        let name = format!("acct{index}");
        lab.send("PUT", &account(&name), body("StorageV2", "Standard_LRS"))
            .await;
    }
    let got = lab
        .send(
            "PUT",
            &account("onemore"),
            body("StorageV2", "Standard_LRS"),
        )
        .await;
    assert_eq!(
        (got.status, got.code()),
        (409, "MaxStorageAccountsCountPerSubscriptionExceeded")
    );
    let mut elsewhere = body("StorageV2", "Standard_LRS");
    elsewhere["location"] = json!("westus2");
    assert_eq!(
        lab.send("PUT", &account("onemore"), elsewhere).await.status,
        202
    );
}

#[tokio::test]
async fn the_provider_has_windows_of_its_own() {
    let lab = Lab::with(Profile::Azure);
    let path = format!("{GROUP}/providers/Microsoft.Storage/storageAccounts?{VERSION}");
    let mut last = lab.get(&path).await;
    let mut answered = 0;
    while last.status == 200 && answered < 200 {
        answered += 1;
        last = lab.get(&path).await;
    }
    assert_eq!(
        (answered, last.status, last.code()),
        (100, 429, "TooManyRequests")
    );
    assert!(
        last.message().contains("List_ObservationWindow_00:05:00"),
        "{}",
        last.message()
    );
    let wait: u64 = last.header("retry-after").parse().expect("seconds");
    lab.clock.advance(Duration::from_secs(wait));
    assert_eq!(lab.get(&path).await.status, 200);
}
