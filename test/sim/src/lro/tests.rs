//! Which ended operations are still known.

use std::sync::Arc;

use super::*;
use crate::ManualClock;
use crate::sim::{Sim, SimOptions};

const DISK: &str = "/subscriptions/sub/resourceGroups/rg/providers/Microsoft.Compute/disks/d";

fn start(sim: &Sim, takes: Duration) -> String {
    let start = Start {
        family: "DiskOperations",
        target: DISK,
        location: "eastus2",
        work: Work::Nothing,
        takes,
    };
    begin(&mut sim.state(), start)
}

#[test]
fn an_ended_operation_is_known_for_an_hour_and_a_restart_changes_nothing() {
    let clock = Arc::new(ManualClock::new());
    let mut sim = Sim::new(
        World::new("sub", "rg", "eastus2"),
        SimOptions::new(clock.clone()),
    );
    let id = start(&sim, Duration::ZERO);
    assert!(find(&sim.state(), &id).is_ok_and(|operation| !operation.runs()));
    clock.advance(KEPT);
    assert!(find(&sim.state(), &id).is_ok());
    sim = Sim::new(sim.world(), SimOptions::new(clock.clone()));
    assert!(find(&sim.state(), &id).is_ok());
    clock.advance(Duration::from_secs(1));
    assert!(find(&sim.state(), &id).is_err());
    assert!(sim.world().operations.is_empty());
}

#[test]
fn the_oldest_go_when_there_are_too_many_and_none_that_runs() {
    let clock = Arc::new(ManualClock::new());
    let sim = Sim::new(World::new("sub", "rg", "eastus2"), SimOptions::new(clock));
    let running = start(&sim, Duration::MAX);
    let first = start(&sim, Duration::ZERO);
    let second = start(&sim, Duration::ZERO);
    for _ in 2..=KEPT_AT_MOST {
        start(&sim, Duration::ZERO);
    }
    let state = sim.state();
    assert_eq!(state.world.operations.len(), KEPT_AT_MOST + 1);
    assert!(find(&state, &running).is_ok());
    assert!(find(&state, &first).is_err());
    assert!(find(&state, &second).is_ok());
}
