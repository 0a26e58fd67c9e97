//! A CSI source of the disk driver as an azureDisk source.

use serde_json::{Value, json};

use crate::error::TranslateError;
use crate::fields::{Node, Object, lowered, with_source};
use crate::handle;
use crate::mode::Mode;
use crate::registry::Plugin;

pub(crate) fn volume(mode: Mode, pv: &Value) -> Result<Value, TranslateError> {
    let csi = Node::document(pv, "pv")?.child("spec")?.child("csi")?;
    let uri = csi.text_or_empty("volumeHandle")?;
    let attributes = Attributes::read(mode, csi.child("volumeAttributes")?)?;
    let name = match mode {
        Mode::Compat => handle::disk_name(uri)?,
        Mode::Strict => handle::DiskId::parse(uri)?.name,
    };
    let of_source = csi.text_or_empty("fsType")?;
    let fs_type = match attributes.fs_type {
        "" => of_source,
        given => given,
    };
    let mut source = Object::new();
    source.insert("diskName".to_owned(), json!(name));
    source.insert("diskURI".to_owned(), json!(uri));
    source.insert("kind".to_owned(), json!("Managed"));
    source.insert("fsType".to_owned(), json!(fs_type));
    source.insert(
        "readOnly".to_owned(),
        json!(csi.flag("readOnly")?.unwrap_or(false)),
    );
    let caching = match (mode, attributes.caching) {
        // Stored without a mode, the volume would get the API server's default, ReadWrite.
        (Mode::Strict, "") => "ReadOnly",
        (_, given) => given,
    };
    if !caching.is_empty() {
        source.insert("cachingMode".to_owned(), json!(caching));
    }
    let field = Plugin::AzureDisk.source_field();
    Ok(with_source(pv, "csi", field, source))
}

#[derive(Default)]
struct Attributes<'a> {
    caching: &'a str,
    fs_type: &'a str,
}

impl<'a> Attributes<'a> {
    fn read(mode: Mode, node: Node<'a>) -> Result<Self, TranslateError> {
        let (mut caching, mut fs_type) = (None, None);
        for (key, value) in node.strings()? {
            let lower = lowered(key);
            let slot = match lower.as_str() {
                "cachingmode" => &mut caching,
                "fstype" => &mut fs_type,
                _ => continue,
            };
            // Upstream takes the entries of such a pair by chance; here the order of keys decides.
            if mode == Mode::Strict && slot.is_some_and(|before| before != value) {
                return Err(TranslateError::CaseDuplicate(lower));
            }
            *slot = Some(value);
        }
        Ok(Self {
            caching: caching.unwrap_or_default(),
            fs_type: fs_type.unwrap_or_default(),
        })
    }
}
