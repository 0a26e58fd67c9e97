//! Keys that were fetched from Azure, kept for three minutes: many volumes of one account are mounted
//! at once when a node starts, and listing keys is throttled (known problem AU-05). A key that was
//! refused is dropped, so that the next attempt sees a rotated one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azcsi_types::clock::Clock;
use azcsi_types::secret::Secret;

use super::ports::{Identity, KeyOf};

/// How long a key is used without asking again.
const KEPT: Duration = Duration::from_secs(180);

/// Keys by account, and by whoever may fetch them.
#[derive(Debug, Default)]
pub struct Keys(Mutex<BTreeMap<(KeyOf, String), (Duration, Secret)>>);

impl Keys {
    /// A key that is still good.
    #[must_use]
    pub fn get(&self, clock: &dyn Clock, of: &KeyOf, by: &Identity) -> Option<Secret> {
        let keys = self.lock();
        let (until, key) = keys.get(&(of.clone(), who(by)?))?;
        (clock.now() < *until).then(|| key.clone())
    }

    /// Keeps a key.
    pub fn put(&self, clock: &dyn Clock, of: &KeyOf, by: &Identity, key: &Secret) {
        let now = clock.now();
        let mut keys = self.lock();
        keys.retain(|_, (until, _)| now < *until);
        if let Some(who) = who(by) {
            keys.insert((of.clone(), who), (now + KEPT, key.clone()));
        }
    }

    /// Drops a key of an account, whoever fetched it.
    pub fn refused(&self, account: &str) {
        self.lock()
            .retain(|(of, _), _| of.account.as_str() != account);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(KeyOf, String), (Duration, Secret)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A name for an identity; what a pod may fetch is nobody else's.
fn who(by: &Identity) -> Option<String> {
    match by {
        Identity::Node => Some(String::new()),
        Identity::Managed(client) => Some(format!("m/{client}")),
        Identity::Workload { .. } | Identity::Token(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use azcsi_types::clock::Clock;
    use azcsi_types::secret::Secret;

    use super::{KEPT, Keys};
    use crate::node::ports::{Identity, KeyOf};

    #[derive(Debug)]
    struct At(Duration);

    impl Clock for At {
        fn now(&self) -> Duration {
            self.0
        }

        fn wall(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH
        }
    }

    fn of(account: &str) -> KeyOf {
        KeyOf {
            subscription: None,
            resource_group: None,
            account: account.parse().unwrap(),
            latest: false,
        }
    }

    #[test]
    fn a_key_is_kept_for_its_time_and_its_account_au_05() {
        let keys = Keys::default();
        let (start, late) = (At(Duration::ZERO), At(KEPT));
        keys.put(&start, &of("acct1"), &Identity::Node, &Secret::new("k"));
        let get = |clock: &At, account| keys.get(clock, &of(account), &Identity::Node);
        assert!(get(&start, "acct1").is_some());
        assert!(get(&start, "acct2").is_none());
        assert!(get(&late, "acct1").is_none());
    }

    #[test]
    fn a_refused_key_is_not_used_again_smb_01() {
        let keys = Keys::default();
        let now = At(Duration::ZERO);
        keys.put(&now, &of("acct1"), &Identity::Node, &Secret::new("k"));
        keys.refused("acct1");
        assert!(keys.get(&now, &of("acct1"), &Identity::Node).is_none());
    }

    #[test]
    fn what_a_pod_may_fetch_is_nobody_else_s() {
        let keys = Keys::default();
        let now = At(Duration::ZERO);
        let pod = Identity::Workload {
            client_id: "c".to_owned(),
            tenant_id: None,
            token: Secret::new("t"),
        };
        keys.put(&now, &of("acct1"), &pod, &Secret::new("k"));
        assert!(keys.get(&now, &of("acct1"), &pod).is_none());
    }
}
