//! Shares on the data plane.

use std::collections::BTreeMap;

use http::StatusCode;

use crate::files::error::FilesError;
use crate::files::plane::{Ask, versioned};
use crate::files::reply::{Answer, Reply};
use crate::files::xml::{self, Element};
use crate::stamp;
use crate::state::State;
use crate::storage::model::{Policy, Share, ShareSnapshot};
use crate::storage::share_lease;
use crate::storage::share_life::{self as life, Cascade, share_key};
use crate::storage::share_limits as limits;
use crate::storage::share_rules::{Refusal, Wanted};

/// The key of the share of a request.
pub(crate) fn at(ask: &Ask<'_>) -> String {
    share_key(&ask.account, &ask.target.share)
}

/// The share of a request, and its snapshot when one is named.
pub(crate) fn find(
    state: &State,
    ask: &Ask<'_>,
) -> Result<(Share, Option<ShareSnapshot>), FilesError> {
    let share = state
        .world
        .shares
        .get(&at(ask))
        .cloned()
        .ok_or_else(Refusal::no_share)?;
    let Some(time) = ask.query.get("sharesnapshot") else {
        return Ok((share, None));
    };
    let taken = share
        .snapshots
        .iter()
        .find(|taken| taken.time == time)
        .cloned();
    let taken = taken.ok_or_else(Refusal::no_snapshot)?;
    Ok((share, Some(taken)))
}

/// `x-ms-meta-*` of a request.
pub(crate) fn metadata(ask: &Ask<'_>) -> BTreeMap<String, String> {
    let headers = ask.request.headers().iter();
    let named = headers.filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix("x-ms-meta-")?;
        Some((name.to_owned(), value.to_str().ok()?.to_owned()))
    });
    named.collect()
}

fn wanted(ask: &Ask<'_>) -> Result<Wanted, FilesError> {
    let text = |name: &str| ask.given(name).map(str::to_owned);
    Ok(Wanted {
        quota: ask.number("x-ms-share-quota")?,
        iops: ask.number("x-ms-share-provisioned-iops")?,
        mibps: ask.number("x-ms-share-provisioned-bandwidth-mibps")?,
        protocol: text("x-ms-enabled-protocols"),
        tier: text("x-ms-access-tier"),
        root_squash: text("x-ms-root-squash"),
        metadata: None,
    })
}

fn written(ask: &Ask<'_>, status: StatusCode, share: &Share) -> Reply {
    let mut reply = versioned(status, &share.etag, share.modified_ms);
    if ask.account.is_v2() {
        reply = reply
            .header("x-ms-share-quota", &share.quota.value.to_string())
            .header("x-ms-share-provisioned-iops", &share.iops.value.to_string())
            .header(
                "x-ms-share-provisioned-bandwidth-mibps",
                &share.mibps.value.to_string(),
            );
    }
    reply
}

pub(crate) fn create(state: &mut State, ask: &Ask<'_>) -> Answer {
    let mut wanted = wanted(ask)?;
    wanted.metadata = Some(metadata(ask));
    let share = life::create(state, &ask.account, &ask.target.share, &wanted)?;
    Ok(written(ask, StatusCode::CREATED, &share))
}

pub(crate) fn set(state: &mut State, ask: &Ask<'_>) -> Answer {
    let mut wanted = wanted(ask)?;
    wanted.protocol = None;
    let share = life::update(state, &ask.account, &at(ask), &wanted)?;
    Ok(written(ask, StatusCode::OK, &share))
}

pub(crate) fn set_metadata(state: &mut State, ask: &Ask<'_>) -> Answer {
    let wanted = Wanted {
        metadata: Some(metadata(ask)),
        ..Wanted::default()
    };
    let share = life::update(state, &ask.account, &at(ask), &wanted)?;
    Ok(versioned(StatusCode::OK, &share.etag, share.modified_ms))
}

