//! Compares the compiled `csi.proto` with the published facts of CSI 1.13, in both directions.
//!
//! `csi-1.13-descriptor.tsv` lists what the published interface holds. Rows of kind `alpha` and the
//! notes `alpha` and `secret` are options without effect on the wire, which our text drops; the
//! secret fields are compared with the redaction table in `azcsi-rpc`.

#![cfg(test)]

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet, ServiceDescriptorProto,
};

const FACTS: &str = include_str!("../csi-1.13-descriptor.tsv");
const PACKAGE: &str = ".csi.v1.";

/// One fact: kind, owner, name, number or request, type or response, label, and the oneof.
type Fact = [String; 7];

#[test]
fn every_fact_is_in_the_proto_and_nothing_else_is() {
    let published = published();
    let ours = ours();
    let missing: Vec<_> = published.difference(&ours).collect();
    let extra: Vec<_> = ours.difference(&published).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "missing: {missing:#?}\nextra: {extra:#?}"
    );
}

#[test]
fn the_table_is_complete() {
    let count = |kind: &str| published().iter().filter(|fact| fact[0] == kind).count();
    let counts = ["method", "field", "enum", "message", "reserved"].map(count);
    assert_eq!(counts, [36, 216, 57, 17, 5]);
}

#[test]
fn the_file_is_proto3_in_package_csi_v1() {
    let file = file();
    assert_eq!(file.syntax(), "proto3");
    assert_eq!(file.package(), "csi.v1");
    assert!(file.extension.is_empty());
}

fn published() -> BTreeSet<Fact> {
    let rows = FACTS
        .lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with("alpha\t"));
    rows.map(|line| {
        let mut columns: Fact = Default::default();
        for (column, text) in columns.iter_mut().zip(line.split('\t')) {
            *column = text.to_owned();
        }
        let oneof = columns[6]
            .split(' ')
            .find(|note| note.starts_with("oneof:"));
        columns[6] = oneof.unwrap_or_default().to_owned();
        columns
    })
    .collect()
}

fn file() -> FileDescriptorProto {
    let set = FileDescriptorSet::decode(azcsi_proto::DESCRIPTOR_SET).unwrap();
    set.file
        .into_iter()
        .find(|file| file.name() == "csi.proto")
        .unwrap()
}

fn ours() -> BTreeSet<Fact> {
    let file = file();
    let mut facts = BTreeSet::new();
    file.service
        .iter()
        .for_each(|service| add_service(&mut facts, service));
    file.message_type
        .iter()
        .for_each(|message| add_message(&mut facts, "", message));
    file.enum_type
        .iter()
        .for_each(|values| add_enum(&mut facts, "", values));
    facts
}

fn fact<const N: usize>(columns: [&str; N]) -> Fact {
    let mut fact: Fact = Default::default();
    for (to, from) in fact.iter_mut().zip(columns) {
        from.clone_into(to);
    }
    fact
}

fn local(name: &str) -> &str {
    name.strip_prefix(PACKAGE)
        .unwrap_or(name)
        .trim_start_matches('.')
}

fn add_service(facts: &mut BTreeSet<Fact>, service: &ServiceDescriptorProto) {
    for method in &service.method {
        let kind = match (method.client_streaming(), method.server_streaming()) {
            (false, false) => "unary",
            (false, true) => "server_stream",
            (true, false) => "client_stream",
            (true, true) => "both_stream",
        };
        let (input, output) = (local(method.input_type()), local(method.output_type()));
        facts.insert(fact([
            "method",
            service.name(),
            method.name(),
            input,
            output,
            kind,
        ]));
    }
}

fn add_message(facts: &mut BTreeSet<Fact>, parent: &str, message: &DescriptorProto) {
    let owner = format!("{parent}{}", message.name());
    if message.field.is_empty() {
        facts.insert(fact(["message", &owner, "(empty)"]));
    }
    for field in &message.field {
        facts.insert(field_fact(&owner, message, field));
    }
    for range in &message.reserved_range {
        // The end of a message's range is exclusive, that of an enum inclusive.
        for number in range.start()..range.end() {
            facts.insert(fact([
                "reserved",
                &owner,
                "(number)",
                &number.to_string(),
                "",
                "message",
            ]));
        }
    }
    assert!(message.reserved_name.is_empty(), "{owner}");
    let inside = format!("{owner}.");
    message
        .enum_type
        .iter()
        .for_each(|values| add_enum(facts, &inside, values));
    let nested = message.nested_type.iter();
    let nested = nested.filter(|nested| !is_map_entry(nested));
    nested.for_each(|nested| add_message(facts, &inside, nested));
}

fn is_map_entry(message: &DescriptorProto) -> bool {
    message
        .options
        .as_ref()
        .is_some_and(|options| options.map_entry())
}

fn field_fact(owner: &str, message: &DescriptorProto, field: &FieldDescriptorProto) -> Fact {
    assert!(!field.proto3_optional(), "{owner}.{}", field.name());
    let number = field.number().to_string();
    let oneof = field.oneof_index.map_or(String::new(), |index| {
        let oneof = &message.oneof_decl[usize::try_from(index).unwrap()];
        format!("oneof:{}", oneof.name())
    });
    let (kind, label) = match map_entry(message, field) {
        Some(entry) => {
            let [key, value] = [&entry.field[0], &entry.field[1]].map(type_name);
            let label = format!("map<{key},{value}>");
            (value, label)
        }
        None => (type_name(field), label(field).to_owned()),
    };
    fact(["field", owner, field.name(), &number, &kind, &label, &oneof])
}

fn map_entry<'a>(
    message: &'a DescriptorProto,
    field: &FieldDescriptorProto,
) -> Option<&'a DescriptorProto> {
    let name = field.type_name().rsplit('.').next()?;
    message
        .nested_type
        .iter()
        .find(|nested| is_map_entry(nested) && nested.name() == name)
}

fn label(field: &FieldDescriptorProto) -> &'static str {
    match field.label() {
        Label::Optional => "singular",
        Label::Repeated => "repeated",
        Label::Required => "required",
    }
}

fn type_name(field: &FieldDescriptorProto) -> String {
    match field.r#type() {
        Type::Message | Type::Enum => local(field.type_name()).to_owned(),
        scalar => scalar
            .as_str_name()
            .trim_start_matches("TYPE_")
            .to_lowercase(),
    }
}

fn add_enum(facts: &mut BTreeSet<Fact>, parent: &str, values: &EnumDescriptorProto) {
    let owner = format!("{parent}{}", values.name());
    for value in &values.value {
        facts.insert(fact([
            "enum",
            &owner,
            value.name(),
            &value.number().to_string(),
        ]));
    }
    for range in &values.reserved_range {
        for number in range.start()..=range.end() {
            facts.insert(fact([
                "reserved",
                &owner,
                "(number)",
                &number.to_string(),
                "",
                "enum",
            ]));
        }
    }
    assert!(values.reserved_name.is_empty(), "{owner}");
}
