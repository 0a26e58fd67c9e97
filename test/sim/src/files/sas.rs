//! Shared access signatures in the query of a request.

use crate::files::access::Granted;
use crate::files::error::FilesError;
use crate::files::operation::{Level, Operation};
use crate::files::target::Target;
use crate::network::reach::{Place, Range};
use crate::query::Query;
use crate::stamp::stamp;
use crate::storage::model::{Account, Policy, Share};
use crate::storage::sas::{AccountSas, ServiceSas, sign};

/// What is looked at.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) target: &'a Target,
    pub(crate) query: &'a Query,
    pub(crate) account: &'a Account,
    pub(crate) share: Option<&'a Share>,
    pub(crate) place: &'a Place,
    pub(crate) https: bool,
    pub(crate) wall_ms: u64,
}

fn refused(code: &str, message: &str) -> FilesError {
    FilesError::forbidden(code, message)
}

impl Shown<'_> {
    fn get(&self, name: &str) -> String {
        self.query.get(name).unwrap_or_default().to_owned()
    }

    /// Checks the signature, its times, and that it allows the operation.
    pub(crate) fn check(&self, operation: Operation) -> Result<Granted, FilesError> {
        if self.query.get("ss").is_some() {
            self.account_sas(operation)
        } else {
            self.service_sas(operation)
        }
    }

    fn signed(&self, text: &str) -> Result<(), FilesError> {
        let signature = self.get("sig");
        let keys = self.account.keys.iter();
        for key in keys {
            if sign(&key.value, text).is_some_and(|made| made == signature) {
                return Ok(());
            }
        }
        Err(FilesError::unproven(format!(
            "Signature did not match. String to sign used was {text}"
        )))
    }

    fn in_time(&self, start: &str, expiry: &str) -> Result<(), FilesError> {
        let now = stamp(self.wall_ms);
        // Times of this form sort as text up to the fraction; a date alone is its midnight.
        let cut = |text: &str| {
            let text = text.trim_end_matches('Z');
            let text = text.split('.').next().unwrap_or_default();
            if text.len() == 10 {
                format!("{text}T00:00:00")
            } else {
                text.to_owned()
            }
        };
        let (now, from, until) = (cut(&now), cut(start), cut(expiry));
        if until.is_empty() || now >= until {
            return Err(FilesError::unproven(format!(
                "Signature not valid in the specified time frame: Start [{start}] - Expiry [{expiry}] - Current [{now}]"
            )));
        }
        if !start.is_empty() && now < from {
            return Err(FilesError::unproven(format!(
                "Signature not valid in the specified time frame: Start [{start}] - Expiry [{expiry}] - Current [{now}]"
            )));
        }
        Ok(())
    }

    fn place_fits(&self, addresses: &str, protocol: &str) -> Result<(), FilesError> {
        if protocol == "https" && !self.https {
            return Err(refused(
                "AuthorizationProtocolMismatch",
                "This request is not authorized to perform this operation using this protocol.",
            ));
        }
        let fits = |range: Range| range.holds(self.place.address);
        if !addresses.is_empty() && !Range::parse(addresses).is_some_and(fits) {
            return Err(refused(
                "AuthorizationSourceIPMismatch",
                "This request is not authorized to perform this operation using this source IP.",
            ));
        }
        Ok(())
    }

    fn allowed(operation: Operation, permissions: &str) -> Result<(), FilesError> {
        let (_, letters) = operation.needs();
        if letters.chars().any(|letter| permissions.contains(letter)) {
            return Ok(());
        }
        Err(refused(
            "AuthorizationPermissionMismatch",
            "This request is not authorized to perform this operation using this permission.",
        ))
    }

    fn account_sas(&self, operation: Operation) -> Result<Granted, FilesError> {
        let sas = AccountSas {
            version: self.get("sv"),
            permissions: self.get("sp"),
            services: self.get("ss"),
            types: self.get("srt"),
            start: self.get("st"),
            expiry: self.get("se"),
            addresses: self.get("sip"),
            protocol: self.get("spr"),
            scope: self.get("ses"),
        };
        self.signed(&sas.text(&self.account.name))?;
        self.in_time(&sas.start, &sas.expiry)?;
        self.place_fits(&sas.addresses, &sas.protocol)?;
        if !sas.services.contains('f') {
            return Err(refused(
                "AuthorizationServiceMismatch",
                "This request is not authorized to perform this operation using this service.",
            ));
        }
        let level = match operation.needs().0 {
            Level::Service => 's',
            Level::Container => 'c',
            Level::Object => 'o',
        };
        if !sas.types.contains(level) {
            return Err(refused(
                "AuthorizationResourceTypeMismatch",
                "This request is not authorized to perform this operation using this resource type.",
            ));
        }
        Self::allowed(operation, &sas.permissions)?;
        Ok(Granted::Sas)
    }

    fn service_sas(&self, operation: Operation) -> Result<Granted, FilesError> {
        let resource = self.get("sr");
        let share = format!("/file/{}/{}", self.account.name, self.target.share);
        let path = match resource.as_str() {
            "s" => share,
            "f" => format!("{share}/{}", self.target.path),
            _ => {
                return Err(FilesError::unproven(
                    "sr is mandatory. Cannot be empty or another value than s and f",
                ));
            }
        };
        let sas = ServiceSas {
            version: self.get("sv"),
            resource,
            path,
            permissions: self.get("sp"),
            start: self.get("st"),
            expiry: self.get("se"),
            addresses: self.get("sip"),
            protocol: self.get("spr"),
            identifier: self.get("si"),
            headers: ["rscc", "rscd", "rsce", "rscl", "rsct"].map(|name| self.get(name)),
        };
        self.signed(&sas.text())?;
        let policy = self.policy(&sas.identifier)?;
        let or = |given: &str, kept: &str| {
            if given.is_empty() {
                kept.to_owned()
            } else {
                given.to_owned()
            }
        };
        self.in_time(
            &or(&sas.start, &policy.start),
            &or(&sas.expiry, &policy.expiry),
        )?;
        self.place_fits(&sas.addresses, &sas.protocol)?;
        if !operation.below_share() {
            return Err(refused(
                "AuthorizationResourceTypeMismatch",
                "This request is not authorized to perform this operation using this resource type.",
            ));
        }
        Self::allowed(operation, &or(&sas.permissions, &policy.permission))?;
        Ok(Granted::Sas)
    }

    /// The stored policy that a SAS names.
    fn policy(&self, id: &str) -> Result<Policy, FilesError> {
        if id.is_empty() {
            return Ok(Policy::default());
        }
        let kept = self.share.into_iter().flat_map(|share| &share.policies);
        let found = kept.into_iter().find(|policy| policy.id == id).cloned();
        found.ok_or_else(|| {
            FilesError::unproven("Access policy is not found for the signed identifier.")
        })
    }
}
