//! Which model a body is of, by method, path and status; and the check of all bodies.

use std::collections::BTreeMap;

use azure_mgmt_compute::package_2024_07_01::models;
use serde_json::Value;

use crate::allowed::Allowed;
use crate::compare::{Difference, through};
use crate::exchange::Exchange;
use crate::report::Report;

/// A model: its name and the way through it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    pub through: fn(&Value) -> Vec<Difference>,
}

macro_rules! kind {
    ($name:ident) => {
        Some(Kind {
            name: stringify!($name),
            through: through::<models::$name>,
        })
    };
}

/// One group of like bodies.
#[derive(Debug, Default)]
struct Group {
    bodies: usize,
    reasons: BTreeMap<String, usize>,
}

/// Checks every body, and prints one line for each client, place and model.
pub fn check(exchanges: &[Exchange], allowed: &mut Allowed, report: &mut Report) {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for exchange in exchanges {
        let place = Place::of(&exchange.path);
        let shown = format!(
            "{} {} of {}",
            exchange.method,
            place.shown(),
            exchange.api_version
        );
        if let Some(body) = &exchange.request {
            let kind = place.request(&exchange.method);
            add(
                &mut groups,
                &format!("{}: body of {shown}", exchange.client),
                kind,
                body,
                allowed,
            );
        }
        if let Some(body) = &exchange.response {
            let (body, kind) = place.response(exchange.status, body);
            let title = format!("{}: answer {} to {shown}", exchange.client, exchange.status);
            if !body.is_null() {
                add(&mut groups, &title, kind, body, allowed);
            }
        }
    }
    for (title, group) in groups {
        let reasons: Vec<String> = group
            .reasons
            .iter()
            .map(|(reason, times)| format!("{reason} ({times} times)"))
            .collect();
        report.line(&format!("{title}, {} bodies", group.bodies), &reasons);
    }
}

fn add(
    groups: &mut BTreeMap<String, Group>,
    title: &str,
    kind: Option<Kind>,
    body: &Value,
    allowed: &mut Allowed,
) {
    let Some(kind) = kind else {
        let group = groups.entry(title.to_owned()).or_default();
        group.bodies += 1;
        *group
            .reasons
            .entry(format!("no model is known for {body}"))
            .or_default() += 1;
        return;
    };
    let group = groups
        .entry(format!("{title} is a {}", kind.name))
        .or_default();
    group.bodies += 1;
    for found in (kind.through)(body) {
        if !allowed.permits(kind.name, &found) {
            *group
                .reasons
                .entry(format!("{} {}", found.path, found.what))
                .or_default() += 1;
        }
    }
}

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// Types below the provider, such as `disks` or `virtualMachineScaleSets/virtualMachines`.
    types: Vec<String>,
    /// Whether one resource is named, and not a list of them.
    named: bool,
    /// What follows the name of a resource, such as `beginGetAccess`.
    action: Option<String>,
}

/// Words after a resource's name that are no type of a child.
const ACTIONS: [&str; 8] = [
    "attachDetachDataDisks",
    "beginGetAccess",
    "deallocate",
    "endGetAccess",
    "instanceView",
    "powerOff",
    "restart",
    "start",
];

impl Place {
    fn of(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let below = lower
            .rfind("/providers/microsoft.compute/")
            .map_or("", |at| {
                path.get(at + "/providers/microsoft.compute/".len()..)
                    .unwrap_or_default()
            });
        let mut words: Vec<&str> = below.split('/').filter(|word| !word.is_empty()).collect();
        let known = |word: &str| {
            ACTIONS
                .iter()
                .find(|action| action.eq_ignore_ascii_case(word))
        };
        let action = words
            .last()
            .and_then(|word| known(word))
            .map(|action| (*action).to_owned());
        if action.is_some() {
            words.pop();
        }
        let types = words
            .iter()
            .step_by(2)
            .map(|word| (*word).to_owned())
            .collect();
        Self {
            types,
            named: words.len().is_multiple_of(2),
            action,
        }
    }

    fn shown(&self) -> String {
        let mut text = self.types.join("/{}/");
        if self.named {
            text.push_str("/{}");
        }
        if let Some(action) = &self.action {
            text.push('/');
            text.push_str(action);
        }
        text
    }

    fn type_name(&self) -> String {
        self.types.join("/").to_ascii_lowercase()
    }

    fn request(&self, method: &str) -> Option<Kind> {
        match (method, self.type_name().as_str(), self.action.as_deref()) {
            ("PUT", "disks", None) => kind!(Disk),
            ("PATCH", "disks", None) => kind!(DiskUpdate),
            ("PUT", "snapshots", None) => kind!(Snapshot),
            ("PATCH", "snapshots", None) => kind!(SnapshotUpdate),
            ("PUT", "virtualmachines", None) => kind!(VirtualMachine),
            ("PATCH", "virtualmachines", None) => kind!(VirtualMachineUpdate),
            ("PUT", "virtualmachinescalesets/virtualmachines", None) => {
                kind!(VirtualMachineScaleSetVm)
            }
            ("POST", _, Some("beginGetAccess")) => kind!(GrantAccessData),
            ("POST", _, Some("attachDetachDataDisks")) => kind!(AttachDetachDataDisksRequest),
            _ => None,
        }
    }

