//! Waiting for what takes its time.

use std::time::Duration;

use anyhow::{Context as _, Result};

/// Time between two looks.
const STEP: Duration = Duration::from_millis(250);

/// Looks until it succeeds. What it last failed with is the error when the time is over.
pub(crate) async fn eventually<T>(
    what: &str,
    patience: Duration,
    mut look: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let mut last = None;
    let waited = tokio::time::timeout(patience, async {
        loop {
            match look().await {
                Ok(found) => return found,
                Err(error) => last = Some(error),
            }
            tokio::time::sleep(STEP).await;
        }
    })
    .await;
    waited.or_else(|_| {
        let last = last.unwrap_or_else(|| anyhow::anyhow!("nothing was seen"));
        Err(last).with_context(|| format!("waited {} s: {what}", patience.as_secs()))
    })
}
