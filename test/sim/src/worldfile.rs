//! The world file: which subscription, which applications and which nodes there are.
//!
//! A refusal names the file, the line and the reason. Unknown keys are refused, because a misspelt
//! key would otherwise quietly give another world.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Spanned;

/// Scale sets have at most this many instances.
const MAX_NODES_PER_POOL: u32 = 5000;

/// Why a world file was refused.
#[derive(Debug, thiserror::Error)]
pub enum WorldFileError {
    /// The file, or one it names, cannot be read.
    #[error("{path}: cannot be read")]
    Unreadable {
        /// The file.
        path: String,
        /// The reason.
        source: std::io::Error,
    },
    /// The file says something that cannot be.
    #[error("{path}:{line}: {reason}")]
    Refused {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
}

/// A world file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorldFile {
    /// Directory tenant.
    pub tenant: Spanned<String>,
    /// The subscription everything is in.
    pub subscription: Spanned<String>,
    /// The resource group of the nodes.
    pub resource_group: Spanned<String>,
    /// Region.
    pub location: Spanned<String>,
    /// Who may ask for tokens.
    #[serde(default, rename = "app")]
    pub apps: Vec<AppEntry>,
    /// Groups of like nodes.
    #[serde(default, rename = "pool")]
    pub pools: Vec<Pool>,
    /// Where this file is; names in it are relative to that.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// One application.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AppEntry {
    /// Its id.
    pub client_id: Spanned<String>,
    /// A password, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// PEM files with certificates that its assertions may be signed with; relative to this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<Spanned<PathBuf>>,
    /// Whose tokens stand for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub federated: Vec<FederatedEntry>,
}

/// A federated credential.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FederatedEntry {
    /// Exact `iss`; left out for the simulator's own issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Exact `sub`.
    pub subject: String,
    /// Exact `aud`; left out for the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// JWKS file of the issuer, relative to this file; needed when `issuer` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks: Option<Spanned<PathBuf>>,
}

/// How the nodes of a pool are managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum PoolKind {
    /// Instances of a scale set.
    Uniform,
    /// Virtual machines that belong to a flexible scale set.
    Flex,
    /// Single virtual machines.
    Standalone,
    /// Virtual machines of an availability set.
    Avset,
}

/// A group of like nodes.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Name of the scale set or availability set, and the prefix of the node names.
    pub name: Spanned<String>,
    /// How they are managed.
    pub kind: PoolKind,
    /// Size of the virtual machines.
    pub size: Spanned<String>,
    /// How many.
    pub nodes: Spanned<u32>,
    /// Zones, given out in turn; empty for regional machines.
    #[serde(default = "no_zones")]
    pub zones: Spanned<Vec<String>>,
}

fn no_zones() -> Spanned<Vec<String>> {
    Spanned::new(0..0, Vec::new())
}

impl WorldFile {
    /// Reads and checks a world file.
    ///
    /// # Errors
    /// Names the file, the line and the reason.
    pub fn load(path: &Path) -> Result<Self, WorldFileError> {
        Self::parse(path, &read(path)?)
    }

    /// Checks the text of a world file; `path` is for messages.
    ///
    /// # Errors
    /// Names the file, the line and the reason.
    pub fn parse(path: &Path, text: &str) -> Result<Self, WorldFileError> {
        let refuse = |at: usize, reason: String| WorldFileError::Refused {
            path: path.display().to_string(),
            line: line_of(text, at),
            reason,
        };
        let file: Self = toml::from_str(text).map_err(|error| {
            refuse(
                error.span().map_or(0, |span| span.start),
                one_line(error.message()),
            )
        })?;
        match file.first_mistake() {
            Some((at, reason)) => Err(refuse(at, reason)),
            None => Ok(file),
        }
    }

    /// The same, as read from `path`.
    #[must_use]
    pub fn at(mut self, path: &Path) -> Self {
        self.folder = path.parent().map(Path::to_owned).unwrap_or_default();
        self
    }

    /// A file that this one names.
    #[must_use]
    pub fn beside(&self, name: &Path) -> PathBuf {
        self.folder.join(name)
    }

    /// How the first pool's nodes are managed, which is what a cloud configuration names.
    #[must_use]
    pub fn first_kind(&self) -> PoolKind {
        self.pools
            .first()
            .map_or(PoolKind::Uniform, |pool| pool.kind)
    }

    /// The first service account whose tokens the simulator signs itself.
    #[must_use]
    pub fn own_subject(&self) -> Option<&str> {
        let entries = self.apps.iter().flat_map(|app| &app.federated);
        entries
            .into_iter()
            .find(|entry| entry.issuer.is_none())
            .map(|e| e.subject.as_str())
    }

    fn first_mistake(&self) -> Option<(usize, String)> {
        let ids = [
            ("tenant", &self.tenant),
            ("subscription", &self.subscription),
        ];
        let ids = ids
            .into_iter()
            .chain(self.apps.iter().map(|app| ("client_id", &app.client_id)));
        for (name, value) in ids {
            if uuid::Uuid::try_parse(value.get_ref()).is_err() {
                let reason = format!("{name} is a GUID, not {:?}", value.get_ref());
                return Some((value.span().start, reason));
            }
        }
        for (name, value) in [
            ("resource_group", &self.resource_group),
            ("location", &self.location),
        ] {
            if let Some(reason) = bad_name(name, value.get_ref(), 90) {
                return Some((value.span().start, reason));
            }
        }
        self.bad_federation().or_else(|| self.bad_pool())
    }

