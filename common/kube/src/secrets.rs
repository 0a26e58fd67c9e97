//! One key of a Secret.

use std::collections::BTreeMap;

use azcsi_types::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::client::{Kube, escaped};
use crate::error::KubeError;

#[derive(Deserialize)]
struct SecretObject {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

impl Kube {
    /// Reads one key of a Secret; `None` if the Secret or the key does not exist.
    ///
    /// # Errors
    /// If it cannot be read, or the value is no UTF-8 text. No error shows the value.
    pub async fn secret(
        &self,
        namespace: &str,
        name: &str,
        key: &str,
    ) -> Result<Option<Secret>, KubeError> {
        let what = format!("get Secret {namespace}/{name}");
        let path = format!(
            "/api/v1/namespaces/{}/secrets/{}",
            escaped(namespace),
            escaped(name)
        );
        let object: SecretObject = match self.get(&what, &path).await {
            Ok(object) => object,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(value) = object.data.get(key) else {
            return Ok(None);
        };
        let bad = |reason: &str| KubeError::Malformed {
            what: what.clone(),
            reason: format!("the value of '{key}' is not {reason}"),
        };
        let bytes = STANDARD.decode(value).map_err(|_| bad("base64"))?;
        let text = String::from_utf8(bytes).map_err(|_| bad("UTF-8 text"))?;
        Ok(Some(Secret::new(text)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::error::KubeError;
    use crate::testing::{Server, answer};

    #[tokio::test]
    async fn a_key_is_decoded_and_absence_is_no_error() {
        let server = Server::new(|request| match request.uri().path() {
            "/api/v1/namespaces/kube-system/secrets/s" => {
                let data = json!({"cloud-config": "e30=", "binary": "/w==", "odd": "!"});
                answer(
                    200,
                    &json!({"kind": "Secret", "metadata": {"name": "s"}, "data": data}),
                )
            }
            "/api/v1/namespaces/kube-system/secrets/forbidden" => answer(
                403,
                &json!({"kind": "Status", "code": 403, "reason": "Forbidden"}),
            ),
            _ => answer(
                404,
                &json!({"kind": "Status", "code": 404, "reason": "NotFound"}),
            ),
        });
        let kube = server.kube();
        let read = async |name, key| kube.secret("kube-system", name, key).await;
        assert_eq!(
            read("s", "cloud-config").await.unwrap().unwrap().expose(),
            "{}"
        );
        assert!(read("s", "other").await.unwrap().is_none());
        assert!(read("gone", "cloud-config").await.unwrap().is_none());
        for (name, key) in [("s", "binary"), ("s", "odd")] {
            let error = read(name, key).await.unwrap_err();
            assert!(matches!(error, KubeError::Malformed { .. }), "{error}");
        }
        let denied = read("forbidden", "x").await.unwrap_err();
        assert!(matches!(denied, KubeError::Denied { .. }), "{denied}");
    }
}
