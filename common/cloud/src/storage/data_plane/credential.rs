//! How a caller proves to the file service who it is.

use std::fmt;

use azcsi_types::secret::Secret;

use crate::auth::Tokens;

/// The scope of tokens for storage services, the same in every cloud.
pub const STORAGE_SCOPE: &str = "https://storage.azure.com/.default";

/// How a caller proves to the file service who it is.
#[derive(Clone)]
pub enum FilesCredential {
    /// A key of the account, in base64.
    SharedKey(Secret),
    /// A shared access signature, with or without its question mark.
    Sas(Secret),
    /// The identity that the cloud configuration names.
    Identity,
    /// Tokens of another identity, for [`STORAGE_SCOPE`].
    Tokens(Tokens),
}

impl fmt::Debug for FilesCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SharedKey(_) => "SharedKey(..)",
            Self::Sas(_) => "Sas(..)",
            Self::Identity => "Identity",
            Self::Tokens(_) => "Tokens(..)",
        })
    }
}
