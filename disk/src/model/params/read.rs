//! Readers of single parameters, for every kind of class that knows them.

use azcsi_types::access::MaxShares;
use azcsi_types::keys::volume_context;
use azcsi_types::params::{BadParam, Param, ParamMap};
use azcsi_types::resource_id::ResourceId;
use azcsi_types::sku::DiskSku;

pub(crate) const SKU_KEYS: [&str; 2] = ["skuName", "storageAccountType"];
const POLICIES: [(&str, &str); 3] = [
    ("AllowAll", "AllowAll"),
    ("AllowPrivate", "AllowPrivate"),
    ("DenyAll", "DenyAll"),
];
const ACCESS: [(&str, &str); 2] = [("Enabled", "Enabled"), ("Disabled", "Disabled")];

/// Text for an HTTP header.
pub(crate) fn user_agent(map: &mut ParamMap) -> Result<Option<String>, BadParam> {
    let Some(param) = map.take("userAgent") else {
        return Ok(None);
    };
    if !param
        .value
        .bytes()
        .all(|byte| (b' '..=b'~').contains(&byte))
    {
        return Err(param.refuse("visible ASCII characters and spaces"));
    }
    Ok(text(Some(param)))
}

pub(crate) fn text(param: Option<Param>) -> Option<String> {
    param
        .map(|param| param.value.trim().to_owned())
        .filter(|text| !text.is_empty())
}

pub(crate) fn sku(map: &mut ParamMap) -> Result<Option<DiskSku>, BadParam> {
    let Some(param) = map.take_any(&SKU_KEYS)? else {
        return Ok(None);
    };
    if param.value.trim().is_empty() {
        return Ok(None);
    }
    param.parse(DiskSku::NAMES).map(Some)
}

/// A value that becomes a part of a resource id.
pub(crate) fn segment(
    map: &mut ParamMap,
    key: &'static str,
    limit: usize,
) -> Result<Option<String>, BadParam> {
    let Some(param) = map.take(key) else {
        return Ok(None);
    };
    let value = param.value.trim();
    let fits = |c: char| c.is_alphanumeric() || "._()-".contains(c);
    match value {
        "" => Ok(None),
        "." | ".." => Err(param.refuse("a name")),
        _ if value.len() <= limit && value.chars().all(fits) => Ok(Some(value.to_owned())),
        _ => Err(param.refuse(format!(
            "at most {limit} letters, digits, '.', '_', '-', '(' or ')'"
        ))),
    }
}

pub(crate) fn number(map: &mut ParamMap, key: &'static str) -> Result<Option<u64>, BadParam> {
    match map.take(key) {
        Some(param) if param.value.trim().is_empty() => Ok(None),
        Some(param) => param.parse("a whole number").map(Some),
        None => Ok(None),
    }
}

/// A truth value. Go's spellings of it are in use, so those are read as well.
pub(crate) fn flag(map: &mut ParamMap, key: &'static str) -> Result<Option<bool>, BadParam> {
    let words = [
        ("true", true),
        ("false", false),
        ("1", true),
        ("0", false),
        ("t", true),
        ("f", false),
    ];
    match map.take(key) {
        Some(param) if param.value.trim().is_empty() => Ok(None),
        Some(param) => param
            .one_of(&words)
            .map(Some)
            .map_err(|_| param.refuse("true or false")),
        None => Ok(None),
    }
}

pub(crate) fn tier(map: &mut ParamMap) -> Result<Option<String>, BadParam> {
    let Some(param) = map.take("tier") else {
        return Ok(None);
    };
    let tier = param.value.trim().to_ascii_uppercase();
    let digits = tier.strip_prefix('P').unwrap_or_default();
    match digits {
        "1" | "2" | "3" | "4" | "6" | "10" | "15" | "20" | "30" | "40" | "50" | "60" | "70"
        | "80" => Ok(Some(tier)),
        _ => Err(param.refuse("a performance tier of Premium SSD, P1 to P80")),
    }
}

pub(crate) fn resource(
    map: &mut ParamMap,
    key: &'static str,
    kind: &str,
) -> Result<Option<ResourceId>, BadParam> {
    let Some(param) = map.take(key) else {
        return Ok(None);
    };
    if param.value.trim().is_empty() {
        return Ok(None);
    }
    let allowed = format!(
        "/subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.Compute/{kind}/<name>"
    );
    let id: ResourceId = param.parse(&allowed)?;
    if id.is_of(azcsi_types::disk_uri::COMPUTE, &[kind]) {
        Ok(Some(id))
    } else {
        Err(param.refuse(allowed))
    }
}

pub(crate) fn policy(map: &mut ParamMap) -> Result<Option<&'static str>, BadParam> {
    word(map, "networkAccessPolicy", &POLICIES)
}

pub(crate) fn public(map: &mut ParamMap) -> Result<Option<&'static str>, BadParam> {
    word(map, "publicNetworkAccess", &ACCESS)
}

pub(crate) fn word(
    map: &mut ParamMap,
    key: &'static str,
    words: &[(&'static str, &'static str)],
) -> Result<Option<&'static str>, BadParam> {
    match map.take(key) {
        Some(param) if !param.value.trim().is_empty() => param.one_of(words).map(Some),
        _ => Ok(None),
    }
}

pub(crate) fn check_access(
    policy: Option<&str>,
    access: Option<&ResourceId>,
) -> Result<(), BadParam> {
    match (policy, access) {
        (Some("AllowPrivate"), None) => Err(BadParam::conflict(
            "diskAccessID",
            "is missing: networkAccessPolicy AllowPrivate needs it",
        )),
        (policy, Some(_)) if policy != Some("AllowPrivate") => Err(BadParam::conflict(
            "diskAccessID",
            "needs networkAccessPolicy AllowPrivate",
        )),
        _ => Ok(()),
    }
}

pub(crate) fn shares(map: &mut ParamMap) -> Result<Option<MaxShares>, BadParam> {
    let Some(param) = map.take(volume_context::MAX_SHARES) else {
        return Ok(None);
    };
    let allowed = "a number from 1 to 15";
    let count: i64 = param.parse(allowed)?;
    match MaxShares::new(count) {
        Some(shares) if count <= 15 => Ok(Some(shares)),
        _ => Err(param.refuse(allowed)),
    }
}
