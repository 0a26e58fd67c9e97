//! Any bytes as JSON, in every direction and mode: no panic, no change of the input, and what `Compat`
//! made of a volume translates back or is refused.
//!
//! `cargo +nightly fuzz run translate` in `migration/fuzz`.

#![no_main]

use azcsi_migration::Mode;
use azcsi_migration::request::{Direction, answer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(input) = serde_json::from_slice::<serde_json::Value>(bytes) else {
        return;
    };
    for direction in Direction::ALL {
        for mode in [Mode::Compat, Mode::Strict] {
            let before = input.clone();
            let made = answer(mode, direction, &input);
            assert_eq!(before, input);
            if let (Direction::PvToCsi, Ok(made)) = (direction, made) {
                let _ = answer(mode, Direction::PvFromCsi, &made);
            }
        }
    }
});
