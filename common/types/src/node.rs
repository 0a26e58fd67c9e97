//! Node names, virtual machine identities, and `spec.providerID`.
//!
//! Kubernetes knows a node by name; Azure knows a machine by resource id. A machine is either a
//! `virtualMachines` resource (standalone, in an availability set, or member of a Flexible scale
//! set) or an instance of a Uniform scale set. The node object's `spec.providerID` is the resource
//! id behind `azure://`, so nothing has to be guessed from names; the name rules below serve nodes
//! whose object cannot be read.

use std::fmt;
use std::str::FromStr;

use crate::disk_uri::COMPUTE;
use crate::resource_id::{NotAResourceId, ResourceId};

/// The name of a Kubernetes node; what CSI calls `node_id`.
#[derive(Clone, Debug)]
pub struct NodeName(Box<str>);

/// Why a text is not a node name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a node name: expected 1 to 256 bytes without spaces, '/' or control characters"
)]
pub struct NotANodeName(String);

/// Longest node id that CSI allows, in bytes (CSI, `NodeGetInfoResponse.node_id`).
const NODE_ID_LIMIT: usize = 256;

impl NodeName {
    /// The spelling that it was made from.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The one spelling that all equal names share.
    #[must_use]
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl FromStr for NodeName {
    type Err = NotANodeName;

    fn from_str(text: &str) -> Result<Self, NotANodeName> {
        let odd = |c: char| c.is_control() || c.is_whitespace() || c == '/';
        if text.is_empty() || text.len() > NODE_ID_LIMIT || text.chars().any(odd) {
            return Err(NotANodeName(
                text.chars()
                    .take(80)
                    .collect::<String>()
                    .escape_debug()
                    .to_string(),
            ));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq for NodeName {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for NodeName {}

impl std::hash::Hash for NodeName {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.folded().hash(state);
    }
}

impl PartialOrd for NodeName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NodeName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.folded().cmp(&other.folded())
    }
}

/// A virtual machine, by the resource that its updates go to.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VmRef {
    id: ResourceId,
    kind: VmKind,
}

/// Which of the two resource types a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VmKind {
    /// `virtualMachines/{name}`: standalone, in an availability set, or in a Flexible scale set.
    Machine,
    /// `virtualMachineScaleSets/{set}/virtualMachines/{instance}`: in a Uniform scale set.
    ScaleSetInstance,
}

/// Why a text does not name a virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAVm {
    /// It is no resource id at all.
    #[error(transparent)]
    Id(#[from] NotAResourceId),
    /// It names something else.
    #[error("'{0}' is not the id of a virtual machine or of a scale set instance")]
    OtherType(String),
    /// A provider id of another cloud.
    #[error("'{0}' is not a providerID of Azure: expected azure:///subscriptions/…")]
    OtherProvider(String),
}

const PROVIDER: &str = "azure://";

impl VmRef {
    /// A `virtualMachines` resource.
    ///
    /// # Errors
    /// If a part is empty or holds a `/`.
    pub fn machine(subscription: &str, group: &str, name: &str) -> Result<Self, NotAVm> {
        let id = ResourceId::new(subscription, group, (COMPUTE, "virtualMachines"), name)?;
        Ok(Self {
            id,
            kind: VmKind::Machine,
        })
    }

    /// An instance of a Uniform scale set.
    ///
    /// # Errors
    /// If a part is empty or holds a `/`.
    pub fn instance(
        subscription: &str,
        group: &str,
        set: &str,
        instance: &str,
    ) -> Result<Self, NotAVm> {
        let set = ResourceId::new(
            subscription,
            group,
            (COMPUTE, "virtualMachineScaleSets"),
            set,
        )?;
        Self::try_from(format!("{set}/virtualMachines/{instance}").parse::<ResourceId>()?)
    }

