//! Tests of `environment`.

use super::{ApiFamily, Environment, EnvironmentError, is_loopback};
use crate::ServiceTransport;
use crate::testing::{Script, answer};

#[test]
fn every_cloud_has_its_endpoints() {
    for (name, arm, scope) in [
        (
            "",
            "https://management.azure.com",
            "https://management.core.windows.net/.default",
        ),
        (
            "AZURECLOUD",
            "https://management.azure.com",
            "https://management.core.windows.net/.default",
        ),
        (
            "AzureUSGovernment",
            "https://management.usgovcloudapi.net",
            "https://management.core.usgovcloudapi.net/.default",
        ),
        (
            "AzureChinaCloud",
            "https://management.chinacloudapi.cn",
            "https://management.core.chinacloudapi.cn/.default",
        ),
    ] {
        let environment = Environment::named(name).unwrap();
        assert_eq!(
            (environment.arm.as_str(), environment.scope().as_str()),
            (arm, scope)
        );
    }
    let error = Environment::named("AzureGermanCloud").unwrap_err();
    assert!(matches!(error, EnvironmentError::UnknownCloud(_)));
    assert!(matches!(
        Environment::named("AzureStackCloud"),
        Err(EnvironmentError::StackWithoutEndpoint)
    ));
}

async fn discover(body: &str, cloud: &str) -> Result<Environment, String> {
    let script = Script::new([(
        "GET http://127.0.0.1:7/metadata/endpoints?api-version=2019-05-01",
        answer(200, body),
    )]);
    let base = Environment::named("").ok();
    Environment::discover(
        &ServiceTransport::new(script),
        "http://127.0.0.1:7/",
        cloud,
        base,
    )
    .await
    .map_err(|error| error.to_string())
}

const ENTRY: &str = r#"{"name":"AzureCloud","authentication":{"loginEndpoint":"https://login.example/","audiences":["https://aud.example/"]},"suffixes":{"storage":"x.example"}}"#;

#[tokio::test]
async fn a_custom_cloud_describes_itself_as_list_or_object() {
    for body in [format!("[{ENTRY}]"), ENTRY.to_owned()] {
        let found = discover(&body, "AzureCloud").await.unwrap();
        assert_eq!(found.arm, "http://127.0.0.1:7");
        assert_eq!(found.authority, "https://login.example");
        assert_eq!(found.scope(), "https://aud.example/.default");
        assert_eq!(found.storage_suffix, "x.example");
    }
    assert_eq!(
        discover(&format!("[{ENTRY}]"), "").await.unwrap().name,
        "AzureCloud"
    );
}

