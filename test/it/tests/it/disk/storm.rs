//! Many nodes at once, under Azure's documented times and limits, in simulated time.
//!
//! `AZCSI_STORM_NODES=5000 cargo test -p azcsi-it --test it storm -- --nocapture` prints the figures of a
//! large cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use azcsi_proto::csi::v1;
use azcsi_sim::Profile;
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::world::{Unusual, World};

/// Nodes a minute. A subscription has 25 reads a second; an attach by a controller that remembers
/// nothing of disk and machine takes four (disk, machine, two looks at the operation).
const NODES_PER_MINUTE: u32 = 300;

#[expect(clippy::disallowed_methods, reason = "a knob of this test only")]
fn nodes() -> u32 {
    let wanted = std::env::var("AZCSI_STORM_NODES");
    wanted.map_or(150, |text| {
        text.parse().expect("AZCSI_STORM_NODES is a number")
    })
}

/// How the attachments of a storm went.
#[derive(Debug, Default)]
struct Account {
    /// How often Azure was asked for what, and with which status.
    requests: BTreeMap<(String, u16), usize>,
    /// How long each took, shortest first.
    took: Vec<Duration>,
    failures: Vec<String>,
}

impl Account {
    fn percentile(&self, of_hundred: usize) -> Duration {
        let place = self.took.len() * of_hundred / 100;
        self.took[place.min(self.took.len() - 1)]
    }

    fn tell(&self, what: &str) {
        println!(
            "{what}: {} attached, {} failed calls, p50 {:?}, p99 {:?}, longest {:?}",
            self.took.len(),
            self.failures.len(),
            self.percentile(50),
            self.percentile(99),
            self.percentile(100),
        );
        for ((class, status), count) in &self.requests {
            println!("  {count:6} {status} {class}");
        }
    }
}

async fn volumes(world: &World, count: u32) -> Vec<v1::Volume> {
    let mut volumes = Vec::new();
    for number in 0..count {
        volumes.push(world.volume(&format!("pvc-{number}"), 4).await);
    }
    volumes
}

/// Attaches volume n to node n, a new one every `pace`; as external-attacher does, what fails is
/// tried again.
async fn attach_all(world: &World, volumes: &[v1::Volume], pace: Duration) -> Account {
    let before = world.sim.requests(0).last().map_or(0, |last| last.number);
    let calls = volumes.iter().zip(0_u32..).map(async |(volume, number)| {
        tokio::time::sleep(pace * number).await;
        let began = Instant::now();
        let node = format!("many-{number}");
        let mut failures = Vec::new();
        let mut pause = Duration::from_secs(1);
        while let Err(status) = world.publish(volume, &node).await {
            failures.push(status.to_string());
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(300));
        }
        (began.elapsed(), failures)
    });
    let ended = join_all(calls).await;
    let mut account = Account::default();
    for request in world.sim.requests(before) {
        let kind = (request.class, request.status);
        *account.requests.entry(kind).or_default() += 1;
    }
    for (took, failures) in ended {
        account.took.push(took);
        account.failures.extend(failures);
    }
    account.took.sort_unstable();
    account
}

fn world(nodes: u32) -> World {
    World::with(Unusual {
        profile: Profile::Azure,
        more_machines: nodes,
        ..Unusual::default()
    })
}

#[tokio::test(start_paused = true)]
async fn nodes_that_join_steadily_attach_within_a_minute() {
    let count = nodes();
    let world = world(count);
    let volumes = volumes(&world, count).await;
    let pace = Duration::from_secs(60) / NODES_PER_MINUTE;
    let account = attach_all(&world, &volumes, pace).await;
    account.tell("steadily");
    assert_eq!(account.failures, Vec::<String>::new());
    assert!(account.percentile(99) <= Duration::from_secs(60));
    world.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn nodes_that_all_join_in_one_moment_attach_without_a_failure_au_01() {
    let count = nodes();
    let world = world(count);
    let volumes = volumes(&world, count).await;
    let account = attach_all(&world, &volumes, Duration::ZERO).await;
    account.tell("in one moment");
    assert_eq!(account.failures, Vec::<String>::new());
    world.assert_clean();
}
