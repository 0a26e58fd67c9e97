//! Whether somebody may do something (SubjectAccessReview of `authorization.k8s.io/v1`).

use serde::Deserialize;
use serde_json::json;

use crate::client::{Kube, Write};
use crate::error::KubeError;

#[derive(Deserialize)]
struct Review {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    allowed: bool,
}

impl Kube {
    /// Whether a service account, given by namespace and name, may get a Secret.
    ///
    /// # Errors
    /// If that cannot be asked.
    pub async fn may_get_secret(
        &self,
        (namespace, account): (&str, &str),
        (secret_namespace, secret): (&str, &str),
    ) -> Result<bool, KubeError> {
        let what = format!("review the access to Secret {secret_namespace}/{secret}");
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": format!("system:serviceaccount:{namespace}:{account}"),
                "groups": [
                    "system:serviceaccounts",
                    format!("system:serviceaccounts:{namespace}"),
                    "system:authenticated",
                ],
                "resourceAttributes": {
                    "namespace": secret_namespace,
                    "verb": "get",
                    "resource": "secrets",
                    "name": secret,
                },
            },
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let review: Review = self.write(&what, path, Write::Create(&body)).await?;
        Ok(review.status.allowed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{Server, answer};

    #[tokio::test]
    async fn only_a_yes_is_a_yes() {
        for (status, expected) in [
            (json!({"allowed": true}), true),
            (json!({"allowed": false}), false),
            (json!({}), false),
        ] {
            let server = Server::new(move |request| {
                assert_eq!(
                    request.uri().path(),
                    "/apis/authorization.k8s.io/v1/subjectaccessreviews"
                );
                answer(
                    201,
                    &json!({"kind": "SubjectAccessReview", "status": status}),
                )
            });
            let kube = server.kube();
            let may = kube.may_get_secret(("n", "robot"), ("n", "s")).await;
            assert_eq!(may.unwrap(), expected);
        }
    }
}