#[tokio::test]
async fn a_wrong_description_is_refused_with_its_reason() {
    for (body, cloud, reason) in [
        (
            format!("[{ENTRY}]"),
            "Other",
            "knows no cloud 'Other', only AzureCloud",
        ),
        ("[]".to_owned(), "", "knows no cloud"),
        (
            ENTRY.replace("https://aud.example/", ""),
            "",
            "no token audience",
        ),
        (
            ENTRY.replace("https://login", "http://login"),
            "",
            "must be an https:// URL",
        ),
        ("<html>".to_owned(), "", "is no endpoint list"),
    ] {
        let error = discover(&body, cloud).await.unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn an_environment_file_counts_only_when_complete() {
    assert_eq!(Environment::from_file(r#"{"name":"x"}"#).unwrap(), None);
    let text = r#"{"resourceManagerEndpoint":"https://management.r.example/","tokenAudience":"https://a/","activeDirectoryEndpoint":"https://l/"}"#;
    let stack = Environment::from_file(text).unwrap().unwrap();
    assert_eq!(stack.arm, "https://management.r.example");
    assert_eq!(
        stack.api_versions.of(ApiFamily::VirtualMachines),
        "2017-12-01"
    );
    let error = Environment::from_file("{\n,").unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn versions_can_be_replaced_one_by_one() {
    let mut environment = Environment::named("").unwrap();
    environment.api_versions.set(ApiFamily::Disks, "2024-03-02");
    assert_eq!(environment.api_versions.of(ApiFamily::Disks), "2024-03-02");
    assert_eq!(
        environment.api_versions.of(ApiFamily::Snapshots),
        "2025-01-02"
    );
}

#[test]
fn plain_http_is_for_this_host_only() {
    for (host, local) in [
        ("127.0.0.1", true),
        ("[::1]", true),
        ("localhost", true),
        ("10.0.0.1", false),
        ("127.0.0.1.evil", false),
    ] {
        assert_eq!(is_loopback(host), local, "{host}");
    }
}

#[tokio::test]
async fn the_configuration_and_the_environment_choose_the_cloud() {
    let list = format!("[{ENTRY}]");
    let script = Script::new([("GET /metadata/endpoints", answer(200, &list))]);
    let transport = ServiceTransport::new(script);
    let mut config = crate::CloudConfig {
        cloud: "AzurePublicCloud".to_owned(),
        resource_manager_endpoint: "http://127.0.0.1:7".to_owned(),
        ..crate::CloudConfig::default()
    };
    let env = crate::config::Env {
        authority_host: Some("https://other.example/".to_owned()),
        ..crate::config::Env::default()
    };
    let found = Environment::of(&config, &env, None, &transport)
        .await
        .unwrap();
    assert_eq!(found.authority, "https://other.example");
    assert_eq!(found.arm, "http://127.0.0.1:7");

    config.cloud = "AzureStackCloud".to_owned();
    config.resource_manager_endpoint = String::new();
    let none = Environment::of(&config, &env, None, &transport).await;
    assert!(matches!(none, Err(EnvironmentError::StackWithoutEndpoint)));
    let file = r#"{"resourceManagerEndpoint":"https://m/","tokenAudience":"https://a/"}"#;
    let stack = Environment::of(&config, &env, Some(file), &transport)
        .await
        .unwrap();
    assert!(stack.api_versions.is_stack());
    config.disable_azure_stack_cloud = true;
    let modern = Environment::of(&config, &env, Some(file), &transport)
        .await
        .unwrap();
    assert!(!modern.api_versions.is_stack());
}

#[test]
fn each_cloud_is_spoken_to_in_the_versions_that_it_has() {
    let public = Environment::named("").unwrap().api_versions;
    let china = Environment::named("azurechinacloud").unwrap().api_versions;
    let stack = super::ApiVersions::stack();
    for (family, modern, in_china, on_stack) in [
        (
            ApiFamily::StorageAccounts,
            "2025-01-01",
            "2023-05-01",
            "2018-02-01",
        ),
        (
            ApiFamily::FileShares,
            "2025-01-01",
            "2023-05-01",
            "2025-01-01",
        ),
        (
            ApiFamily::Networks,
            "2025-05-01",
            "2025-05-01",
            "2018-11-01",
        ),
        (
            ApiFamily::PrivateDns,
            "2024-06-01",
            "2024-06-01",
            "2019-07-01",
        ),
        (ApiFamily::Disks, "2025-01-02", "2025-01-02", "2019-03-01"),
    ] {
        assert_eq!(public.of(family), modern, "{family:?}");
        assert_eq!(china.of(family), in_china, "{family:?}");
        assert_eq!(stack.of(family), on_stack, "{family:?}");
    }
    let mut china = china;
    china.set(ApiFamily::FileShares, "2024-01-01");
    assert_eq!(china.of(ApiFamily::FileShares), "2024-01-01");
}

#[tokio::test]
async fn the_versions_of_a_cloud_survive_the_configuration() {
    let transport = ServiceTransport::new(Script::new([]));
    let config = crate::CloudConfig {
        cloud: "AzureChinaCloud".to_owned(),
        ..crate::CloudConfig::default()
    };
    let env = crate::config::Env::default();
    let found = Environment::of(&config, &env, None, &transport)
        .await
        .unwrap();
    assert_eq!(found.api_versions, super::ApiVersions::china());
}
