//! The controller's ports over a cluster: keys in Secrets, and which volumes share a share.

use std::time::Duration;

use azcsi_kube::objects::{Collection, Effect, Objects};
use azcsi_kube::volumes::Handles;
use azcsi_kube::watch::Watched;
use azcsi_kube::{Kube, KubeError};
use azcsi_types::account::AccountName;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use azcsi_types::share_handle::ShareHandle;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::controller::ports::{KeySecrets, PortError, SecretName, Use, Volumes};

const SECRETS: Collection = Collection {
    api_version: "v1",
    plural: "secrets",
    kind: "Secret",
};
/// Keys of the Secret, as every node plugin reads them.
const ACCOUNT: &str = "azurestorageaccountname";
const KEY: &str = "azurestorageaccountkey";
/// Marks the driver's own Secrets, so that it brings only those up to date.
const LABEL: &str = "app.kubernetes.io/managed-by";
/// Older knowledge of volumes than this is none.
const STALE: Duration = Duration::from_secs(120);

/// Secrets of a cluster.
#[derive(Debug)]
pub struct ClusterSecrets {
    kube: Kube,
    driver: String,
}

impl ClusterSecrets {
    /// Over a connection.
    #[must_use]
    pub fn new(kube: Kube, driver: &str) -> Self {
        Self {
            kube,
            driver: driver.to_owned(),
        }
    }

    async fn put(
        &self,
        at: &SecretName,
        (account, key): (&AccountName, &Secret),
    ) -> Result<(), KubeError> {
        let objects = Objects::new(self.kube.clone());
        let data = json!({
            ACCOUNT: STANDARD.encode(account.as_str()),
            KEY: STANDARD.encode(key.expose()),
        });
        let body = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {
                "name": at.name,
                "namespace": at.namespace,
                "labels": {LABEL: self.driver},
            },
            "data": data,
        });
        let space = Some(at.namespace.as_str());
        let made = objects.create(&SECRETS, space, &body, Effect::Real).await;
        match made {
            Ok(_) => return Ok(()),
            Err(KubeError::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
        let Some(there) = objects.get(&SECRETS, space, &at.name).await? else {
            return Ok(());
        };
        if !is_stale(&there, &self.driver, &data) {
            return Ok(());
        }
        let version = there.pointer("/metadata/resourceVersion").cloned();
        let patch = json!({"metadata": {"resourceVersion": version}, "data": data});
        let patched = objects.merge(&SECRETS, space, &at.name, &patch).await;
        match patched {
            // Somebody else was faster: what is there is newer than what was read.
            Ok(_) | Err(KubeError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Whether a Secret is the driver's own and holds something else than it should.
fn is_stale(there: &Value, driver: &str, data: &Value) -> bool {
    let label = LABEL.replace('/', "~1");
    let owner = there.pointer(&format!("/metadata/labels/{label}"));
    let ours = owner.and_then(Value::as_str) == Some(driver);
    let held = |key: &str| there.pointer(&format!("/data/{key}"));
    ours && (held(ACCOUNT) != data.get(ACCOUNT) || held(KEY) != data.get(KEY))
}

impl KeySecrets for ClusterSecrets {
    fn available(&self) -> bool {
        true
    }

    fn read<'a>(
        &'a self,
        _: &'a Op,
        at: &'a SecretName,
        account: &'a AccountName,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>> {
        Box::pin(async move {
            let what = format!("reading Secret {}/{}", at.namespace, at.name);
            let failed = |error| PortError::because(&*what, error);
            let one = |key| self.kube.secret(&at.namespace, &at.name, key);
            let named = one(ACCOUNT).await.map_err(failed)?;
            let same = named
                .is_some_and(|name| name.expose().trim().eq_ignore_ascii_case(account.as_str()));
            if !same {
                return Ok(None);
            }
            let key = one(KEY).await.map_err(failed)?;
            // Secrets made with a shell often end in a line feed.
            Ok(key.map(|key| Secret::new(key.expose().trim())))
        })
    }

    fn write<'a>(
        &'a self,
        _: &'a Op,
        at: &'a SecretName,
        key: (&'a AccountName, &'a Secret),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let what = format!("writing Secret {}/{}", at.namespace, at.name);
            self.put(at, key)
                .await
                .map_err(|error| PortError::because(what, error))
        })
    }
}