    /// Reads `spec.providerID` of a node.
    ///
    /// # Errors
    /// If it belongs to another cloud or names no machine.
    pub fn from_provider_id(text: &str) -> Result<Self, NotAVm> {
        match text.get(..PROVIDER.len()) {
            Some(scheme) if scheme.eq_ignore_ascii_case(PROVIDER) => text[PROVIDER.len()..].parse(),
            _ => Err(NotAVm::OtherProvider(
                text.chars()
                    .take(80)
                    .collect::<String>()
                    .escape_debug()
                    .to_string(),
            )),
        }
    }

    /// The value of `spec.providerID` for this machine.
    #[must_use]
    pub fn provider_id(&self) -> String {
        format!("{PROVIDER}{}", self.id)
    }

    /// Which resource type it is.
    #[must_use]
    pub const fn kind(&self) -> VmKind {
        self.kind
    }

    /// The resource id.
    #[must_use]
    pub const fn id(&self) -> &ResourceId {
        &self.id
    }

    /// The scale set, for an instance of a Uniform one.
    #[must_use]
    pub fn scale_set(&self) -> Option<&str> {
        match self.kind {
            VmKind::Machine => None,
            VmKind::ScaleSetInstance => self.id.names().next(),
        }
    }

    /// The machine's name, or the instance id within the scale set.
    #[must_use]
    pub fn name(&self) -> &str {
        self.id.name()
    }

    /// The one spelling that all equal ids share. For map keys and lock names.
    #[must_use]
    pub fn folded(&self) -> String {
        self.id.folded()
    }
}

impl TryFrom<ResourceId> for VmRef {
    type Error = NotAVm;

    fn try_from(id: ResourceId) -> Result<Self, NotAVm> {
        let kind = if id.is_of(COMPUTE, &["virtualMachines"]) {
            VmKind::Machine
        } else if id.is_of(COMPUTE, &["virtualMachineScaleSets", "virtualMachines"]) {
            VmKind::ScaleSetInstance
        } else {
            return Err(NotAVm::OtherType(id.to_string()));
        };
        Ok(Self { id, kind })
    }
}

impl FromStr for VmRef {
    type Err = NotAVm;

    fn from_str(text: &str) -> Result<Self, NotAVm> {
        Self::try_from(text.parse::<ResourceId>()?)
    }
}

impl fmt::Display for VmRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.id, f)
    }
}

impl fmt::Debug for VmRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.id, f)
    }
}

/// Digits of the instance number at the end of a Uniform scale set's computer names.
const INSTANCE_DIGITS: usize = 6;
const BASE: u64 = 36;

/// The computer name of a Uniform scale set's instance: the prefix, then the instance number in
/// base 36, six digits wide.
///
/// `None` for an instance id that is not a number or does not fit.
#[must_use]
pub fn computer_name(prefix: &str, instance: &str) -> Option<String> {
    let mut number: u64 = instance.parse().ok()?;
    let mut digits = [b'0'; INSTANCE_DIGITS];
    for digit in digits.iter_mut().rev() {
        let value = u8::try_from(number % BASE).ok()?;
        *digit = if value < 10 {
            b'0' + value
        } else {
            b'a' + value - 10
        };
        number /= BASE;
    }
    (number == 0).then(|| format!("{prefix}{}", String::from_utf8_lossy(&digits)))
}

/// Takes a Uniform scale set's computer name apart: prefix and instance id. `None` if it has not
/// that form, which only says that the node is no such instance.
#[must_use]
pub fn split_computer_name(name: &str) -> Option<(&str, String)> {
    let at = name.len().checked_sub(INSTANCE_DIGITS)?;
    let (prefix, digits) = (name.get(..at)?, name.get(at..)?);
    if prefix.is_empty() || !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let number = u64::from_str_radix(digits, 36).ok()?;
    Some((prefix, number.to_string()))
}

/// The node name behind the IMDS field `compute.name` of a Uniform instance, `{set}_{instance}`.
#[must_use]
pub fn computer_name_of_imds(name: &str) -> Option<String> {
    let (prefix, instance) = name.split_once('_')?;
    if instance.contains('_') {
        None
    } else {
        computer_name(prefix, instance)
    }
}

#[cfg(test)]
mod tests;
