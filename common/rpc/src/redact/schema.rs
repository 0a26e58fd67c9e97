//! Names and types of the compiled `csi.proto`, by message and field number.

use std::collections::HashMap;
use std::sync::LazyLock;

use prost::Message as _;
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};

/// A pure table, made once from the descriptor that is compiled in.
pub(super) static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::load);

#[derive(Debug, Default)]
pub(super) struct Schema {
    messages: HashMap<String, HashMap<u32, Field>>,
    enums: HashMap<String, HashMap<i64, String>>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) hidden: bool,
}

#[derive(Debug)]
pub(super) enum Kind {
    Text,
    Bool,
    Integer,
    /// A map from text to text.
    Map,
    Enum(String),
    Message(String),
    /// Not used by CSI; never shown.
    Other,
}

impl Schema {
    fn load() -> Self {
        let mut schema = Self::default();
        // The bytes come from our own build; if they did not parse, no message would be shown.
        let set = FileDescriptorSet::decode(azcsi_proto::DESCRIPTOR_SET).unwrap_or_default();
        for file in &set.file {
            let prefix = match file.package() {
                "csi.v1" => String::new(),
                package => format!("{package}."),
            };
            file.message_type
                .iter()
                .for_each(|message| schema.add_message(&prefix, message));
            file.enum_type
                .iter()
                .for_each(|values| schema.add_enum(&prefix, values));
        }
        schema
    }

    /// The fields of a message by number.
    pub(super) fn message(&self, name: &str) -> Option<&HashMap<u32, Field>> {
        self.messages.get(name)
    }

    /// The name of an enum's value.
    pub(super) fn value(&self, name: &str, number: i64) -> Option<&str> {
        self.enums.get(name)?.get(&number).map(String::as_str)
    }

    fn add_message(&mut self, prefix: &str, message: &DescriptorProto) {
        let name = format!("{prefix}{}", message.name());
        let fields = message.field.iter().filter_map(|field| {
            let number = u32::try_from(field.number()).ok()?;
            Some((number, Field::new(&name, message, field)))
        });
        let fields = fields.collect();
        let inside = format!("{name}.");
        message
            .nested_type
            .iter()
            .for_each(|nested| self.add_message(&inside, nested));
        message
            .enum_type
            .iter()
            .for_each(|values| self.add_enum(&inside, values));
        self.messages.insert(name, fields);
    }

    fn add_enum(&mut self, prefix: &str, values: &EnumDescriptorProto) {
        let names = values.value.iter();
        let names = names.map(|value| (i64::from(value.number()), value.name().to_owned()));
        self.enums
            .insert(format!("{prefix}{}", values.name()), names.collect());
    }
}

impl Field {
    fn new(owner: &str, message: &DescriptorProto, field: &FieldDescriptorProto) -> Self {
        Self {
            name: field.name().to_owned(),
            kind: kind(message, field),
            hidden: super::is_hidden(owner, field.name()),
        }
    }
}

fn kind(message: &DescriptorProto, field: &FieldDescriptorProto) -> Kind {
    let full = field.type_name().trim_start_matches('.');
    let name = full.strip_prefix("csi.v1.").unwrap_or(full).to_owned();
    match field.r#type() {
        Type::String => Kind::Text,
        Type::Bool => Kind::Bool,
        Type::Int32 | Type::Int64 | Type::Uint32 | Type::Uint64 => Kind::Integer,
        Type::Enum => Kind::Enum(name),
        Type::Message => match map_entry(message, &name) {
            Some(true) => Kind::Map,
            Some(false) => Kind::Other,
            None => Kind::Message(name),
        },
        _ => Kind::Other,
    }
}

/// Whether the field is a map; if so, whether it is one from text to text.
fn map_entry(message: &DescriptorProto, type_name: &str) -> Option<bool> {
    let last = type_name.rsplit('.').next()?;
    let entry = message.nested_type.iter().find(|nested| {
        nested.name() == last
            && nested
                .options
                .as_ref()
                .is_some_and(|options| options.map_entry())
    })?;
    Some(
        entry
            .field
            .iter()
            .all(|field| field.r#type() == Type::String),
    )
}