/// PersistentVolumes of a cluster.
#[derive(Debug)]
pub struct ClusterVolumes {
    followed: Watched<Handles>,
}

impl ClusterVolumes {
    /// Begins to follow them.
    #[must_use]
    pub fn start(kube: &Kube, driver: &str) -> Self {
        let driver = driver.to_owned();
        Self {
            followed: Watched::start(kube, move || Handles::of(&driver)),
        }
    }
}

impl Volumes for ClusterVolumes {
    fn others<'a>(&'a self, volume: &'a ShareHandle) -> BoxFuture<'a, Use> {
        let known = self.followed.read(STALE, |handles| {
            handles.all().any(|handle| shares(handle, volume))
        });
        Box::pin(async move {
            match known {
                None => Use::Unread,
                Some(true) => Use::Shared,
                Some(false) => Use::Alone,
            }
        })
    }
}

/// Whether another volume is in the same share. The group does not count: ids may leave it out, and
/// names of accounts are unique in the world.
fn shares(handle: &str, volume: &ShareHandle) -> bool {
    handle.parse::<ShareHandle>().is_ok_and(|other| {
        let (a, b) = (other.parts(), volume.parts());
        let beside = match (&a.directory, &b.directory) {
            (_, None) => true,
            // Whoever has the whole share, or another directory, loses nothing.
            (None, Some(_)) => false,
            (Some(theirs), Some(ours)) => is_within(theirs, ours),
        };
        a.account == b.account && a.share == b.share && beside && other != *volume
    })
}

/// Whether a directory is another one or below it; SMB ignores case.
fn is_within(path: &str, root: &str) -> bool {
    let (path, root) = (path.to_lowercase(), root.to_lowercase());
    let rest = path.strip_prefix(&root);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_stale, shares};

    #[test]
    fn only_secrets_of_ones_own_are_brought_up_to_date_pr_28() {
        let data = json!({"azurestorageaccountname": "YQ==", "azurestorageaccountkey": "Yg=="});
        let secret = |driver: &str, key: &str| {
            json!({
                "metadata": {"labels": {"app.kubernetes.io/managed-by": driver}},
                "data": {"azurestorageaccountname": "YQ==", "azurestorageaccountkey": key},
            })
        };
        assert!(is_stale(&secret("d", "b2xk"), "d", &data));
        assert!(!is_stale(&secret("d", "Yg=="), "d", &data));
        assert!(!is_stale(&secret("other", "b2xk"), "d", &data));
        assert!(!is_stale(&json!({"data": {}}), "d", &data));
    }

    #[test]
    fn another_id_in_the_same_share_is_another_volume() {
        let volume = "rg#acct#common##pvc-1#ns".parse().unwrap();
        for (other, same) in [
            ("rg#acct#common##pvc-2#ns", true),
            ("#acct#common#pv-3#ns", true),
            ("RG#ACCT#common##pvc-1#ns", false),
            ("rg#acct#other##pvc-2#ns", false),
            ("rg#acct2#common##pvc-2#ns", false),
            ("rg#acct#common/d/pvc-2##pvc-2#ns", true),
            ("nothing", false),
        ] {
            assert_eq!(shares(other, &volume), same, "{other}");
        }
        let directory = "rg#acct#common/d/pvc-1##pvc-1#ns".parse().unwrap();
        for (other, same) in [
            ("rg#acct#common/d/pvc-1/x##pv-2#ns", true),
            ("#acct#common/D/PVC-1", true),
            ("rg#acct#common/d/pvc-10##pvc-10#ns", false),
            ("rg#acct#common/d##pvc-3#ns", false),
            ("rg#acct#common##pvc-4#ns", false),
        ] {
            assert_eq!(shares(other, &directory), same, "{other}");
        }
    }
}