pub(crate) fn get(state: &mut State, ask: &Ask<'_>) -> Answer {
    let (share, taken) = find(state, ask)?;
    let leased = crate::storage::share_view::lease(state, &share);
    let (quota, meta) = match &taken {
        Some(taken) => (taken.quota, &taken.metadata),
        None => (share.quota.value, &share.metadata),
    };
    let mut reply = versioned(StatusCode::OK, &share.etag, share.modified_ms)
        .header("x-ms-share-quota", &quota.to_string())
        .header("x-ms-access-tier", &share.tier)
        .header("x-ms-enabled-protocols", &share.protocol)
        .header(
            "x-ms-lease-status",
            if leased { "locked" } else { "unlocked" },
        )
        .header(
            "x-ms-lease-state",
            if leased { "leased" } else { "available" },
        );
    if let Some(squash) = &share.root_squash {
        reply = reply.header("x-ms-root-squash", squash);
    }
    for (name, value) in meta {
        reply = reply.header(&format!("x-ms-meta-{name}"), value);
    }
    Ok(provisioned(state, ask, &share, reply))
}

/// What is provisioned, and from when it may be lowered.
fn provisioned(state: &State, ask: &Ask<'_>, share: &Share, mut reply: Reply) -> Reply {
    let account = &ask.account;
    if !account.is_ssd() && !account.is_v2() {
        return reply;
    }
    let when = |figure| stamp::http(life::lowered_ms(state, figure));
    let (iops, mibps) = (share.iops.value, share.mibps.value);
    reply = reply
        .header("x-ms-share-provisioned-iops", &iops.to_string())
        .header("x-ms-share-provisioned-bandwidth-mibps", &mibps.to_string())
        .header(
            "x-ms-share-next-allowed-quota-downgrade-time",
            &when(share.quota),
        );
    if account.is_v2() {
        let burst = limits::burst(account, share.quota.value, iops);
        return reply
            .header("x-ms-share-included-burst-iops", &burst.to_string())
            .header(
                "x-ms-share-max-burst-credits-for-iops",
                &(burst.saturating_sub(iops) * 3600).to_string(),
            )
            .header(
                "x-ms-share-next-allowed-provisioned-iops-downgrade-time",
                &when(share.iops),
            )
            .header(
                "x-ms-share-next-allowed-provisioned-bandwidth-downgrade-time",
                &when(share.mibps),
            );
    }
    reply
}

pub(crate) fn delete(state: &mut State, ask: &Ask<'_>) -> Answer {
    if let Some(time) = ask.query.get("sharesnapshot") {
        life::delete_snapshot(state, &at(ask), time)?;
        return Ok(Reply::new(StatusCode::ACCEPTED));
    }
    let cascade = match ask.header("x-ms-delete-snapshots") {
        "" => Cascade::Nothing,
        "include" | "include-leased" => Cascade::Snapshots,
        other => return Err(FilesError::header_wrong("x-ms-delete-snapshots", other)),
    };
    let lease = ask.given("x-ms-lease-id");
    life::delete(state, &ask.account, &at(ask), (cascade, lease))?;
    Ok(Reply::new(StatusCode::ACCEPTED))
}

pub(crate) fn snapshot(state: &mut State, ask: &Ask<'_>) -> Answer {
    let (share, taken) = life::snapshot(state, &at(ask), Some(metadata(ask)))?;
    let reply = versioned(StatusCode::CREATED, &share.etag, share.modified_ms);
    Ok(reply.header("x-ms-snapshot", &taken.time))
}

pub(crate) fn restore(state: &mut State, ask: &Ask<'_>) -> Answer {
    let (old, version) = (
        ask.header("x-ms-deleted-share-name").to_owned(),
        ask.header("x-ms-deleted-share-version").to_owned(),
    );
    for (name, value) in [
        ("x-ms-deleted-share-name", &old),
        ("x-ms-deleted-share-version", &version),
    ] {
        if value.is_empty() {
            return Err(FilesError::header_missing(name));
        }
    }
    let share = life::restore(state, &ask.account, &ask.target.share, (&old, &version))?;
    Ok(versioned(
        StatusCode::CREATED,
        &share.etag,
        share.modified_ms,
    ))
}

pub(crate) fn stats(state: &mut State, ask: &Ask<'_>) -> Answer {
    let (share, _) = find(state, ask)?;
    let used = state.contents.used(&share.contents).to_string();
    let document = Element::new("ShareStats").text("ShareUsageBytes", &used);
    Ok(versioned(StatusCode::OK, &share.etag, share.modified_ms).xml(&document))
}

