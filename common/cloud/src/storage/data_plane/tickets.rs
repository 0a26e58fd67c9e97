//! Kerberos tickets for SMB mounts without a key: the service of an account gives one to whoever
//! brings a token that it accepts.

use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde::Deserialize;

use super::client::Files;
use super::request::FilesRequest;
use crate::arm::error::ArmError;
use crate::pipeline::retry::Repeatable;

/// Version of the protocol that gives tickets.
pub const TICKET_VERSION: &str = "2024-05-04";

/// A ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KerberosTicket {
    /// A message KRB-CRED (RFC 4120) with the ticket and its session key.
    pub message: Secret,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    kerberos_service_ticket: String,
}

impl Files {
    /// Gets a ticket for the SMB service of the account.
    ///
    /// # Errors
    /// See [`ArmError`]; the account has to allow SMB with tokens, and the identity needs a role. No
    /// error shows any of the answer.
    pub async fn kerberos_ticket(&self, op: &Op) -> Result<KerberosTicket, ArmError> {
        let mut request = FilesRequest::new(Method::POST, "/")
            .query("restype", "service")
            .query("comp", "kerbticket");
        // It gives something out and changes nothing.
        request.repeatable = Repeatable::Yes;
        let response = self.send(op, &request).await?;
        let bad = |what: &str| {
            ArmError::protocol(format!("Azure's ticket {what}"))
                .during(|| request.name())
                .correlated(op.id())
        };
        let answer: Answer =
            serde_json::from_slice(response.body()).map_err(|_| bad("is not understood"))?;
        let text = Secret::new(answer.kerberos_service_ticket);
        let message = STANDARD
            .decode(text.expose().trim())
            .map_err(|_| bad("is not base64"))?;
        Ok(KerberosTicket {
            message: Secret::from_bytes(message),
        })
    }
}

#[cfg(test)]
mod tests {
    use azcsi_types::secret::Secret;

    use crate::storage::data_plane::FilesCredential;
    use crate::testing::{Script, answer, files_with, op, sent_header};

    #[tokio::test(start_paused = true)]
    async fn a_ticket_is_asked_for_with_a_token_and_never_shown() {
        let body = r#"{"sessionKey":"aGlkZGVu","kerberosServiceTicket":"bWFya2Vy"}"#;
        let script = Script::new([("POST /?restype=service&comp=kerbticket", answer(200, body))]);
        let (files, clock) = files_with(&script, FilesCredential::Identity);
        let ticket = files.kerberos_ticket(&op(&clock, 60)).await.unwrap();
        assert_eq!(ticket.message, Secret::new("marker"));
        assert!(!format!("{ticket:?}").contains("marker"));
        assert_eq!(sent_header(&script, 0, "authorization"), "Bearer token-1");
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_answer_is_an_error_that_shows_nothing() {
        for body in [r#"{"kerberosServiceTicket":"marker!"}"#, r#"["marker"]"#] {
            let script = Script::new([("POST /", answer(200, body))]);
            let (files, clock) = files_with(&script, FilesCredential::Identity);
            let error = files.kerberos_ticket(&op(&clock, 60)).await.unwrap_err();
            assert!(!format!("{error:?}").contains("marker"), "{error:?}");
        }
    }
}
