//! Tests of `credentials`.

use std::sync::Arc;
use std::time::Duration;

use azcsi_types::secret::Secret;

use super::CredentialSource;
use crate::auth::{Token, TokenError, TokenSource};
use crate::config::Credential;
use crate::testing::{Line, Script, TestClock, answer};
use crate::{CloudConfig, Environment, ServiceTransport};

const GRANTED: &str =
    r#"{"token_type":"Bearer","expires_in":3599,"ext_expires_in":3599,"access_token":"eyJ"}"#;

async fn fetch(credential: Credential, line: Line) -> (Result<Token, TokenError>, String, String) {
    let script = Script::new([line]);
    let config = CloudConfig {
        tenant_id: "t".to_owned(),
        aad_client_id: "app".to_owned(),
        ..CloudConfig::default()
    };
    let mut environment = Environment::named("").unwrap();
    environment.authority = "http://127.0.0.1:7/login".to_owned();
    environment.imds = "http://127.0.0.1:8".to_owned();
    let transport = Arc::new(ServiceTransport::new(script.clone()));
    let clock = TestClock::start();
    let source = CredentialSource::new(&config, credential, &environment, transport, clock);
    let result = source
        .fetch("https://management.core.windows.net/.default")
        .await;
    let url = script.seen.lock().unwrap()[0].uri().to_string();
    (result, url, script.bodies()[0].clone())
}

fn secret() -> Credential {
    Credential::ClientSecret {
        secret: Secret::new("geheim"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_goes_to_the_configured_authority_even_without_tls() {
    let (token, url, body) = fetch(
        secret(),
        ("POST /t/oauth2/v2.0/token", answer(200, GRANTED)),
    )
    .await;
    let token = token.unwrap();
    assert_eq!(token.secret.expose(), "eyJ");
    assert_eq!(token.lifetime, Duration::from_secs(3599));
    assert_eq!(url, "http://127.0.0.1:7/login/t/oauth2/v2.0/token");
    assert!(
        body.contains("grant_type=client_credentials") && body.contains("client_secret=geheim")
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_keeps_the_authoritys_text_and_is_sent_once() {
    let refusal = r#"{"error":"invalid_client","error_description":"AADSTS7000222: expired.\r\nTrace ID: 1","error_codes":[7000222]}"#;
    let (result, ..) = fetch(secret(), ("POST /token", answer(401, refusal))).await;
    let error = result.unwrap_err();
    assert!(
        error.to_string().contains("AADSTS7000222: expired."),
        "{error}"
    );
    assert!(!error.is_passing());
    let (result, ..) = fetch(secret(), ("POST /token", answer(503, "<html>"))).await;
    assert!(result.unwrap_err().is_passing());
}

#[tokio::test(start_paused = true)]
async fn a_managed_identity_asks_the_configured_metadata_service() {
    let until = crate::testing::START.as_secs() + 600;
    for expires_on in [format!("\"{until}\""), until.to_string()] {
        let body = format!(
            r#"{{"access_token":"eyJ","expires_on":{expires_on},"expires_in":"86399","token_type":"Bearer","resource":"r"}}"#
        );
        let identity = Some("/subscriptions/s/resourceGroups/g/providers/x/y/z".to_owned());
        let credential = Credential::ManagedIdentity { identity };
        let line = ("GET /metadata/identity/oauth2/token", answer(200, &body));
        let (token, url, _) = fetch(credential, line).await;
        assert_eq!(token.unwrap().lifetime, Duration::from_secs(600));
        assert!(url.starts_with("http://127.0.0.1:8/metadata"), "{url}");
        assert!(
            url.contains("msi_res_id=") && url.contains("resource=https%3A%2F%2Fmanagement"),
            "{url}"
        );
    }
    let missing = r#"{"error":"invalid_request","error_description":"Identity not found"}"#;
    let credential = Credential::ManagedIdentity { identity: None };
    let (result, ..) = fetch(credential, ("GET /metadata/identity", answer(400, missing))).await;
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains("assign the identity")
    );
}

#[tokio::test]
async fn a_projected_token_is_read_anew_for_each_request_au_07() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let token_file = file.path().to_str().unwrap().to_owned();
    for content in ["first", "second"] {
        std::fs::write(file.path(), format!("{content}\n")).unwrap();
        let token_file = token_file.clone();
        let line = ("POST /token", answer(200, GRANTED));
        let (token, _, body) = fetch(Credential::Federated { token_file }, line).await;
        token.unwrap();
        assert!(
            body.contains(&format!("client_assertion={content}&")),
            "{body}"
        );
    }
}
