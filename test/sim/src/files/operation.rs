//! What a request to the data plane wants.

use http::{HeaderMap, Method};

use crate::files::target::Target;
use crate::query::Query;

/// One operation of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    ListShares,
    GetService,
    SetService,
    CreateShare,
    GetShare,
    SetShare,
    SetShareMetadata,
    DeleteShare,
    SnapshotShare,
    RestoreShare,
    ShareStats,
    GetAcl,
    SetAcl,
    LeaseShare,
    SetPermission,
    GetPermission,
    CreateDirectory,
    GetDirectory,
    SetDirectory,
    SetDirectoryMetadata,
    DeleteDirectory,
    ListDirectory,
    CreateFile,
    GetFile,
    HeadFile,
    SetFile,
    SetFileMetadata,
    DeleteFile,
    Rename,
    PutRange,
    ListRanges,
    CopyFile,
    AbortCopy,
    LeaseFile,
    ListHandles,
    CloseHandles,
}

/// What SAS call the level of an operation: `s`, `c` or `o`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Service,
    Container,
    Object,
}

impl Operation {
    /// Reads an operation off a request.
    pub(crate) fn of(
        method: &Method,
        target: &Target,
        query: &Query,
        headers: &HeaderMap,
    ) -> Option<Self> {
        let kind = query.get("restype").unwrap_or_default();
        let part = query.get("comp").unwrap_or_default();
        let verb = if *method == Method::HEAD {
            "GET"
        } else {
            method.as_str()
        };
        if target.share.is_empty() {
            return match (verb, kind, part) {
                ("GET", "", "list") => Some(Self::ListShares),
                ("GET", "service", "properties") => Some(Self::GetService),
                ("PUT", "service", "properties") => Some(Self::SetService),
                _ => None,
            };
        }
        match kind {
            "share" if target.path.is_empty() => Self::share(verb, part),
            "directory" => Self::directory(verb, part),
            "" => Self::file(method, verb, part, headers),
            _ => None,
        }
    }

    fn share(verb: &str, part: &str) -> Option<Self> {
        Some(match (verb, part) {
            ("PUT", "") => Self::CreateShare,
            ("GET", "") => Self::GetShare,
            ("DELETE", "") => Self::DeleteShare,
            ("PUT", "properties") => Self::SetShare,
            ("PUT", "metadata") => Self::SetShareMetadata,
            ("GET", "metadata") => Self::GetShare,
            ("PUT", "snapshot") => Self::SnapshotShare,
            ("PUT", "undelete") => Self::RestoreShare,
            ("GET", "stats") => Self::ShareStats,
            ("GET", "acl") => Self::GetAcl,
            ("PUT", "acl") => Self::SetAcl,
            ("PUT", "lease") => Self::LeaseShare,
            ("PUT", "filepermission") => Self::SetPermission,
            ("GET", "filepermission") => Self::GetPermission,
            _ => return None,
        })
    }

    fn directory(verb: &str, part: &str) -> Option<Self> {
        Some(match (verb, part) {
            ("PUT", "") => Self::CreateDirectory,
            ("GET", "" | "metadata") => Self::GetDirectory,
            ("DELETE", "") => Self::DeleteDirectory,
            ("PUT", "properties") => Self::SetDirectory,
            ("PUT", "metadata") => Self::SetDirectoryMetadata,
            ("PUT", "rename") => Self::Rename,
            ("GET", "list") => Self::ListDirectory,
            _ => return None,
        })
    }

    fn file(method: &Method, verb: &str, part: &str, headers: &HeaderMap) -> Option<Self> {
        let has = |name: &str| headers.contains_key(name);
        Some(match (verb, part) {
            ("PUT", "") if has("x-ms-copy-source") => Self::CopyFile,
            ("PUT", "") => Self::CreateFile,
            ("GET", "") if *method == Method::HEAD => Self::HeadFile,
            ("GET", "") => Self::GetFile,
            ("GET", "metadata") => Self::HeadFile,
            ("DELETE", "") => Self::DeleteFile,
            ("PUT", "properties") => Self::SetFile,
            ("PUT", "metadata") => Self::SetFileMetadata,
            ("PUT", "range") => Self::PutRange,
            ("GET", "rangelist") => Self::ListRanges,
            ("PUT", "copy") => Self::AbortCopy,
            ("PUT", "rename") => Self::Rename,
            ("PUT", "lease") => Self::LeaseFile,
            ("GET", "listhandles") => Self::ListHandles,
            ("PUT", "forceclosehandles") => Self::CloseHandles,
            _ => return None,
        })
    }

    /// What fault scripts and the log of requests call its object.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::ListShares | Self::GetService | Self::SetService => "files",
            Self::CreateShare
            | Self::GetShare
            | Self::SetShare
            | Self::SetShareMetadata
            | Self::DeleteShare
            | Self::RestoreShare
            | Self::ShareStats
            | Self::GetAcl
            | Self::SetAcl
            | Self::LeaseShare
            | Self::SetPermission
            | Self::GetPermission => "files/shares",
            Self::SnapshotShare => "files/snapshots",
            Self::CreateDirectory
            | Self::GetDirectory
            | Self::SetDirectory
            | Self::SetDirectoryMetadata
            | Self::DeleteDirectory
            | Self::ListDirectory => "files/directories",
            Self::PutRange | Self::ListRanges => "files/ranges",
            Self::CopyFile | Self::AbortCopy => "files/copies",
            _ => "files/files",
        }
    }

    /// Its level and the letters of permission that allow it, any of them.
    pub(crate) const fn needs(self) -> (Level, &'static str) {
        match self {
            Self::ListShares => (Level::Service, "l"),
            Self::GetService => (Level::Service, "r"),
            Self::SetService => (Level::Service, "w"),
            Self::CreateShare | Self::SnapshotShare => (Level::Container, "cw"),
            Self::GetShare | Self::ShareStats | Self::GetAcl => (Level::Container, "r"),
            Self::DeleteShare => (Level::Container, "d"),
            Self::LeaseShare => (Level::Container, "wd"),
            Self::SetShare | Self::SetShareMetadata | Self::RestoreShare | Self::SetAcl => {
                (Level::Container, "w")
            }
            Self::ListDirectory => (Level::Container, "l"),
            Self::GetPermission
            | Self::GetDirectory
            | Self::GetFile
            | Self::HeadFile
            | Self::ListRanges => (Level::Object, "r"),
            Self::ListHandles => (Level::Object, "l"),
            Self::DeleteDirectory | Self::DeleteFile => (Level::Object, "d"),
            Self::CreateDirectory | Self::CreateFile | Self::CopyFile => (Level::Object, "cw"),
            _ => (Level::Object, "w"),
        }
    }

    /// Whether a service SAS of a share can allow it: nothing about the share itself.
    pub(crate) const fn below_share(self) -> bool {
        !matches!(self.needs().0, Level::Service)
            && !matches!(
                self,
                Self::CreateShare
                    | Self::GetShare
                    | Self::SetShare
                    | Self::SetShareMetadata
                    | Self::DeleteShare
                    | Self::SnapshotShare
                    | Self::RestoreShare
                    | Self::ShareStats
                    | Self::GetAcl
                    | Self::SetAcl
                    | Self::LeaseShare
            )
    }
}
