//! A CSI source of the file driver as an azureFile source.

use serde_json::{Value, json};

use super::{DEFAULT_NAMESPACE, RESOURCE_GROUP};
use crate::error::TranslateError;
use crate::fields::{Node, Object, child_mut, lowered, with_source};
use crate::handle::{self, FileHandle};
use crate::mode::Mode;
use crate::registry::Plugin;

pub(crate) fn volume(mode: Mode, pv: &Value) -> Result<Value, TranslateError> {
    let document = Node::document(pv, "pv")?;
    let csi = document.child("spec")?.child("csi")?;
    let annotations = document.child("metadata")?.child("annotations")?;
    annotations.strings()?;
    csi.text("fsType")?;
    let mut found = Found::read(mode, csi)?;
    if mode == Mode::Strict {
        refuse_losses(csi)?;
    }
    found.complete(mode, csi.text_or_empty("volumeHandle")?)?;
    let mut source = Object::new();
    source.insert("secretName".to_owned(), json!(found.secret));
    source.insert("shareName".to_owned(), json!(found.share));
    if csi.flag("readOnly")? == Some(true) {
        source.insert("readOnly".to_owned(), json!(true));
    }
    let namespace = found.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    source.insert("secretNamespace".to_owned(), json!(namespace));
    let mut copy = with_source(pv, "csi", Plugin::AzureFile.source_field(), source);
    if !found.resource_group.is_empty() {
        annotate(&mut copy, &found.resource_group);
    }
    Ok(copy)
}

fn annotate(pv: &mut Value, resource_group: &str) {
    let annotations = pv
        .as_object_mut()
        .and_then(|pv| child_mut(pv, "metadata"))
        .and_then(|metadata| child_mut(metadata, "annotations"));
    if let Some(annotations) = annotations {
        annotations.insert(RESOURCE_GROUP.to_owned(), json!(resource_group));
    }
}

/// What the in-tree source needs.
#[derive(Default)]
struct Found {
    share: String,
    secret: String,
    namespace: Option<String>,
    resource_group: String,
}

impl Found {
    /// From the attributes and the secret of the stage call, which wins.
    fn read(mode: Mode, csi: Node<'_>) -> Result<Self, TranslateError> {
        let (mut share, mut secret, mut namespace) = (None, None, None);
        for (key, value) in csi.child("volumeAttributes")?.strings()? {
            let lower = lowered(key);
            let slot = match lower.as_str() {
                "sharename" => &mut share,
                "secretname" => &mut secret,
                "secretnamespace" => &mut namespace,
                _ => continue,
            };
            if mode == Mode::Strict && slot.is_some_and(|before| before != value) {
                return Err(TranslateError::CaseDuplicate(lower));
            }
            *slot = Some(value);
        }
        let reference = csi.child("nodeStageSecretRef")?;
        let name = reference.text_or_empty("name")?;
        let place = reference.text_or_empty("namespace")?;
        if !name.is_empty() {
            secret = Some(name);
            if mode == Mode::Compat || !place.is_empty() {
                namespace = Some(place);
            }
        }
        if mode == Mode::Strict {
            namespace = namespace.filter(|namespace| !namespace.is_empty());
        }
        Ok(Self {
            share: share.unwrap_or_default().to_owned(),
            secret: secret.unwrap_or_default().to_owned(),
            namespace: namespace.map(str::to_owned),
            resource_group: String::new(),
        })
    }

    /// From the handle, what is still missing.
    fn complete(&mut self, mode: Mode, handle: &str) -> Result<(), TranslateError> {
        let missing = self.share.is_empty() || self.secret.is_empty();
        match FileHandle::parse(handle) {
            Ok(parsed) if missing || mode == Mode::Strict => self.fill(mode, &parsed),
            Err(error) if missing => return Err(error),
            _ => {}
        }
        match mode {
            Mode::Strict if self.share.is_empty() => Err(TranslateError::Empty("shareName")),
            _ => Ok(()),
        }
    }

    fn fill(&mut self, mode: Mode, handle: &FileHandle<'_>) {
        if self.share.is_empty() {
            handle.share.clone_into(&mut self.share);
        }
        if self.secret.is_empty() && (mode == Mode::Compat || !handle.account.is_empty()) {
            self.secret = handle::secret_of_account(handle.account);
        }
        handle.resource_group.clone_into(&mut self.resource_group);
        if mode == Mode::Strict && self.namespace.is_none() && !handle.namespace.is_empty() {
            self.namespace = Some(handle.namespace.to_owned());
        }
    }
}

/// What makes a share more than a plain SMB mount has no place in an in-tree source.
fn refuse_losses(csi: Node<'_>) -> Result<(), TranslateError> {
    let lost = |what: &str| Err(TranslateError::Lost(what.to_owned()));
    for (key, value) in csi.child("volumeAttributes")?.strings()? {
        match lowered(key).as_str() {
            "protocol" if !value.is_empty() && !value.eq_ignore_ascii_case("smb") => {
                return lost(&format!("the protocol {value:?}"));
            }
            "fstype" if value.eq_ignore_ascii_case("nfs") => return lost("an NFS share"),
            key @ ("diskname" | "foldername" | "server") if !value.is_empty() => {
                return lost(&format!("the attribute {key}"));
            }
            _ => {}
        }
    }
    match FileHandle::parse(csi.text_or_empty("volumeHandle")?) {
        Ok(handle) if !handle.disk.is_empty() => lost("a disk image on a share"),
        _ => Ok(()),
    }
}
