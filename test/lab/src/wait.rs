//! Waiting for a condition, with a bound that only a broken machine reaches.

use std::time::Duration;

use anyhow::{Result, bail};

/// Pause between two looks.
const STEP: Duration = Duration::from_millis(50);
/// How long a look may have to be repeated: emulated machines on a busy host are slow.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// Looks until the answer is `Some`.
///
/// # Errors
/// When it stays `None` for [`PATIENCE`], or a look fails.
pub async fn until<T, F>(what: &str, mut look: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let looking = async {
        loop {
            if let Some(found) = look().await? {
                return Ok(found);
            }
            tokio::time::sleep(STEP).await;
        }
    };
    match tokio::time::timeout(PATIENCE, looking).await {
        Ok(found) => found,
        Err(_) => bail!("{what}: not within {} s", PATIENCE.as_secs()),
    }
}
