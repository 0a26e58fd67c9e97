//! Who asks, from where, and whether the account lets them in.
//!
//! A caller's place is what its listener or a header says: `sim-caller-subnet` (an ARM id) and
//! `sim-caller-address`. Without either it is somewhere on the internet.

use std::net::Ipv4Addr;
use std::time::SystemTime;

use bytes::Bytes;
use http::Request;

use crate::entra::tokens::{TokenFault, seconds};
use crate::files::error::FilesError;
use crate::files::operation::Operation;
use crate::files::sas::Shown;
use crate::files::shared_key::{self, Scheme};
use crate::files::target::Target;
use crate::front_door::Auth;
use crate::network::reach::{self, Place};
use crate::query::Query;
use crate::serve::site;
use crate::state::State;
use crate::storage::model::{Account, Share};
use crate::world::Provisioning;

/// How a caller proved itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Granted {
    Key,
    Sas,
    Token(String),
}

/// What a request's clock may differ by, in seconds.
const SKEW: u64 = 15 * 60;
/// Versions from which tokens may do things with files, and with shares.
const TOKEN_FILES: &str = "2022-11-02";
const TOKEN_SHARES: &str = "2024-11-04";

/// A request on its way in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Door<'a> {
    pub(crate) request: &'a Request<Bytes>,
    pub(crate) target: &'a Target,
    pub(crate) query: &'a Query,
    pub(crate) operation: Operation,
    pub(crate) auth: &'a Auth,
    pub(crate) wall: SystemTime,
}

/// Where the caller is.
pub(crate) fn place(request: &Request<Bytes>) -> Place {
    if let Some(place) = request.extensions().get::<Place>() {
        return place.clone();
    }
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let mut place = Place::default();
    if let Some(address) =
        header("sim-caller-address").and_then(|text| text.parse::<Ipv4Addr>().ok())
    {
        place.address = address;
    }
    place.subnet = header("sim-caller-subnet").map(str::to_owned);
    place
}

fn header<'a>(request: &'a Request<Bytes>, name: &str) -> &'a str {
    let value = request
        .headers()
        .get(name)
        .and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

/// The account of a target: its name is not resolved before it is ready.
fn account<'a>(state: &'a State, target: &Target) -> Result<&'a Account, FilesError> {
    let found = state
        .world
        .accounts
        .values()
        .find(|account| account.name == target.account);
    let ready = found.filter(|account| account.provisioning == Provisioning::Succeeded);
    ready.ok_or_else(|| {
        FilesError::new(
            http::StatusCode::NOT_FOUND,
            "ResourceNotFound",
            "The specified account does not exist: its name cannot be resolved.",
        )
    })
}

