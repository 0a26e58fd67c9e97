//! The metadata service: shapes, refusals and tokens.

use std::sync::Arc;

use azcsi_sim::entra::tokens::TokenKey;
use azcsi_sim::imds::document::{DataDisk, Instance};
use azcsi_sim::imds::identity::{Identities, UserAssigned, system_assigned};
use azcsi_sim::imds::{Imds, Machine, Throttle};
use azcsi_types::clock::Clock as _;
use bytes::Bytes;
use http::Request;
use serde_json::Value;

use crate::support::HandClock;

#[derive(Debug)]
struct Fixed(Option<Instance>);

impl Machine for Fixed {
    fn instance(&self) -> Option<Instance> {
        self.0.clone()
    }
}

struct Service {
    imds: Imds,
    clock: Arc<HandClock>,
    throttle: Throttle,
    key: TokenKey,
}

fn service(instance: Option<Instance>) -> Service {
    let clock = Arc::new(HandClock::default());
    let key = TokenKey::new(b"k");
    let user = UserAssigned {
        client_id: "c1".into(),
        object_id: "o1".into(),
        resource_id: "/subscriptions/s/id1".into(),
    };
    let identities = Identities::new("t", key.clone(), clock.clone(), vec![user]);
    let throttle = Throttle::default();
    let imds = Imds::new(
        Arc::new(Fixed(instance)),
        Arc::new(identities),
        throttle.clone(),
    );
    Service {
        imds,
        clock,
        throttle,
        key,
    }
}

fn node() -> Instance {
    Instance {
        vm_id: "vm-guid".into(),
        zone: "1".into(),
        data_disks: vec![DataDisk {
            lun: 7,
            id: "/disks/d".into(),
            ..DataDisk::default()
        }],
        ..Instance::default()
    }
}

impl Service {
    fn get(&self, path: &str) -> (u16, Value) {
        let request = Request::get(path)
            .header("Metadata", "true")
            .body(Bytes::new());
        self.send(&request.expect("request"))
    }

    fn send(&self, request: &Request<Bytes>) -> (u16, Value) {
        let response = self.imds.answer(request);
        let body = serde_json::from_slice(response.body()).expect("JSON");
        (response.status().as_u16(), body)
    }
}

const INSTANCE: &str = "/metadata/instance?api-version=2021-10-01&format=json";
const TOKEN: &str =
    "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://management.azure.com/";

#[test]
fn the_instance_document_shows_the_machines_disks() {
    let (status, body) = service(Some(node())).get(INSTANCE);
    assert_eq!(status, 200);
    let disk = body
        .pointer("/compute/storageProfile/dataDisks/0")
        .expect("disk");
    assert_eq!(disk.get("lun"), Some(&Value::from("7")));
    assert_eq!(
        disk.pointer("/managedDisk/id"),
        Some(&Value::from("/disks/d"))
    );
}

#[test]
fn a_leaf_is_given_as_text() {
    let request =
        Request::get("/metadata/instance/compute/zone?api-version=2021-10-01&format=text")
            .header("Metadata", "true")
            .body(Bytes::new())
            .expect("request");
    assert_eq!(
        service(Some(node())).imds.answer(&request).body().as_ref(),
        b"1"
    );
}

#[test]
fn requests_that_did_not_begin_on_the_machine_are_refused() {
    let service = service(Some(node()));
    let bare = Request::get(INSTANCE).body(Bytes::new()).expect("request");
    assert_eq!(service.send(&bare).0, 400);
    let bare = Request::get(TOKEN).body(Bytes::new()).expect("request");
    let (status, body) = service.send(&bare);
    assert_eq!(status, 400);
    let description = body.get("error_description").and_then(Value::as_str);
    assert_eq!(description, Some("Required metadata header not specified"));
    let proxied = Request::get(INSTANCE)
        .header("Metadata", "true")
        .header("X-Forwarded-For", "10.0.0.1")
        .body(Bytes::new())
        .expect("request");
    assert_eq!(service.send(&proxied).0, 403);
}

#[test]
fn a_version_is_needed_and_the_newest_are_named() {
    let service = service(Some(node()));
    for path in [
        "/metadata/instance",
        "/metadata/instance?api-version=1999-01-01",
    ] {
        let (status, body) = service.get(path);
        assert_eq!(status, 400);
        assert!(
            body.get("newest-versions")
                .and_then(Value::as_array)
                .is_some_and(|v| !v.is_empty())
        );
    }
    assert_eq!(service.get("/metadata/other?api-version=2021-10-01").0, 404);
}

#[test]
fn tokens_are_all_text_and_hold_for_the_audience() {
    let service = service(Some(node()));
    let (status, body) = service.get(TOKEN);
    assert_eq!(status, 200);
    let fields = body.as_object().expect("object");
    assert!(fields.values().all(Value::is_string), "{body}");
    assert_eq!(
        body.get("client_id"),
        Some(&Value::from(system_assigned("vm-guid")))
    );
    let token = body
        .get("access_token")
        .and_then(Value::as_str)
        .expect("token");
    let claims = service
        .key
        .verify(token, service.clock.wall())
        .expect("verifies");
    assert_eq!(claims.audience, "https://management.azure.com/");
}

#[test]
fn identities_are_selected_and_unknown_ones_refused() {
    let service = service(Some(node()));
    for tail in [
        "&client_id=c1",
        "&object_id=o1",
        "&msi_res_id=/subscriptions/s/id1",
    ] {
        let (status, body) = service.get(&format!("{TOKEN}{tail}"));
        assert_eq!(
            (status, body.get("client_id")),
            (200, Some(&Value::from("c1"))),
            "{tail}"
        );
    }
    let (status, body) = service.get(&format!("{TOKEN}&client_id=other"));
    assert_eq!(status, 400);
    assert_eq!(
        body.get("error_description"),
        Some(&Value::from("Identity not found"))
    );
}

#[test]
fn asking_early_gives_the_same_token() {
    let service = service(Some(node()));
    let first = service.get(TOKEN).1;
    service.clock.advance(std::time::Duration::from_secs(3600));
    let second = service.get(TOKEN).1;
    assert_eq!(first.get("access_token"), second.get("access_token"));
    service
        .clock
        .advance(std::time::Duration::from_secs(13 * 3600));
    assert_ne!(
        first.get("access_token"),
        service.get(TOKEN).1.get("access_token")
    );
}

#[test]
fn the_throttle_refuses_so_many_and_no_more() {
    let service = service(Some(node()));
    service.throttle.refuse_next(2);
    let seen: Vec<u16> = (0..3).map(|_| service.get(INSTANCE).0).collect();
    assert_eq!(seen, [429, 429, 200]);
}

#[test]
fn a_deleted_machine_has_no_metadata() {
    assert_eq!(service(None).get(INSTANCE).0, 410);
}
