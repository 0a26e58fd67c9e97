//! One after the other: work on a thing that several operations may want to make at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Turns by name. A name that nobody waits for takes no memory for long.
#[derive(Debug, Default)]
pub(super) struct Serial(Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl Serial {
    /// Waits for the turn; it ends when the value is dropped.
    pub(super) async fn turn(&self, name: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, lock| lock.strong_count() > 0);
            let there = all.get(name).and_then(Weak::upgrade);
            there.unwrap_or_else(|| {
                let lock = Arc::default();
                all.insert(name.to_owned(), Arc::downgrade(&lock));
                lock
            })
        };
        lock.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use super::Serial;

    #[tokio::test]
    async fn turns_are_taken_by_name_and_forgotten() {
        let serial = Serial::default();
        let first = serial.turn("a").await;
        let _other = serial.turn("b").await;
        let mut second = Box::pin(serial.turn("a"));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        drop(second.await);
        drop(serial.turn("c").await);
        assert_eq!(serial.0.lock().unwrap().len(), 2);
    }
}
