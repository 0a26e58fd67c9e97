//! A journal that gets changes only: whatever is cut off its end, what is left is a world that was.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use azcsi_types::clock::Clock;
use bytes::Bytes;
use http::Request;

use super::*;
use crate::ManualClock;
use crate::kubeapi::Store;
use crate::persist::Journal;
use crate::serve::keeper::Keeper;
use crate::sim::{Sim, SimOptions};
use crate::state::Profile;

const DISKS: &str = "/subscriptions/sub/resourceGroups/rg/providers/Microsoft.Compute/disks";

struct Place {
    clock: Arc<ManualClock>,
    sim: Sim,
    keeper: Keeper,
}

/// What `serve` does with a directory, without its sockets.
fn open(dir: &Path, clock: &Arc<ManualClock>) -> Place {
    let journal = Journal::open(dir).expect("open");
    let saved = import(journal.current()).expect("a world");
    let world = saved.unwrap_or_else(|| World::new("sub", "rg", "eastus2"));
    let mut options = SimOptions::new(clock.clone());
    options.profile = Profile::Azure;
    options.time_scale = 0.0;
    let sim = Sim::new(world, options);
    sim.settle();
    let kube = Arc::new(Store::new(clock.clone()));
    let clock_too: Arc<dyn Clock> = clock.clone();
    let keeper = Keeper::new(Arc::new(sim.clone()), kube, clock_too, journal, None);
    keeper.keep().expect("keep");
    Place {
        clock: clock.clone(),
        sim,
        keeper,
    }
}

impl Place {
    async fn send(&self, method: &str, disk: &str, gib: u32) {
        let body = format!(
            r#"{{"location":"eastus2","sku":{{"name":"Premium_LRS"}},"properties":{{"creationData":{{"createOption":"Empty"}},"diskSizeGB":{gib}}}}}"#
        );
        let body = if method == "DELETE" {
            String::new()
        } else {
            body
        };
        let request = Request::builder()
            .method(method)
            .uri(format!("{DISKS}/{disk}?api-version=2024-03-02"))
            .header("host", "management.azure.com")
            .header("authorization", "Bearer any")
            .body(Bytes::from(body))
            .expect("request");
        let response = self.sim.answer(request).await.expect("answer");
        assert!(response.status().is_success(), "{:?}", response.body());
        self.keeper.keep().expect("keep");
    }

    fn later(&self) {
        self.clock.advance(Duration::from_secs(600));
        self.keeper.keep().expect("keep");
    }
}

fn values(world: &World) -> Value {
    serde_json::to_value(world).expect("JSON")
}

fn saved(dir: &Path) -> Option<Value> {
    let journal = Journal::open(dir).expect("open");
    let world = import(journal.current()).expect("a world");
    world.as_ref().map(values)
}

#[tokio::test]
async fn a_journal_cut_in_or_behind_any_transaction_holds_a_world_that_was() {
    let dir = tempfile::tempdir().expect("tempdir");
    let place = open(dir.path(), &Arc::new(ManualClock::new()));
    let mut were = vec![values(&place.sim.world())];
    for (method, disk, gib) in [("PUT", "a", 4), ("PUT", "b", 8), ("PATCH", "a", 16)] {
        place.send(method, disk, gib).await;
        were.push(values(&place.sim.world()));
        place.later();
        were.push(values(&place.sim.world()));
    }
    place.send("DELETE", "b", 0).await;
    were.push(values(&place.sim.world()));
    drop(place);
    let whole = fs::read(dir.path().join("world.journal")).expect("read");
    assert_eq!(saved(dir.path()).as_ref(), were.last());
    let mut seen = 0;
    let mut none = 0;
    let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let cuts = ends.flat_map(|(end, _)| [end, end + 1, end + 2, end + 99]);
    for cut in cuts.filter(|cut| (20..whole.len()).contains(cut)) {
        let part = whole.get(..cut).expect("prefix");
        fs::write(dir.path().join("world.journal"), part).expect("write");
        match saved(dir.path()) {
            None => none += 1,
            Some(found) => {
                let which = were.iter().position(|was| *was == found);
                seen = seen.max(which.unwrap_or_else(|| panic!("cut at {cut}: {found}")));
            }
        }
    }
    assert!(none > 0 && seen == were.len() - 2, "{none} {seen}");
}

#[tokio::test]
async fn what_ends_while_nobody_serves_is_not_back_at_the_start_after_the_next() {
    let dir = tempfile::tempdir().expect("tempdir");
    let clock = Arc::new(ManualClock::new());
    let place = open(dir.path(), &clock);
    place.send("PUT", "a", 4).await;
    place.later();
    place.send("DELETE", "a", 0).await;
    assert_eq!(place.sim.world().disks.len(), 1);
    drop(place);
    // The delete ends between the reading of the journal and the first write to it.
    clock.advance(Duration::from_secs(600));
    let place = open(dir.path(), &clock);
    assert_eq!(place.sim.world().disks.len(), 0);
    drop(place);
    let place = open(dir.path(), &clock);
    assert_eq!(place.sim.world().disks.len(), 0);
}

#[tokio::test]
async fn a_write_is_as_large_as_what_it_changes() {
    let dir = tempfile::tempdir().expect("tempdir");
    let place = open(dir.path(), &Arc::new(ManualClock::new()));
    for disk in 0..50 {
        place.send("PUT", &format!("disk-{disk}"), 4).await;
    }
    place.later();
    let size = || {
        fs::metadata(dir.path().join("world.journal"))
            .expect("file")
            .len()
    };
    let before = size();
    place.send("PATCH", "disk-7", 8).await;
    let grown = size() - before;
    let told = changes(&mut place.sim.state().world).expect("changes");
    assert!(told.touched.is_empty(), "{:?}", told.touched);
    assert!(grown < 4096, "{grown} bytes");
}

#[test]
fn a_world_that_lost_a_part_is_refused() {
    let mut world = World::new("sub", "rg", "eastus2");
    let all = changes(&mut world).expect("changes").rest;
    assert!(import(&all).expect("whole").is_some());
    for key in all.keys() {
        let mut part = all.clone();
        part.remove(key);
        // A table of which every entry is gone cannot be told from an empty one.
        if !key.contains(':') {
            let error = import(&part).expect_err("refused").to_string();
            assert!(error.contains("cannot be read"), "{key}: {error}");
        }
    }
    let mut bad = all;
    bad.insert("arm/disks:x".to_owned(), json!({"id": 7}));
    let error = format!("{:#}", import(&bad).expect_err("refused"));
    assert!(error.contains("arm/disks:x"), "{error}");
}

#[test]
fn the_tables_of_a_world_are_all_told() {
    let mut world = World::new("sub", "rg", "eastus2");
    let value = values(&world);
    let names: Vec<&String> = value.as_object().expect("fields").keys().collect();
    let first = changes(&mut world).expect("changes");
    let later = changes(&mut world).expect("changes");
    assert!(first.covered.is_empty());
    for name in names {
        let prefix = format!("{PREFIX}{name}");
        let covered = later.covered.contains(&format!("{prefix}:"));
        let mut rest = later.rest.keys();
        assert!(
            covered || rest.any(|key| key.starts_with(&prefix)),
            "{name} would be lost"
        );
    }
}
