//! Applications of the tenant and what each can prove itself with.

use std::time::SystemTime;

use ring::digest;

use super::error::AadError;
use super::jwt::{Jwt, PublicKey, decode_any};
use super::tokens::seconds;

/// The tenant's applications.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// Id of the tenant.
    pub tenant: String,
    /// Everything that may ask for tokens.
    pub apps: Vec<App>,
}

/// One application.
#[derive(Clone, Debug, Default)]
pub struct App {
    /// Its id.
    pub client_id: String,
    /// Passwords.
    pub secrets: Vec<AppSecret>,
    /// DER certificates.
    pub certificates: Vec<Vec<u8>>,
    /// Foreign tokens that stand for it.
    pub federated: Vec<Federated>,
}

/// One password.
#[derive(Clone)]
pub struct AppSecret {
    /// The value.
    pub value: String,
    /// When it stops working; `None` for never.
    pub expires: Option<SystemTime>,
}

impl std::fmt::Debug for AppSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppSecret")
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

/// Whose tokens are taken for the application's.
#[derive(Clone, Debug, Default)]
pub struct Federated {
    /// Exact `iss`.
    pub issuer: String,
    /// Exact `sub`.
    pub subject: String,
    /// Exact `aud`.
    pub audience: String,
    /// Keys of the issuer.
    pub keys: Vec<PublicKey>,
}

impl Directory {
    /// The application with this id.
    ///
    /// # Errors
    /// When there is none.
    pub fn app(&self, client_id: &str) -> Result<&App, AadError> {
        let found = self
            .apps
            .iter()
            .find(|app| app.client_id.eq_ignore_ascii_case(client_id));
        found.ok_or_else(|| AadError::UnknownApplication {
            client_id: client_id.to_owned(),
            tenant: self.tenant.clone(),
        })
    }
}

impl App {
    /// Checks a password.
    ///
    /// # Errors
    /// When it is not one of the application's, or expired.
    pub fn check_secret(&self, given: &str, now: SystemTime) -> Result<(), AadError> {
        match self.secrets.iter().find(|secret| secret.value == given) {
            None => Err(AadError::WrongSecret(self.client_id.clone())),
            Some(AppSecret {
                expires: Some(end), ..
            }) if *end <= now => Err(AadError::ExpiredSecret(self.client_id.clone())),
            Some(_) => Ok(()),
        }
    }

    /// Checks an assertion: the application's own, signed with its certificate, or a token of a
    /// federated issuer.
    ///
    /// # Errors
    /// Says which check failed, with Entra's number for it.
    pub fn check_assertion(
        &self,
        text: &str,
        audiences: &[String],
        now: SystemTime,
    ) -> Result<(), AadError> {
        let jwt = Jwt::parse(text)
            .ok_or_else(|| AadError::AssertionMalformed("it is not a JWT".to_owned()))?;
        if jwt.text("iss").eq_ignore_ascii_case(&self.client_id) {
            self.check_own(&jwt, audiences, now)
        } else {
            self.check_federated(&jwt, now)
        }
    }

    fn check_own(&self, jwt: &Jwt, audiences: &[String], now: SystemTime) -> Result<(), AadError> {
        if !jwt.text("sub").eq_ignore_ascii_case(&self.client_id) {
            return Err(AadError::AssertionMalformed(
                "sub is not the application".to_owned(),
            ));
        }
        if !audiences.iter().any(|audience| jwt.is_for(audience)) {
            return Err(AadError::AssertionMalformed(format!(
                "aud {:?} is not this token endpoint",
                jwt.audience()
            )));
        }
        check_times(jwt, now)?;
        let refuse = |reason: &str| AadError::AssertionNotTrusted {
            client_id: self.client_id.clone(),
            reason: reason.to_owned(),
        };
        let certificate = self
            .certificates
            .iter()
            .find(|der| is_named_by(jwt, der))
            .ok_or_else(|| refuse("The key was not found by its thumbprint."))?;
        if jwt.is_signed_by_certificate(certificate) {
            Ok(())
        } else {
            Err(refuse(
                "The key was found, but use of the key to verify the signature failed.",
            ))
        }
    }

    fn check_federated(&self, jwt: &Jwt, now: SystemTime) -> Result<(), AadError> {
        let issuer = jwt.text("iss");
        let mut known = self
            .federated
            .iter()
            .filter(|f| f.issuer == issuer)
            .peekable();
        if known.peek().is_none() {
            return Err(AadError::FederatedIssuer(issuer.to_owned()));
        }
        let mut known = known.filter(|f| f.subject == jwt.text("sub")).peekable();
        if known.peek().is_none() {
            return Err(AadError::FederatedSubject(jwt.text("sub").to_owned()));
        }
        let record = known
            .find(|f| jwt.is_for(&f.audience))
            .ok_or_else(|| AadError::FederatedAudience(jwt.audience()))?;
        if !jwt.is_signed_by_any(&record.keys) {
            return Err(AadError::AssertionNotTrusted {
                client_id: self.client_id.clone(),
                reason: "No key of the issuer verifies the signature.".to_owned(),
            });
        }
        check_times(jwt, now)
    }
}

/// Five minutes of clock difference are allowed, as Entra does.
const SKEW_SECONDS: u64 = 300;

fn check_times(jwt: &Jwt, now: SystemTime) -> Result<(), AadError> {
    let now = seconds(now);
    let expires = jwt
        .number("exp")
        .ok_or_else(|| AadError::AssertionMalformed("exp is missing".to_owned()))?;
    let from = jwt.number("nbf").unwrap_or(0);
    if now >= expires.saturating_add(SKEW_SECONDS) || now.saturating_add(SKEW_SECONDS) < from {
        return Err(AadError::AssertionTime(format!(
            "Current time: {now}, valid from {from} until {expires} (seconds since 1970)."
        )));
    }
    Ok(())
}

/// The header names its certificate by a thumbprint, or carries it whole.
fn is_named_by(jwt: &Jwt, der: &[u8]) -> bool {
    let thumbprint = |algorithm, name| {
        let wanted = jwt.header(name).and_then(decode_any)?;
        Some(digest::digest(algorithm, der).as_ref() == wanted.as_slice())
    };
    thumbprint(&digest::SHA256, "x5t#S256")
        .or_else(|| thumbprint(&digest::SHA1_FOR_LEGACY_USE_ONLY, "x5t"))
        .or_else(|| jwt.leaf().map(|leaf| leaf == der))
        .unwrap_or(false)
}
