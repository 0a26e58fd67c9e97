//! Whole objects as JSON, for tools that must keep what they do not know.
//!
//! The drivers decode what they use and nothing else. A tool that deletes an object and makes it
//! again cannot: every field of it counts.

use http::{Method, Request, header};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{Kube, Write, escaped, request};
use crate::error::KubeError;
use crate::watch::PAGE;

/// Where objects of one resource live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// `v1`, or `group/v1`.
    pub api_version: &'static str,
    /// The name in URLs.
    pub plural: &'static str,
    /// The name in objects.
    pub kind: &'static str,
}

impl Collection {
    /// The path of all objects, in one namespace or in all.
    #[must_use]
    pub fn path(&self, namespace: Option<&str>) -> String {
        let root = match self.api_version.split_once('/') {
            None => format!("/api/{}", self.api_version),
            Some(_) => format!("/apis/{}", self.api_version),
        };
        match namespace {
            None => format!("{root}/{}", self.plural),
            Some(namespace) => format!("{root}/namespaces/{}/{}", escaped(namespace), self.plural),
        }
    }

    fn object(&self, namespace: Option<&str>, name: &str) -> String {
        format!("{}/{}", self.path(namespace), escaped(name))
    }
}

/// Whether a write is to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is.
    Real,
    /// The server only says whether it would take it (`dryRun=All`).
    Dry,
}

/// What must still be true of an object when it is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precondition<'a> {
    /// Its unique id.
    pub uid: &'a str,
    /// Its version.
    pub resource_version: &'a str,
}

/// Reads and writes whole objects.
#[derive(Clone, Debug)]
pub struct Objects {
    kube: Kube,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default)]
    items: Vec<Value>,
}

#[derive(Default, Deserialize)]
struct ListMeta {
    r#continue: Option<String>,
}

impl Objects {
    /// Over a connection.
    #[must_use]
    pub const fn new(kube: Kube) -> Self {
        Self { kube }
    }

    /// The connection.
    #[must_use]
    pub const fn kube(&self) -> &Kube {
        &self.kube
    }

    /// All objects, page by page, each given to `take`. Objects of a list lack kind and version; they
    /// are put in.
    ///
    /// # Errors
    /// The list cannot be read.
    pub async fn each(
        &self,
        of: &Collection,
        namespace: Option<&str>,
        mut take: impl FnMut(Value),
    ) -> Result<(), KubeError> {
        let what = format!("list {}", of.plural);
        let mut token = String::new();
        loop {
            let path = format!("{}?limit={PAGE}{token}", of.path(namespace));
            let page: List = self.kube.get(&what, &path).await?;
            for mut item in page.items {
                item["apiVersion"] = json!(of.api_version);
                item["kind"] = json!(of.kind);
                take(item);
            }
            match page.metadata.r#continue.as_deref() {
                None | Some("") => return Ok(()),
                Some(next) => token = format!("&continue={}", escaped(next)),
            }
        }
    }

    /// One object; `None` when it does not exist.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn get(
        &self,
        of: &Collection,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, KubeError> {
        let what = format!("get {} {name}", of.kind);
        match self.kube.get(&what, &of.object(namespace, name)).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes an object.
    ///
    /// # Errors
    /// [`KubeError::Conflict`] when it exists; otherwise as the server refuses it.
    pub async fn create(
        &self,
        of: &Collection,
        namespace: Option<&str>,
        body: &Value,
        effect: Effect,
    ) -> Result<Value, KubeError> {
        let name = body.pointer("/metadata/name").and_then(Value::as_str);
        let what = format!("create {} {}", of.kind, name.unwrap_or_default());
        let dry = match effect {
            Effect::Real => "",
            Effect::Dry => "?dryRun=All",
        };
        let path = format!("{}{dry}", of.path(namespace));
        self.kube.write(&what, &path, Write::Create(body)).await
    }

    /// Puts an object in place of the one whose version it carries.
    ///
    /// # Errors
    /// [`KubeError::Conflict`] when the version is not the newest.
    pub async fn replace(
        &self,
        of: &Collection,
        namespace: Option<&str>,
        body: &Value,
    ) -> Result<Value, KubeError> {
        let name = body.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        let what = format!("write {} {name}", of.kind);
        let mut request = request(&what, Method::PUT, &of.object(namespace, name), None)?;
        put_json(&mut request, body);
        self.kube.send(&what, request).await
    }

    /// Changes members of an object (RFC 7386). A `metadata.resourceVersion` in the patch is a
    /// precondition.
    ///
    /// # Errors
    /// [`KubeError::Conflict`] when that version is not the newest.
    pub async fn merge(
        &self,
        of: &Collection,
        namespace: Option<&str>,
        name: &str,
        patch: &Value,
    ) -> Result<Value, KubeError> {
        let what = format!("patch {} {name}", of.kind);
        let path = of.object(namespace, name);
        self.kube
            .write(&what, &path, Write::MergePatch(patch))
            .await
    }

    /// Deletes an object; gone already is fine. With finalizers it stays until they are gone.
    ///
    /// # Errors
    /// [`KubeError::Conflict`] when it is another object or was changed.
    pub async fn delete(
        &self,
        of: &Collection,
        namespace: Option<&str>,
        name: &str,
        unchanged: Precondition<'_>,
    ) -> Result<(), KubeError> {
        let what = format!("delete {} {name}", of.kind);
        let path = of.object(namespace, name);
        let mut request = request(&what, Method::DELETE, &path, None)?;
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "preconditions": {
                "uid": unchanged.uid, "resourceVersion": unchanged.resource_version,
            },
        });
        put_json(&mut request, &options);
        match self.kube.send::<Value>(&what, request).await {
            Err(error) if error.is_not_found() => Ok(()),
            other => other.map(|_| ()),
        }
    }
}

fn put_json(request: &mut Request<Vec<u8>>, body: &Value) {
    let kind = header::HeaderValue::from_static("application/json");
    request.headers_mut().insert(header::CONTENT_TYPE, kind);
    *request.body_mut() = body.to_string().into_bytes();
}

#[cfg(test)]
mod tests;
