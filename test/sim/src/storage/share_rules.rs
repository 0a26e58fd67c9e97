//! What a share may be called and asked for, and how both planes say no.

use std::collections::BTreeMap;

use http::StatusCode;

use crate::error::ArmError;
use crate::storage::model::Account;

/// A refusal of either plane.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// The header, of the data plane, whose value is wrong.
    pub(crate) header: Option<(&'static str, String)>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            header: None,
        }
    }

    pub(crate) fn conflict(code: &'static str, message: &str) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    pub(crate) fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn about(mut self, header: &'static str, value: impl ToString) -> Self {
        self.header = Some((header, value.to_string()));
        self
    }

    pub(crate) fn no_share() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "ShareNotFound",
            "The specified share does not exist.",
        )
    }

    pub(crate) fn no_snapshot() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "ShareSnapshotNotFound",
            "The specified share snapshot does not exist.",
        )
    }

    /// As the management plane tells it: the data plane's message with its last lines.
    pub(crate) fn arm(self, request: &str, time: &str) -> ArmError {
        let message = format!("{}\nRequestId:{request}\nTime:{time}", self.message);
        ArmError::new(self.status, self.code, message)
    }
}

/// What a create or an update asks for; nothing where it says nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) quota: Option<u64>,
    pub(crate) iops: Option<u64>,
    pub(crate) mibps: Option<u64>,
    pub(crate) protocol: Option<String>,
    pub(crate) tier: Option<String>,
    pub(crate) root_squash: Option<String>,
    pub(crate) metadata: Option<BTreeMap<String, String>>,
}

/// Three to sixty-three of small letters, digits and single hyphens between them.
pub(crate) fn name(name: &str) -> Result<(), Refusal> {
    let fine = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if (3..=63).contains(&name.len()) && name.split('-').all(fine) {
        return Ok(());
    }
    Err(Refusal::bad(
        "InvalidResourceName",
        "The specified resource name contains invalid characters.",
    ))
}

const TIERS: [&str; 3] = ["TransactionOptimized", "Hot", "Cool"];
const SQUASH: [&str; 3] = ["NoRootSquash", "RootSquash", "AllSquash"];

/// The access tier a share gets in an account.
pub(crate) fn tier(account: &Account, wanted: Option<&str>) -> Result<String, Refusal> {
    let Some(wanted) = wanted else {
        let default = if account.is_ssd() {
            "Premium"
        } else {
            "TransactionOptimized"
        };
        return Ok(default.to_owned());
    };
    let known: &[&str] = if account.is_ssd() {
        &["Premium"]
    } else {
        &TIERS
    };
    let found = known.iter().find(|tier| tier.eq_ignore_ascii_case(wanted));
    found.map(|tier| (*tier).to_owned()).ok_or_else(|| {
        Refusal::bad(
            "InvalidHeaderValue",
            "The value for one of the HTTP headers is not in the correct format.",
        )
        .about("x-ms-access-tier", wanted)
    })
}

/// `SMB` or `NFS`; NFS is there on solid state file storage only.
pub(crate) fn protocol(account: &Account, wanted: Option<&str>) -> Result<String, Refusal> {
    let wanted = wanted.unwrap_or("SMB");
    let wrong = |code, message: &str| {
        Err(Refusal::bad(code, message).about("x-ms-enabled-protocols", wanted))
    };
    match wanted.to_ascii_uppercase().as_str() {
        "SMB" => Ok("SMB".to_owned()),
        "NFS" if account.kind == "FileStorage" && account.is_ssd() => Ok("NFS".to_owned()),
        "NFS" => wrong(
            "FeatureNotSupportedForAccount",
            "NFS is not supported for the account.",
        ),
        _ => wrong(
            "InvalidHeaderValue",
            "The value for one of the HTTP headers is not in the correct format.",
        ),
    }
}

/// Root squash, of NFS shares only.
pub(crate) fn squash(protocol: &str, wanted: Option<&str>) -> Result<Option<String>, Refusal> {
    let Some(wanted) = wanted else {
        return Ok((protocol == "NFS").then(|| "NoRootSquash".to_owned()));
    };
    let found = SQUASH.iter().find(|word| word.eq_ignore_ascii_case(wanted));
    match found {
        Some(word) if protocol == "NFS" => Ok(Some((*word).to_owned())),
        _ => Err(Refusal::bad(
            "InvalidHeaderValue",
            "The value for one of the HTTP headers is not in the correct format.",
        )
        .about("x-ms-root-squash", wanted)),
    }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_of_shares() {
        for (text, good) in [
            ("pvc-0001", true),
            ("abc", true),
            ("ab", false),
            ("Abc", false),
            ("a--b", false),
            ("-ab", false),
            ("ab-", false),
            ("a_b", false),
        ] {
            assert_eq!(name(text).is_ok(), good, "{text}");
        }
        assert!(name(&"a".repeat(64)).is_err());
    }
}
