//! PersistentVolumeClaims: only their unique ids, for events about them.

use serde::Deserialize;

use crate::client::{Kube, escaped};
use crate::error::KubeError;
use crate::watch::Meta;

#[derive(Debug, Deserialize)]
struct Claim {
    metadata: Meta,
}

impl Kube {
    /// The unique id of a claim.
    ///
    /// # Errors
    /// [`KubeError::NotFound`] if there is none of that name; others when it cannot be read.
    pub async fn claim_uid(&self, namespace: &str, name: &str) -> Result<String, KubeError> {
        let path = format!(
            "/api/v1/namespaces/{}/persistentvolumeclaims/{}",
            escaped(namespace),
            escaped(name)
        );
        let what = format!("get PersistentVolumeClaim {namespace}/{name}");
        let found: Claim = self.get(&what, &path).await?;
        Ok(found.metadata.uid.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{Server, answer};

    #[tokio::test]
    async fn the_id_of_a_claim_is_read() {
        let server = Server::new(|request| match request.uri().path() {
            "/api/v1/namespaces/app/persistentvolumeclaims/data" => {
                answer(200, &json!({"metadata": {"name": "data", "uid": "u1"}}))
            }
            _ => answer(404, &json!({"kind": "Status", "code": 404})),
        });
        let kube = server.kube();
        assert_eq!(kube.claim_uid("app", "data").await.unwrap(), "u1");
        assert!(kube.claim_uid("app", "x").await.unwrap_err().is_not_found());
    }
}
