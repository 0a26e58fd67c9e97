//! Tests of `config`.

use std::collections::HashMap;

use super::{CloudConfig, Credential, DEFAULT_FILE, Env};

const FILE: &str = "/etc/kubernetes/azure.json";

fn parse(text: &str) -> Result<CloudConfig, String> {
    CloudConfig::parse(text, FILE, &Env::default()).map_err(|error| error.to_string())
}

fn kind(text: &str) -> Result<&'static str, String> {
    let credential = parse(text)?
        .credential(FILE)
        .map_err(|error| error.to_string())?;
    Ok(match credential {
        Credential::Federated { .. } => "federated",
        Credential::ManagedIdentity { identity: None } => "system",
        Credential::ManagedIdentity { .. } => "identity",
        Credential::ClientSecret { .. } => "secret",
        Credential::Certificate { .. } => "certificate",
    })
}

#[test]
fn a_usual_file_is_read_and_unknown_keys_are_ignored() {
    let config = parse(
        r#"{"cloud":"AzurePublicCloud","tenantId":"t","subscriptionId":"s","resourceGroup":"g","location":"East US 2",
            "vmType":"vmss","aadClientId":"a","aadClientSecret":"geheim","cloudProviderBackoffRetries":6,"vmssCacheTTLInSeconds":"600",
            "useManagedIdentityExtension":"false","loadBalancerSku":"standard","diskRateLimit":{"x":[1]},"maximumLoadBalancerRuleCount":250}"#,
    )
    .unwrap();
    assert_eq!(config.location, "eastus2");
    assert_eq!(config.cloud_provider_backoff_retries, Some(6));
    assert_eq!(config.vmss_cache_ttl_in_seconds, Some(600));
    assert!(!format!("{config:?}").contains("geheim"));
}

#[test]
fn yaml_reads_the_same() {
    let config = parse(
        "---\n# comment\ncloud: AzurePublicCloud\nsubscriptionId: \"s\" # why\ntenantId: 't''1'\nlocation: West Europe\nuseManagedIdentityExtension: true\nvmCacheTTLInSeconds: 60\nauxiliaryTokenProvider:\n  vaultName: v\nlist: []\n",
    )
    .unwrap();
    assert_eq!(
        (config.subscription_id.as_str(), config.tenant_id.as_str()),
        ("s", "t'1")
    );
    assert_eq!(config.location, "westeurope");
    assert!(config.use_managed_identity_extension);
    assert_eq!(config.vm_cache_ttl_in_seconds, Some(60));
}

#[test]
fn the_network_is_read_from_json_and_yaml_alike() {
    for text in [
        r#"{"vnetName":" net ","vnetResourceGroup":"g2","subnetName":"nodes","networkResourceSubscriptionID":"s2"}"#,
        "vnetName: net\nvnetResourceGroup: g2\nsubnetName: nodes\nnetworkResourceSubscriptionId: s2\n",
    ] {
        let config = parse(text).unwrap();
        let found = [
            &config.vnet_name,
            &config.vnet_resource_group,
            &config.subnet_name,
            &config.network_resource_subscription_id,
        ];
        assert_eq!(found, ["net", "g2", "nodes", "s2"], "{text}");
    }
    assert!(parse("{}").unwrap().vnet_name.is_empty());
}

#[test]
fn an_error_names_file_line_and_key_but_not_the_value() {
    for (text, place) in [
        (
            "{\n \"useManagedIdentityExtension\": \"geheim\"}",
            "line 2: key 'useManagedIdentityExtension': expected true or false",
        ),
        ("{\n\n\"tenantId\": [\"geheim\"]}", "line 3: key 'tenantId'"),
        (
            "a: 1\nvmCacheTTLInSeconds: geheim\n",
            "line 2: key 'vmCacheTTLInSeconds': expected a whole number",
        ),
        (
            "tenantId: t\ngeheim\n",
            "line 2: text: expected JSON, or 'key: value'",
        ),
        (
            "tenantId: |\n  geheim\n",
            "line 1: text: key 'tenantId': only plain and quoted",
        ),
        ("{\"tenantId\": \"t\",\n", "line 2"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(FILE) && error.contains(place), "{error}");
        assert!(!error.contains("geheim"), "{error}");
    }
}

#[test]
fn the_first_credential_of_the_order_wins() {
    let base = r#""subscriptionId":"s","tenantId":"t","aadClientId":"a","#;
    for (keys, expected) in [
        (
            r#""useFederatedWorkloadIdentityExtension":true,"aadFederatedTokenFile":"f","useManagedIdentityExtension":true"#,
            "federated",
        ),
        (
            r#""useManagedIdentityExtension":true,"aadClientSecret":"x""#,
            "system",
        ),
        (
            r#""useManagedIdentityExtension":true,"userAssignedIdentityID":"i""#,
            "identity",
        ),
        (r#""aadClientSecret":"x","aadClientCertPath":"p""#, "secret"),
        (r#""aadClientCertPath":"p""#, "certificate"),
    ] {
        assert_eq!(kind(&format!("{{{base}{keys}}}")).unwrap(), expected);
    }
}

#[test]
fn what_cannot_work_is_explained() {
    for (keys, reason) in [
        (
            r#""useManagedIdentityExtension":true"#,
            "'subscriptionId' is missing",
        ),
        (r#""subscriptionId":"s""#, "no credential is configured"),
        (
            r#""subscriptionId":"s","aadClientSecret":"msi""#,
            "'useManagedIdentityExtension' is not true",
        ),
        (
            r#""subscriptionId":"s","aadClientSecret":"x""#,
            "'tenantId' is missing",
        ),
        (
            r#""subscriptionId":"s","tenantId":"t","aadClientSecret":"x""#,
            "'aadClientId' is missing",
        ),
        (
            r#""subscriptionId":"s","userAssignedIdentityID":"i""#,
            "no effect unless",
        ),
        (
            r#""subscriptionId":"s","aadFederatedTokenFile":"f""#,
            "no effect unless",
        ),
        (
            r#""subscriptionId":"s","useFederatedWorkloadIdentityExtension":true"#,
            "azure.workload.identity/use",
        ),
    ] {
        let error = kind(&format!("{{{keys}}}")).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn the_environment_overrides_the_file() {
    let variables = HashMap::from([
        ("AZURE_TENANT_ID", "t2"),
        ("AZURE_CLIENT_ID", " a2 "),
        ("AZURE_FEDERATED_TOKEN_FILE", "/token"),
        ("AZURE_CREDENTIAL_FILE", ""),
    ]);
    let env = Env::read(|name| variables.get(name).map(ToString::to_string));
    assert_eq!(env.config_file(), DEFAULT_FILE);
    let config =
        CloudConfig::parse(r#"{"subscriptionId":"s","tenantId":"t"}"#, FILE, &env).unwrap();
    assert_eq!(
        (config.tenant_id.as_str(), config.aad_client_id.as_str()),
        ("t2", "a2")
    );
    assert!(
        matches!(config.credential(FILE), Ok(Credential::Federated { token_file }) if token_file == "/token")
    );
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,300}") {
        let _ = parse(&text);
    }
}
