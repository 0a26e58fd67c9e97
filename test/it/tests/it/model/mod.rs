//! The controller against a model: random calls, faults, deadlines and killed processes, and what must
//! hold whatever happens.
//!
//! | file | holds |
//! |---|---|
//! | `step` | what can be done, and how it is drawn |
//! | `oracle` | what follows from the answers |
//! | `play` | does the steps, looks, and brings everything to its end |
//!
//! `AZCSI_MODEL_CASES` says how many lives are played (64), `AZCSI_MODEL_SEED` which ones (1). The
//! same numbers play the same lives.

mod oracle;
mod play;
mod step;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use step::Step;

/// A number from the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "a test's size and seed are set from outside"
)]
fn number(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is no number")),
        Err(_) => usual,
    }
}

/// One life in a runtime of its own, under paused time.
fn live(steps: &[Step]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime
        .block_on(play::play(steps))
        .map_err(TestCaseError::fail)
}

#[test]
fn whatever_happens_no_disk_is_lost_doubled_or_in_the_wrong_place_ad_01_ad_02_ad_17() {
    let seed = number("AZCSI_MODEL_SEED", 1);
    let cases = number("AZCSI_MODEL_CASES", 64);
    let config = Config {
        cases: u32::try_from(cases).unwrap(),
        failure_persistence: None,
        max_shrink_iters: 400,
        ..Config::default()
    };
    let mut bytes = [0_u8; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    if let Err(failure) = runner.run(&step::lives(), |steps| live(&steps)) {
        panic!("AZCSI_MODEL_SEED={seed} AZCSI_MODEL_CASES={cases}: {failure}");
    }
}
