//! Tests of `cache`.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::Cache;
use crate::testing::TestClock;

fn cache() -> Cache<&'static str, u32> {
    Cache::new(TestClock::start(), Duration::from_secs(60))
}

#[tokio::test(start_paused = true)]
async fn everybody_who_waits_shares_one_fetch() {
    let (cache, fetches) = (cache(), AtomicU32::new(0));
    let one = || {
        cache.get_or_fetch(&"k", async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, Infallible>(fetches.fetch_add(1, Ordering::SeqCst))
        })
    };
    let all = futures_util::future::join_all((0..10).map(|_| one())).await;
    assert!(all.iter().all(|value| *value == Ok(0)));
    // The value is as old as the beginning of its fetch.
    tokio::time::advance(Duration::from_secs(58)).await;
    assert_eq!(cache.peek(&"k"), Some(0));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(cache.peek(&"k"), None);
    assert_eq!(one().await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn an_error_is_not_kept() {
    let cache = cache();
    let failed = cache
        .get_or_fetch(&"k", async { Err::<u32, _>("no") })
        .await;
    assert_eq!(failed, Err("no"));
    assert_eq!(
        cache.get_or_fetch(&"k", async { Ok::<_, ()>(1) }).await,
        Ok(1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_value_forgotten_during_its_fetch_does_not_come_back() {
    let cache = cache();
    let fetch = cache.get_or_fetch(&"k", async {
        cache.forget(&"k");
        Ok::<_, Infallible>(1)
    });
    assert_eq!(fetch.await, Ok(1));
    assert_eq!(cache.peek(&"k"), None);
    cache.put(&"k", 2);
    assert_eq!(cache.peek(&"k"), Some(2));
}