pub(crate) fn acl(state: &mut State, ask: &Ask<'_>) -> Answer {
    let (share, _) = find(state, ask)?;
    let list = share
        .policies
        .iter()
        .fold(Element::new("SignedIdentifiers"), |list, policy| {
            let inner = Element::new("AccessPolicy")
                .text("Start", &policy.start)
                .text("Expiry", &policy.expiry)
                .text("Permission", &policy.permission);
            list.child(
                &Element::new("SignedIdentifier")
                    .text("Id", &policy.id)
                    .child(&inner),
            )
        });
    Ok(versioned(StatusCode::OK, &share.etag, share.modified_ms).xml(&list))
}

pub(crate) fn set_acl(state: &mut State, ask: &Ask<'_>) -> Answer {
    let document = String::from_utf8_lossy(ask.request.body()).into_owned();
    let read = |inside: &&str| {
        let text = |name: &str| xml::text(inside, name).unwrap_or_default();
        Policy {
            id: text("Id"),
            start: text("Start"),
            expiry: text("Expiry"),
            permission: text("Permission"),
        }
    };
    let policies: Vec<Policy> = xml::all(&document, "SignedIdentifier")
        .iter()
        .map(read)
        .collect();
    if policies.len() > 5 {
        return Err(FilesError::bad(
            "InvalidXmlDocument",
            "There are more than five signed identifiers.",
        ));
    }
    let etag = life::etag(state);
    let wall_ms = state.wall_ms;
    let share = state
        .world
        .shares
        .get_mut(&at(ask))
        .ok_or_else(Refusal::no_share)?;
    share.policies = policies;
    share.etag = etag;
    share.modified_ms = wall_ms;
    Ok(versioned(StatusCode::OK, &share.etag, share.modified_ms))
}

pub(crate) fn lease(state: &mut State, ask: &Ask<'_>) -> Answer {
    let action = ask.header("x-ms-lease-action").to_owned();
    let seconds = match ask.given("x-ms-lease-duration") {
        None => -1,
        Some(text) => text
            .parse()
            .map_err(|_| FilesError::header_wrong("x-ms-lease-duration", text))?,
    };
    let text = |name: &str| ask.given(name).map(str::to_owned);
    let given = (
        text("x-ms-lease-id"),
        text("x-ms-proposed-lease-id"),
        seconds,
    );
    let id = share_lease::act(state, &at(ask), &action, given)?;
    let (share, _) = find(state, ask)?;
    let status = match action.as_str() {
        "acquire" => StatusCode::CREATED,
        "break" => StatusCode::ACCEPTED,
        _ => StatusCode::OK,
    };
    let mut reply = versioned(status, &share.etag, share.modified_ms);
    if let Some(id) = id {
        reply = reply.header("x-ms-lease-id", &id);
    }
    if action == "break" {
        reply = reply.header("x-ms-lease-time", "0");
    }
    Ok(reply)
}

/// Permissions are named by a key that the service derives from them.
pub(crate) fn set_permission(state: &mut State, ask: &Ask<'_>) -> Answer {
    find(state, ask)?;
    let text = String::from_utf8_lossy(ask.request.body()).into_owned();
    let high = crate::guids::guid_of(&text).replace('-', "");
    let key = u64::from_str_radix(high.get(..15).unwrap_or("1"), 16).unwrap_or(1);
    Ok(Reply::new(StatusCode::CREATED).header("x-ms-file-permission-key", &format!("{key}*{key}")))
}

/// What a key stands for: the permission that everything has which was given none.
pub(crate) fn permission(state: &mut State, ask: &Ask<'_>) -> Answer {
    find(state, ask)?;
    let sddl = "O:S-1-5-21-1-2-3-4G:S-1-5-21-1-2-3-5D:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;0x1200a9;;;BU)S:NO_ACCESS_CONTROL";
    let body = serde_json::json!({"permission": sddl}).to_string();
    let reply = Reply::new(StatusCode::OK).header("content-type", "application/json");
    Ok(reply.body(body.into_bytes()))
}