    fn bad_federation(&self) -> Option<(usize, String)> {
        self.apps.iter().find_map(|app| {
            let incomplete =
                app.federated.iter().any(|entry| entry.issuer.is_some() != entry.jwks.is_some());
            incomplete.then(|| {
                let reason = "a federated credential has both issuer and jwks, or neither: then the simulator is the issuer";
                (app.client_id.span().start, reason.to_owned())
            })
        })
    }

    fn bad_pool(&self) -> Option<(usize, String)> {
        for (index, pool) in self.pools.iter().enumerate() {
            if let Some(mistake) = pool.first_mistake() {
                return Some(mistake);
            }
            let twin = |other: &Pool| other.name.get_ref() == pool.name.get_ref();
            if self.pools.iter().take(index).any(twin) {
                let reason = format!("there are two pools called {:?}", pool.name.get_ref());
                return Some((pool.name.span().start, reason));
            }
        }
        None
    }

    /// The file as text, with a word on each part.
    ///
    /// # Errors
    /// When it cannot be written as TOML.
    pub fn render(&self) -> Result<String, toml::ser::Error> {
        let body = toml::to_string(self)?;
        Ok(format!(
            "# A world for azcsi-sim. Start it with: azcsi-sim serve --world FILE --dir DIR\n\n{body}"
        ))
    }
}

impl Pool {
    fn first_mistake(&self) -> Option<(usize, String)> {
        if let Some(reason) = bad_name("a pool's name", self.name.get_ref(), 50) {
            return Some((self.name.span().start, reason));
        }
        if !self.size.get_ref().contains('_') {
            let reason = format!(
                "size is the name of a VM size such as Standard_D4s_v5, not {:?}",
                self.size.get_ref()
            );
            return Some((self.size.span().start, reason));
        }
        let nodes = *self.nodes.get_ref();
        if nodes == 0 || nodes > MAX_NODES_PER_POOL {
            let reason = format!("nodes is 1 to {MAX_NODES_PER_POOL}, not {nodes}");
            return Some((self.nodes.span().start, reason));
        }
        let zones = self.zones.get_ref();
        if let Some(zone) = zones
            .iter()
            .find(|zone| !matches!(zone.as_str(), "1" | "2" | "3"))
        {
            let reason = format!("a zone is \"1\", \"2\" or \"3\", not {zone:?}");
            return Some((self.zones.span().start, reason));
        }
        if self.kind == PoolKind::Avset && !zones.is_empty() {
            let reason = "an availability set has no zones: leave zones out".to_owned();
            return Some((self.zones.span().start, reason));
        }
        None
    }

    /// The zone of the node with this index.
    #[must_use]
    pub fn zone(&self, index: u32) -> Option<&str> {
        let zones = self.zones.get_ref();
        let count = u32::try_from(zones.len()).ok().filter(|count| *count > 0)?;
        zones
            .get(usize::try_from(index % count).ok()?)
            .map(String::as_str)
    }

    /// The host name of the node with this index, which is also its name in Kubernetes: scale sets
    /// count in six digits to base 36.
    #[must_use]
    pub fn host_name(&self, index: u32) -> String {
        let name = self.name.get_ref();
        match self.kind {
            PoolKind::Uniform | PoolKind::Flex => format!("{name}{}", base36(index)),
            PoolKind::Standalone | PoolKind::Avset => format!("{name}-{index}"),
        }
    }

    /// The name of the virtual machine resource with this index; for a uniform scale set, its
    /// instance id.
    #[must_use]
    pub fn vm_name(&self, index: u32) -> String {
        match self.kind {
            PoolKind::Uniform => index.to_string(),
            PoolKind::Flex => format!("{}_{index:08x}", self.name.get_ref()),
            PoolKind::Standalone | PoolKind::Avset => self.host_name(index),
        }
    }
}

/// Six digits to base 36, as scale sets number host names.
fn base36(index: u32) -> String {
    let mut digits = [b'0'; 6];
    let mut rest = index;
    for digit in digits.iter_mut().rev() {
        let value = u8::try_from(rest % 36).unwrap_or(0);
        *digit = if value < 10 {
            b'0' + value
        } else {
            b'a' + value - 10
        };
        rest /= 36;
    }
    String::from_utf8_lossy(&digits).into_owned()
}

fn bad_name(what: &str, name: &str, longest: usize) -> Option<String> {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let fine = !name.is_empty() && name.len() <= longest && name.chars().all(valid);
    (!fine).then(|| format!("{what} is 1 to {longest} of a-z, 0-9, - and _, not {name:?}"))
}

/// Reads a file that the world names.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path) -> Result<String, WorldFileError> {
    fs::read_to_string(path).map_err(|source| WorldFileError::Unreadable {
        path: path.display().to_string(),
        source,
    })
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