impl Door<'_> {
    /// Lets a request in, or says why not.
    pub(crate) fn admit(&self, state: &State) -> Result<(Account, Granted), FilesError> {
        let account = account(state, self.target)?;
        let https = self.request.extensions().get::<site::Scheme>() != Some(&site::Scheme::Http);
        if !https && account.flag("supportsHttpsTrafficOnly") != Some(false) {
            return Err(FilesError::bad(
                "AccountRequiresHttps",
                "The account being accessed does not support http.",
            ));
        }
        let place = place(self.request);
        let granted = self.proven(state, account, &place)?;
        if !reach::may(state, account, &place) {
            return Err(FilesError::forbidden(
                "AuthorizationFailure",
                "This request is not authorized to perform this operation.",
            ));
        }
        Ok((account.clone(), granted))
    }

    fn proven(
        &self,
        state: &State,
        account: &Account,
        place: &Place,
    ) -> Result<Granted, FilesError> {
        let given = header(self.request, "authorization");
        if let Some(token) = given.strip_prefix("Bearer ") {
            return self.token(token, account);
        }
        let signed = given
            .strip_prefix("SharedKeyLite ")
            .map(|rest| (Scheme::Lite, rest))
            .or_else(|| {
                given
                    .strip_prefix("SharedKey ")
                    .map(|rest| (Scheme::Full, rest))
            });
        if signed.is_none() && self.query.get("sig").is_none() {
            if given.is_empty() {
                return Err(FilesError::new(
                    http::StatusCode::UNAUTHORIZED,
                    "NoAuthenticationInformation",
                    "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.",
                ));
            }
            return Err(FilesError::bad(
                "InvalidAuthenticationInfo",
                "Authentication information is not given in the correct format. Check the value of Authorization header.",
            ));
        }
        if account.flag("allowSharedKeyAccess") == Some(false) {
            return Err(FilesError::forbidden(
                "KeyBasedAuthenticationNotPermitted",
                "Key based authentication is not permitted on this storage account.",
            ));
        }
        match signed {
            Some((scheme, rest)) => self.key(state, account, (scheme, rest)),
            None => Shown {
                target: self.target,
                query: self.query,
                account,
                share: share(state, account, &self.target.share),
                place,
                https: self.request.extensions().get::<site::Scheme>() != Some(&site::Scheme::Http),
                wall_ms: state.wall_ms,
            }
            .check(self.operation),
        }
    }

    fn key(
        &self,
        state: &State,
        account: &Account,
        (scheme, rest): (Scheme, &str),
    ) -> Result<Granted, FilesError> {
        if header(self.request, "x-ms-version").is_empty() {
            return Err(FilesError::header_missing("x-ms-version"));
        }
        self.fresh(state)?;
        let (name, signature) = rest.split_once(':').unwrap_or((rest, ""));
        let texts = shared_key::texts(scheme, self.request, self.target);
        let keys = account.keys.each_ref().map(|key| key.value.as_str());
        if name == account.name && shared_key::matches(&texts, &keys, signature) {
            return Ok(Granted::Key);
        }
        let expected = texts.first().map_or("", String::as_str);
        Err(FilesError::unproven(format!(
            "The MAC signature found in the HTTP request '{signature}' is not the same as any computed signature. Server used following string to sign: '{expected}'."
        )))
    }

    /// A signed request is good for a quarter of an hour.
    fn fresh(&self, state: &State) -> Result<(), FilesError> {
        if !state.knobs.checks_dates {
            return Ok(());
        }
        let date = match header(self.request, "x-ms-date") {
            "" => header(self.request, "date"),
            date => date,
        };
        let Some(then) = crate::stamp::parse_http(date) else {
            return Err(FilesError::header_wrong("x-ms-date", date));
        };
        if then.abs_diff(state.wall_ms / 1000) > SKEW {
            return Err(FilesError::unproven(format!(
                "Request date header too old: '{date}'"
            )));
        }
        Ok(())
    }

    fn token(&self, token: &str, account: &Account) -> Result<Granted, FilesError> {
        let client = match self.auth {
            Auth::AnyBearer => "anyone".to_owned(),
            Auth::Key(key) => match key.verify(token, self.wall) {
                Ok(claims) if is_storage(&claims.audience, account) => claims.client_id,
                Ok(claims) => {
                    let detail = format!(
                        "Audience validation failed. Audiences: '{}'.",
                        claims.audience
                    );
                    return Err(invalid_token(detail));
                }
                Err(TokenFault::Expired) => {
                    let detail = format!(
                        "Lifetime validation failed. The token is expired at {}.",
                        seconds(self.wall)
                    );
                    return Err(invalid_token(detail));
                }
                Err(_) => return Err(invalid_token("Signature validation failed.".to_owned())),
            },
        };
        let version = header(self.request, "x-ms-version");
        let floor = if self.operation.below_share() {
            TOKEN_FILES
        } else {
            TOKEN_SHARES
        };
        if version < floor {
            return Err(FilesError::forbidden(
                "FileOAuthManagementApiRestrictedToSrp",
                "The requested operation with this version is not supported with OAuth; use the storage resource provider.",
            ));
        }
        let intent = header(self.request, "x-ms-file-request-intent");
        match intent {
            "backup" => Ok(Granted::Token(client)),
            "" => Err(FilesError::header_missing("x-ms-file-request-intent")),
            other => Err(FilesError::header_wrong("x-ms-file-request-intent", other)),
        }
    }
}

fn invalid_token(detail: String) -> FilesError {
    FilesError::new(
        http::StatusCode::UNAUTHORIZED,
        "InvalidAuthenticationInfo",
        "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.",
    )
    .with("AuthenticationErrorDetail", detail)
}

/// Audiences whose tokens the data plane of an account takes.
fn is_storage(audience: &str, account: &Account) -> bool {
    let plain = audience.trim_end_matches('/').to_ascii_lowercase();
    plain == "https://storage.azure.com"
        || plain == format!("https://{}.file.core.windows.net", account.name)
}

/// The share of a name in an account.
pub(crate) fn share<'a>(state: &'a State, account: &Account, name: &str) -> Option<&'a Share> {
    state
        .world
        .shares
        .get(&crate::storage::share_life::share_key(account, name))
}
