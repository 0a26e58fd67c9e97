//! A world to test on, and a client for it.

use std::sync::Arc;
use std::time::Duration;

use azcsi_sim::world::{Machine, MachineKind, ScaleSet, guid_of};
use azcsi_sim::{Disconnected, ManualClock, Profile, Sim, SimOptions, World};
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) const SUB: &str = "/subscriptions/sub-1";
pub(crate) const R: &str = "/subscriptions/sub-1/resourceGroups/Rg/providers/Microsoft.Compute";

pub(crate) struct Lab {
    pub(crate) sim: Sim,
    pub(crate) clock: Arc<ManualClock>,
}

pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) response: Response<Bytes>,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.response.headers().get(name);
        value.map_or("", |value| value.to_str().expect("text"))
    }

    pub(crate) fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }

    pub(crate) fn message(&self) -> &str {
        self.body["error"]["message"].as_str().unwrap_or_default()
    }
}

pub(crate) fn world() -> World {
    let mut world = World::new("sub-1", "Rg", "eastus2");
    let vm = |name: &str, kind: MachineKind, zone: Option<&str>| {
        let id = format!("{R}/virtualMachines/{name}");
        Machine::new(&id, kind, "eastus2", "Standard_D4s_v5").zoned(zone)
    };
    world.add_machine(vm("vm1", MachineKind::Standalone, Some("1")));
    world.add_machine(vm("vm2", MachineKind::Standalone, Some("1")));
    let avset = MachineKind::AvailabilitySet(format!("{R}/availabilitySets/av"));
    world.add_machine(vm("av1", avset, None));
    let flex = MachineKind::Flex(format!("{R}/virtualMachineScaleSets/flex"));
    world.add_machine(vm("flex_1", flex, Some("1")));
    for (name, flexible) in [("flex", true), ("uni", false)] {
        let id = format!("{R}/virtualMachineScaleSets/{name}");
        world.add_scale_set(ScaleSet {
            unique_id: guid_of(&id),
            id,
            location: "eastus2".into(),
            zones: vec!["1".into()],
            size: "Standard_D4s_v5".into(),
            flexible,
            prefix: name.into(),
        });
    }
    let scale_set = format!("{R}/virtualMachineScaleSets/uni");
    let kind = MachineKind::Instance {
        scale_set: scale_set.clone(),
        instance_id: "0".into(),
    };
    let id = format!("{scale_set}/virtualMachines/0");
    let machine = Machine::new(&id, kind, "eastus2", "Standard_D4s_v5");
    world.add_machine(machine.zoned(Some("1")).named("uni000000"));
    world
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self::with(Profile::Instant)
    }

    pub(crate) fn with(profile: Profile) -> Self {
        Self::options(|options| options.profile = profile)
    }

    pub(crate) fn options(set: impl FnOnce(&mut SimOptions)) -> Self {
        let clock = Arc::new(ManualClock::new());
        let mut options = SimOptions::new(clock.clone());
        options.time_scale = 0.0;
        set(&mut options);
        Self {
            sim: Sim::new(world(), options),
            clock,
        }
    }

    pub(crate) async fn raw(&self, request: Request<Bytes>) -> Result<Got, Disconnected> {
        let response = self.sim.clone().oneshot(request).await?;
        let body = serde_json::from_slice(response.body()).unwrap_or(Value::Null);
        Ok(Got {
            status: response.status().as_u16(),
            body,
            response,
        })
    }

    pub(crate) fn request(method: &str, path: &str, body: &Value) -> Request<Bytes> {
        let mark = if path.contains('?') { '&' } else { '?' };
        let url = if path.starts_with("https://") || path.contains("api-version") {
            path.to_owned()
        } else {
            format!("{path}{mark}api-version=2024-07-01")
        };
        let body = if body.is_null() {
            Bytes::new()
        } else {
            Bytes::from(body.to_string())
        };
        Request::builder()
            .method(method)
            .uri(url)
            .header("host", "arm.test")
            .header("authorization", "Bearer x")
            .body(body)
            .expect("request")
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Value) -> Got {
        let request = Self::request(method, path, &body);
        self.raw(request).await.expect("an answer")
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        self.send("GET", path, Value::Null).await
    }

    /// Sends a write, lets its operation end, and gives the status document.
    pub(crate) async fn done(&self, method: &str, path: &str, body: Value) -> Value {
        let got = self.send(method, path, body).await;
        assert!(got.status < 300, "{method} {path}: {}", got.body);
        self.clock.advance(Duration::from_secs(3600));
        self.get(got.header("azure-asyncoperation")).await.body
    }

    pub(crate) async fn disk(&self, name: &str, body: Value) -> Value {
        let done = self.done("PUT", &disk(name), body).await;
        assert_eq!(done["status"], "Succeeded", "{done}");
        done["properties"]["output"].clone()
    }
}

pub(crate) fn disk(name: &str) -> String {
    format!("{R}/disks/{name}")
}

pub(crate) fn vm(name: &str) -> String {
    format!("{R}/virtualMachines/{name}")
}

/// A Premium disk of zone 1.
pub(crate) fn premium(gib: u64) -> Value {
    json!({
        "location": "eastus2", "zones": ["1"], "sku": {"name": "Premium_LRS"},
        "properties": {"creationData": {"createOption": "Empty"}, "diskSizeGB": gib},
    })
}

pub(crate) fn attach(name: &str, lun: u32) -> Value {
    json!({"dataDisksToAttach": [{"diskId": disk(name), "lun": lun}]})
}

pub(crate) fn detach(name: &str) -> Value {
    json!({"dataDisksToDetach": [{"diskId": disk(name)}]})
}

/// A body with the whole list.
pub(crate) fn whole(entries: &[(&str, u32)]) -> Value {
    let entries: Vec<Value> = entries
        .iter()
        .map(|(name, lun)| json!({"lun": lun, "createOption": "Attach", "managedDisk": {"id": disk(name)}}))
        .collect();
    json!({"properties": {"storageProfile": {"dataDisks": entries}}})
}

/// LUN and name of each data disk of a storage profile.
pub(crate) fn luns(profile: &Value) -> Vec<(u64, String)> {
    let disks = profile["dataDisks"].as_array().expect("dataDisks");
    let mut found: Vec<(u64, String)> = disks
        .iter()
        .map(|disk| {
            let id = disk["managedDisk"]["id"].as_str().expect("id");
            let lun = disk["lun"].as_u64().expect("lun");
            (lun, id.rsplit('/').next().expect("leaf").to_owned())
        })
        .collect();
    found.sort();
    found
}
