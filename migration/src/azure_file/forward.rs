//! An azureFile source as a CSI source.

use serde_json::{Value, json};

use super::{DEFAULT_NAMESPACE, RESOURCE_GROUP};
use crate::error::TranslateError;
use crate::fields::{Node, Object, with_source};
use crate::handle;
use crate::inline::Inline;
use crate::mode::Mode;
use crate::registry::Plugin;

/// The parts of the handle that do not come from the source.
struct Context<'a> {
    resource_group: &'a str,
    /// Name of the PersistentVolume, or of the volume in its pod.
    name: &'a str,
    namespace: &'a str,
}

pub(crate) fn volume(mode: Mode, pv: &Value) -> Result<Value, TranslateError> {
    let document = Node::document(pv, "pv")?;
    let (metadata, spec) = (document.child("metadata")?, document.child("spec")?);
    let field = Plugin::AzureFile.source_field();
    let source = spec.child(field)?;
    let claim = spec.child("claimRef")?.text_or_empty("namespace")?;
    let namespace = source.text("secretNamespace")?.unwrap_or(claim);
    if namespace.is_empty() {
        return Err(TranslateError::SecretNamespaceMissing);
    }
    let context = Context {
        resource_group: metadata
            .child("annotations")?
            .text_or_empty(RESOURCE_GROUP)?,
        name: metadata.text_or_empty("name")?,
        namespace,
    };
    let csi = csi(mode, source, &context)?.0;
    Ok(with_source(pv, field, "csi", csi))
}

pub(crate) fn inline(
    mode: Mode,
    holder: Node<'_>,
    pod_namespace: &str,
) -> Result<Inline, TranslateError> {
    let namespace = match pod_namespace {
        "" => DEFAULT_NAMESPACE,
        given => given,
    };
    let context = Context {
        resource_group: "",
        name: holder.text_or_empty("name")?,
        namespace,
    };
    let source = holder.child(Plugin::AzureFile.source_field())?;
    let (csi, name) = csi(mode, source, &context)?;
    Ok(Inline {
        name,
        csi,
        access_mode: "ReadWriteMany",
    })
}

fn csi(
    mode: Mode,
    source: Node<'_>,
    context: &Context<'_>,
) -> Result<(Object, String), TranslateError> {
    let secret = source.text_or_empty("secretName")?;
    let share = source.text_or_empty("shareName")?;
    let account = handle::account_of_secret(secret);
    let parts = [
        ("resource group", context.resource_group),
        ("secretName", account),
        ("shareName", share),
        ("name", context.name),
        ("namespace", context.namespace),
    ];
    if mode == Mode::Strict {
        check(secret, share, &parts)?;
    }
    let handle = parts.map(|(_, part)| part).join("#");
    let mut reference = Object::new();
    for (key, value) in [("name", secret), ("namespace", context.namespace)] {
        if !value.is_empty() {
            reference.insert(key.to_owned(), json!(value));
        }
    }
    let mut csi = Object::new();
    csi.insert("driver".to_owned(), json!(Plugin::AzureFile.driver()));
    csi.insert("volumeHandle".to_owned(), json!(handle));
    csi.insert("nodeStageSecretRef".to_owned(), Value::Object(reference));
    csi.insert("volumeAttributes".to_owned(), json!({"sharename": share}));
    if source.flag("readOnly")? == Some(true) {
        csi.insert("readOnly".to_owned(), json!(true));
    }
    Ok((csi, handle))
}

fn check(secret: &str, share: &str, parts: &[(&'static str, &str)]) -> Result<(), TranslateError> {
    if secret.is_empty() {
        return Err(TranslateError::Empty("secretName"));
    }
    if share.is_empty() {
        return Err(TranslateError::Empty("shareName"));
    }
    match parts.iter().find(|(_, part)| part.contains('#')) {
        None => Ok(()),
        Some((field, value)) => Err(TranslateError::SeparatorInside {
            field,
            value: (*value).to_owned(),
        }),
    }
}