    /// The model of an answer; of the document of an operation, its output.
    fn response<'a>(&self, status: u16, body: &'a Value) -> (&'a Value, Option<Kind>) {
        if status >= 400 {
            return (body, kind!(CloudError));
        }
        let operation = self
            .types
            .first()
            .is_some_and(|word| word.eq_ignore_ascii_case("locations"))
            && self
                .types
                .get(1)
                .is_some_and(|word| word.to_ascii_lowercase().ends_with("operations"));
        if operation {
            let output = body.pointer("/properties/output").unwrap_or(&Value::Null);
            // A final GET of the operation gives the output itself.
            let output = if body.get("status").is_none() {
                body
            } else {
                output
            };
            return (output, output_kind(output));
        }
        (body, self.resource())
    }

    fn resource(&self) -> Option<Kind> {
        match (
            self.type_name().as_str(),
            self.named,
            self.action.as_deref(),
        ) {
            ("disks", true, None) => kind!(Disk),
            ("disks", false, None) => kind!(DiskList),
            ("snapshots", true, None) => kind!(Snapshot),
            ("snapshots", false, None) => kind!(SnapshotList),
            ("virtualmachines", true, None) => kind!(VirtualMachine),
            ("virtualmachines", false, None) | ("locations/virtualmachines", false, None) => {
                kind!(VirtualMachineListResult)
            }
            ("virtualmachines", true, Some("instanceView")) => kind!(VirtualMachineInstanceView),
            ("virtualmachinescalesets", true, None) => kind!(VirtualMachineScaleSet),
            ("virtualmachinescalesets", false, None) => kind!(VirtualMachineScaleSetListResult),
            ("virtualmachinescalesets/virtualmachines", true, None) => {
                kind!(VirtualMachineScaleSetVm)
            }
            ("virtualmachinescalesets/virtualmachines", false, None) => {
                kind!(VirtualMachineScaleSetVmListResult)
            }
            ("virtualmachinescalesets/virtualmachines", true, Some("instanceView")) => {
                kind!(VirtualMachineScaleSetVmInstanceView)
            }
            (_, true, Some("attachDetachDataDisks")) => kind!(StorageProfile),
            (_, true, Some("beginGetAccess")) => kind!(AccessUri),
            ("skus", false, None) => kind!(ResourceSkusResult),
            _ => None,
        }
    }
}

/// The model of an operation's output, by what it holds.
fn output_kind(output: &Value) -> Option<Kind> {
    if output.get("accessSAS").is_some() {
        return kind!(AccessUri);
    }
    if output.get("dataDisks").is_some() {
        return kind!(StorageProfile);
    }
    let id = output.get("id").and_then(Value::as_str)?;
    Place::of(id).resource()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const R: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute";

    fn answer(path: &str, body: &Value) -> Option<&'static str> {
        Place::of(path).response(200, body).1.map(|kind| kind.name)
    }

    #[test]
    fn paths_name_models() {
        let none = json!({});
        for (path, wanted) in [
            ("disks/d", "Disk"),
            ("disks", "DiskList"),
            (
                "virtualMachines/v/instanceView",
                "VirtualMachineInstanceView",
            ),
            (
                "virtualMachineScaleSets/s/virtualMachines/1",
                "VirtualMachineScaleSetVm",
            ),
            (
                "virtualMachineScaleSets/s/virtualMachines/1/attachDetachDataDisks",
                "StorageProfile",
            ),
        ] {
            assert_eq!(
                answer(&format!("{R}/{path}"), &none),
                Some(wanted),
                "{path}"
            );
        }
    }

    #[test]
    fn an_operation_is_checked_by_its_output() {
        let path = "/subscriptions/s/providers/Microsoft.Compute/locations/l/DiskOperations/1";
        let done = json!({"status": "Succeeded", "properties": {"output": {"id": format!("{R}/disks/d")}}});
        assert_eq!(answer(path, &done), Some("Disk"));
        assert_eq!(
            answer(path, &json!({"accessSAS": "https://x"})),
            Some("AccessUri")
        );
    }

    #[test]
    fn requests_and_errors_have_models() {
        let place = Place::of(&format!("{R}/disks/d"));
        assert_eq!(
            place.request("PATCH").map(|kind| kind.name),
            Some("DiskUpdate")
        );
        assert_eq!(
            place.response(404, &json!({})).1.map(|kind| kind.name),
            Some("CloudError")
        );
    }
}
