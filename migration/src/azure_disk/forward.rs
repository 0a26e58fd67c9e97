//! An azureDisk source as a CSI source.

use serde_json::{Value, json};

use crate::error::TranslateError;
use crate::fields::{Node, Object, with_source};
use crate::handle;
use crate::inline::Inline;
use crate::mode::Mode;
use crate::registry::Plugin;
use crate::topology;

/// Where the source stands. The two paths treat an empty caching mode differently.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Volume,
    Inline,
}

pub(crate) fn volume(mode: Mode, pv: &Value) -> Result<Value, TranslateError> {
    let field = Plugin::AzureDisk.source_field();
    let source = Node::document(pv, "pv")?.child("spec")?.child(field)?;
    let csi = csi(mode, source, Place::Volume)?;
    let translated = with_source(pv, field, "csi", csi);
    match mode {
        Mode::Compat => Ok(translated),
        Mode::Strict => topology::disk::rewritten(&translated),
    }
}

pub(crate) fn inline(mode: Mode, holder: Node<'_>) -> Result<Inline, TranslateError> {
    let source = holder.child(Plugin::AzureDisk.source_field())?;
    Ok(Inline {
        name: source.text_or_empty("diskURI")?.to_owned(),
        csi: csi(mode, source, Place::Inline)?,
        access_mode: "ReadWriteOnce",
    })
}

fn csi(mode: Mode, source: Node<'_>, place: Place) -> Result<Object, TranslateError> {
    let uri = source.text_or_empty("diskURI")?;
    check_kind(source.text("kind")?)?;
    if mode == Mode::Strict {
        check_uri(uri)?;
    }
    source.text("diskName")?;
    let mut attributes = Object::new();
    attributes.insert("kind".to_owned(), json!("Managed"));
    if let Some(caching) = source.text("cachingMode")?
        && (place == Place::Volume || !caching.is_empty())
    {
        attributes.insert("cachingmode".to_owned(), json!(caching));
    }
    let mut csi = Object::new();
    csi.insert("driver".to_owned(), json!(Plugin::AzureDisk.driver()));
    csi.insert("volumeHandle".to_owned(), json!(uri));
    if let Some(fs_type) = source.text("fsType")? {
        attributes.insert("fstype".to_owned(), json!(fs_type));
        if !fs_type.is_empty() {
            csi.insert("fsType".to_owned(), json!(fs_type));
        }
    }
    if source.flag("readOnly")? == Some(true) {
        csi.insert("readOnly".to_owned(), json!(true));
    }
    csi.insert("volumeAttributes".to_owned(), Value::Object(attributes));
    Ok(csi)
}

fn check_kind(kind: Option<&str>) -> Result<(), TranslateError> {
    match kind {
        Some(kind) if !kind.eq_ignore_ascii_case("Managed") => {
            Err(TranslateError::UnsupportedKind(kind.to_owned()))
        }
        _ => Ok(()),
    }
}

fn check_uri(uri: &str) -> Result<(), TranslateError> {
    if uri.is_empty() {
        return Err(TranslateError::Empty("diskURI"));
    }
    if handle::is_blob(uri) {
        return Err(TranslateError::UnsupportedKind(format!("a blob: {uri}")));
    }
    handle::DiskId::parse(uri).map(|_| ())
}
