//! The file service of an account: its shares, and its properties.

use http::StatusCode;

use crate::files::plane::Ask;
use crate::files::reply::{Answer, Reply};
use crate::files::xml::{self, Element};
use crate::stamp;
use crate::state::State;
use crate::storage::account_view::endpoint;
use crate::storage::model::{Deleted, Share};
use crate::world::key;

/// Shares on a page when nothing is said.
const PAGE: usize = 5000;

fn includes(ask: &Ask<'_>, word: &str) -> bool {
    let include = ask.query.get("include").unwrap_or_default();
    include.split(',').any(|part| part.trim() == word)
}

/// One entry: the share itself, one of its snapshots, or a deleted one.
enum Entry<'a> {
    Live(&'a Share),
    Snapshot(&'a Share, usize),
    Deleted(&'a Deleted),
}

/// Everything that a list is to show, each with its place in the order of names.
fn entries<'a>(state: &'a State, ask: &Ask<'_>) -> Vec<(String, Entry<'a>)> {
    let below = format!("{}/fileservices/default/shares/", key(&ask.account.id));
    let begin = format!("{below}{}", ask.query.get("prefix").unwrap_or_default());
    let mut entries: Vec<(String, Entry<'_>)> = Vec::new();
    let live = state.world.shares.range(begin.clone()..);
    for (_, share) in live.take_while(|(at, _)| at.starts_with(&begin)) {
        if includes(ask, "snapshots") {
            for (index, taken) in share.snapshots.iter().enumerate() {
                let place = format!("{}/0{}", share.name, taken.time);
                entries.push((place, Entry::Snapshot(share, index)));
            }
        }
        entries.push((format!("{}/1", share.name), Entry::Live(share)));
    }
    if includes(ask, "deleted") {
        let gone = state.world.deleted_shares.range(begin.clone()..);
        for (_, gone) in gone.take_while(|(at, _)| at.starts_with(&begin)) {
            let place = format!("{}/2{}", gone.share.name, gone.version);
            entries.push((place, Entry::Deleted(gone)));
        }
    }
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    entries
}

/// Lists shares by name; `include` adds metadata, snapshots and deleted ones.
pub(crate) fn list(state: &mut State, ask: &Ask<'_>) -> Answer {
    let marker = ask.query.get("marker").unwrap_or_default();
    let most = ask.query.get("maxresults");
    let most = most.and_then(|text| text.parse().ok());
    let most = most.filter(|most| (1..=PAGE).contains(most));
    let most = most.unwrap_or(PAGE);
    let entries = entries(state, ask).into_iter();
    let rest: Vec<_> = entries.filter(|(at, _)| at.as_str() >= marker).collect();
    let next = rest.get(most).map(|(at, _)| at.clone());
    let metadata = includes(ask, "metadata");
    let page = rest.iter().take(most);
    let shares = page.fold(Element::new("Shares"), |list, (_, entry)| {
        list.child(&show(state, entry, metadata))
    });
    let service = endpoint(state, &ask.account.name, "file");
    let document = Element::new("EnumerationResults")
        .attribute("ServiceEndpoint", &service)
        .optional("Prefix", ask.query.get("prefix"))
        .optional("Marker", ask.query.get("marker"))
        .optional("MaxResults", ask.query.get("maxresults"))
        .child(&shares)
        .text("NextMarker", &next.unwrap_or_default());
    Ok(Reply::new(StatusCode::OK).xml(&document))
}

fn show(state: &State, entry: &Entry<'_>, metadata: bool) -> Element {
    let share = match entry {
        Entry::Live(share) | Entry::Snapshot(share, _) => share,
        Entry::Deleted(gone) => &gone.share,
    };
    let mut element = Element::new("Share").text("Name", &share.name);
    let mut facts = (share.quota.value, &share.metadata);
    match entry {
        Entry::Snapshot(share, index) => {
            if let Some(taken) = share.snapshots.get(*index) {
                element = element.text("Snapshot", &taken.time);
                facts = (taken.quota, &taken.metadata);
            }
        }
        Entry::Deleted(gone) => {
            element = element
                .text("Deleted", "true")
                .text("Version", &gone.version);
        }
        Entry::Live(_) => {}
    }
    element = element.child(&properties(state, share, facts.0, entry));
    if metadata {
        let map = facts.1.iter();
        let map = map.fold(Element::new("Metadata"), |map, (name, value)| {
            map.text(name, value)
        });
        element = element.child(&map);
    }
    element
}

fn properties(state: &State, share: &Share, quota: u64, entry: &Entry<'_>) -> Element {
    let leased = crate::storage::share_view::lease(state, share);
    let mut properties = Element::new("Properties")
        .text("Last-Modified", &stamp::http(share.modified_ms))
        .text("Etag", &share.etag)
        .text("Quota", &quota.to_string())
        .text("AccessTier", &share.tier)
        .text("EnabledProtocols", &share.protocol)
        .optional("RootSquash", share.root_squash.as_deref())
        .text("LeaseStatus", if leased { "locked" } else { "unlocked" })
        .text("LeaseState", if leased { "leased" } else { "available" });
    if share.iops.value > 0 {
        properties = properties
            .text("ProvisionedIops", &share.iops.value.to_string())
            .text("ProvisionedBandwidthMiBps", &share.mibps.value.to_string());
    }
    if let Entry::Deleted(gone) = entry {
        let left = gone
            .until_ms
            .saturating_sub(state.wall_ms)
            .div_ceil(24 * 3600 * 1000);
        properties = properties
            .text("DeletedTime", &stamp::http(gone.deleted_ms))
            .text("RemainingRetentionDays", &left.to_string());
    }
    properties
}

/// The properties of the service that file shares have.
pub(crate) fn get(_: &mut State, ask: &Ask<'_>) -> Answer {
    let metrics = |name: &str| {
        let policy = Element::new("RetentionPolicy").text("Enabled", "false");
        Element::new(name)
            .text("Version", "1.0")
            .text("Enabled", "false")
            .child(&policy)
    };
    let mut document = Element::new("StorageServiceProperties")
        .child(&metrics("HourMetrics"))
        .child(&metrics("MinuteMetrics"))
        .child(&Element::new("Cors"));
    let settings = ask.account.file_service.get("protocolSettings");
    let multichannel = settings.and_then(|settings| settings.pointer("/smb/multichannel/enabled"));
    if ask.account.is_ssd() {
        let on = multichannel
            .and_then(serde_json::Value::as_bool)
            .unwrap_or(false);
        let multichannel =
            Element::new("Multichannel").text("Enabled", if on { "true" } else { "false" });
        let smb = Element::new("SMB").child(&multichannel);
        document = document.child(&Element::new("ProtocolSettings").child(&smb));
    }
    Ok(Reply::new(StatusCode::OK).xml(&document))
}

/// Takes over what decides something here: multichannel. Metrics and CORS are accepted and not kept.
pub(crate) fn set(state: &mut State, ask: &Ask<'_>) -> Answer {
    let document = String::from_utf8_lossy(ask.request.body()).into_owned();
    let multichannel =
        xml::text(&document, "Multichannel").and_then(|inside| xml::text(&inside, "Enabled"));
    if let (Some(on), Some(account)) = (
        multichannel,
        state.world.accounts.get_mut(&key(&ask.account.id)),
    ) {
        let wanted = serde_json::json!({"smb": {"multichannel": {"enabled": on == "true"}}});
        account
            .file_service
            .insert("protocolSettings".to_owned(), wanted);
    }
    Ok(Reply::new(StatusCode::ACCEPTED))
}
