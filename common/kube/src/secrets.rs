//! One key of a Secret, or all of them.

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
        let object = self.secret_object(&what, namespace, name).await?;
        let value = object.as_ref().and_then(|object| object.data.get(key));
        value.map(|value| decode(&what, key, value)).transpose()
    }

    /// Reads all keys of a Secret whose values are text; `None` if the Secret does not exist.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn secret_texts(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, Secret>>, KubeError> {
        let what = format!("get Secret {namespace}/{name}");
        let object = self.secret_object(&what, namespace, name).await?;
        let text =
            |(key, value): (&String, &String)| Some((key.clone(), decode(&what, key, value).ok()?));
        Ok(object.map(|object| object.data.iter().filter_map(text).collect()))
    }

    async fn secret_object(
        &self,
        what: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<SecretObject>, KubeError> {
        let path = format!(
            "/api/v1/namespaces/{}/secrets/{}",
            escaped(namespace),
            escaped(name)
        );
        match self.get(what, &path).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn decode(what: &str, key: &str, value: &str) -> Result<Secret, KubeError> {
    let bad = |reason: &str| KubeError::Malformed {
        what: what.to_owned(),
        reason: format!("the value of '{key}' is not {reason}"),
    };
    let bytes = STANDARD.decode(value).map_err(|_| bad("base64"))?;
    let text = String::from_utf8(bytes).map_err(|_| bad("UTF-8 text"))?;
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::error::KubeError;
    use crate::testing::{Server, answer};

    #[tokio::test]
    async fn all_texts_are_read_at_once() {
        let data = json!({"accountname": "YQ==", "binary": "/w=="});
        let body = json!({"kind": "Secret", "metadata": {"name": "s"}, "data": data});
        let server = Server::new(move |request| match request.uri().path() {
            "/api/v1/namespaces/n/secrets/s" => answer(200, &body),
            _ => answer(
                404,
                &json!({"kind": "Status", "code": 404, "reason": "NotFound"}),
            ),
        });
        let kube = server.kube();
        let texts = kube.secret_texts("n", "s").await.unwrap().unwrap();
        assert_eq!(texts.len(), 1);
        assert_eq!(texts["accountname"].expose(), "a");
        assert_eq!(kube.secret_texts("n", "t").await.unwrap(), None);
    }

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
