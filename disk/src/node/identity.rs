//! Whether a device is the disk that a volume is. Pure.
//!
//! Azure tells the node only a slot, and slots are reused. So evidence is gathered, and the table
//! here decides what may be done with the device. Nothing can switch it off; `compat` only lets a
//! volume be mounted, never formatted, when nobody can say what is in the slot.

use azcsi_host::devices::Class;

/// What to do when there is no evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdentityCheck {
    /// Nothing.
    Strict,
    /// Mount what is there, with a warning.
    #[default]
    Compat,
}

/// E1: what the instance metadata says is in the slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InSlot {
    /// This volume.
    Ours,
    /// Another disk, or one whose name cannot be read.
    Other(String),
    /// Nothing.
    Nothing,
    /// Nobody can say.
    Unknown,
}

/// E2 and E4: a world-wide name against one that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hardware {
    /// The expected one.
    Equal,
    /// Another one.
    Different,
    /// One of the two is missing.
    Unknown,
}

/// All evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What the place of the device in sysfs says.
    pub class: Class,
    /// E1.
    pub slot: InSlot,
    /// E2: what the controller said at the attach.
    pub published: Hardware,
    /// E4: what this node saw earlier.
    pub recorded: Hardware,
    /// E3: whether the device is as large as it has to be.
    pub is_large_enough: bool,
    /// E5: another volume that is staged from this device.
    pub owner: Option<String>,
}

/// How sure the identity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// Nobody contradicts; enough to mount what is there.
    Unproven,
    /// The same disk as earlier on this node; enough to mount.
    Known,
    /// Azure says so; enough to format.
    Proven,
}

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Proceed(Trust),
    /// Ask again for a while; if it stays, the volume is not ready.
    Wait(String),
    /// Ask again for a while; if it stays, it is the wrong disk.
    WaitThenRefuse(String),
    /// Never.
    Refuse(String),
}

/// The table.
#[must_use]
pub fn decide(evidence: &Evidence, check: IdentityCheck) -> Verdict {
    if let Some(owner) = &evidence.owner {
        return Verdict::Refuse(format!("the device is already used by volume '{owner}'"));
    }
    if evidence.published == Hardware::Different || evidence.recorded == Hardware::Different {
        let why = "the device in its slot is not the one that was there before";
        return Verdict::Refuse(why.to_owned());
    }
    match &evidence.slot {
        InSlot::Other(other) => Verdict::WaitThenRefuse(format!(
            "Azure says that its slot holds '{other}': detach that disk, or attach this one anew"
        )),
        InSlot::Nothing => Verdict::Wait("Azure says that its slot is empty".to_owned()),
        _ if !evidence.is_large_enough => {
            Verdict::Wait("the device is smaller than the disk".to_owned())
        }
        InSlot::Ours => Verdict::Proceed(Trust::Proven),
        InSlot::Unknown => without_metadata(evidence, check),
    }
}

fn without_metadata(evidence: &Evidence, check: IdentityCheck) -> Verdict {
    if evidence.class != Class::Data {
        let why = "only a link says where it is, and the instance metadata cannot confirm it";
        return Verdict::Wait(why.to_owned());
    }
    match (evidence.published, evidence.recorded, check) {
        (Hardware::Equal, _, _) => Verdict::Proceed(Trust::Proven),
        (_, Hardware::Equal, _) => Verdict::Proceed(Trust::Known),
        (_, _, IdentityCheck::Compat) => Verdict::Proceed(Trust::Unproven),
        (_, _, IdentityCheck::Strict) => {
            Verdict::Wait("the instance metadata does not answer".to_owned())
        }
    }
}

/// E2: compares a world-wide name of the kernel with Azure's `uniqueId`. Whether the two are the
/// same number, and in which byte order, is not documented; so a match counts, and a difference
/// proves nothing.
#[must_use]
pub fn published(hardware: Option<&str>, unique_id: Option<&str>) -> Hardware {
    let (Some(hardware), Some(unique_id)) = (hardware, unique_id) else {
        return Hardware::Unknown;
    };
    let (seen, wanted) = (hex(hardware), hex(unique_id));
    if wanted.len() == 32 && (seen.contains(&wanted) || seen.contains(&mixed_endian(&wanted))) {
        Hardware::Equal
    } else {
        Hardware::Unknown
    }
}

/// E4: compares with what this node saw earlier.
#[must_use]
pub fn recorded(hardware: Option<&str>, earlier: Option<&str>) -> Hardware {
    match (hardware, earlier) {
        (Some(now), Some(then)) if now == then => Hardware::Equal,
        (Some(_), Some(_)) => Hardware::Different,
        _ => Hardware::Unknown,
    }
}

fn hex(text: &str) -> String {
    text.chars()
        .filter(char::is_ascii_hexdigit)
        .map(|digit| digit.to_ascii_lowercase())
        .collect()
}

/// A GUID as Windows stores it: the first three fields with their bytes reversed.
fn mixed_endian(guid: &str) -> String {
    let bytes: Vec<&str> = (0..16)
        .filter_map(|at| guid.get(2 * at..2 * at + 2))
        .collect();
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    order
        .iter()
        .filter_map(|&at| bytes.get(at).copied())
        .collect()
}

#[cfg(test)]
mod tests;
