//! How values of the shared vocabulary look in JSON.
//!
//! `azcsi-types` knows no serde, so the bridges are here. Reading is tolerant where Azure is known
//! to vary (numbers as strings, empty strings for nothing), and strict about ids.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

use crate::spelling::usual;

/// Reads a value through its `FromStr`.
pub(crate) fn parsed<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    String::deserialize(deserializer)?
        .parse()
        .map_err(D::Error::custom)
}

/// Reads a value through its `FromStr`; absent, `null` and empty mean nothing.
pub(crate) fn parsed_option<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    match Option::<String>::deserialize(deserializer)? {
        Some(text) if !text.is_empty() => text.parse().map(Some).map_err(D::Error::custom),
        _ => Ok(None),
    }
}

/// Reads a list through `FromStr`; absent and `null` mean empty.
pub(crate) fn parsed_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    Option::<Vec<String>>::deserialize(deserializer)?
        .unwrap_or_default()
        .iter()
        .map(|text| text.parse().map_err(D::Error::custom))
        .collect()
}

/// Reads `null` as the default.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A scalar that arrives as a string, a number or a boolean.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Number(serde_json::Number),
    Truth(bool),
}

/// Reads a string, number or boolean as text; absent and `null` are empty.
pub(crate) fn scalar<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Option::<Scalar>::deserialize(deserializer)? {
        Some(Scalar::Text(text)) => text,
        Some(Scalar::Number(number)) => number.to_string(),
        Some(Scalar::Truth(truth)) => truth.to_string(),
        None => String::new(),
    })
}

/// Reads a LUN given as a number or as a string.
pub(crate) fn lun<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<azcsi_types::lun::Lun, D::Error> {
    scalar(deserializer)?.parse().map_err(D::Error::custom)
}

/// Writes a value through its `Display`, and an id in its usual spelling.
pub(crate) fn shown<T: Display, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&usual(&value.to_string()))
}

/// Writes a value through its `Display`, if there is one. For fields that skip `None`.
pub(crate) fn shown_option<T: Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => shown(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// Writes a LUN as a number.
pub(crate) fn lun_number<S: Serializer>(
    lun: &azcsi_types::lun::Lun,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(lun.get())
}

/// Writes a LUN as a number, if there is one.
pub(crate) fn lun_option<S: Serializer>(
    lun: &Option<azcsi_types::lun::Lun>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match lun {
        Some(lun) => serializer.serialize_u8(lun.get()),
        None => serializer.serialize_none(),
    }
}
