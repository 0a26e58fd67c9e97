//! The crate's own GET and LIST calls against the running simulator. Its long-running calls are not
//! used: they send a write again instead of polling.

use std::path::Path;
use std::sync::Arc;

use azure_core::{TransportOptions, Url};
use azure_mgmt_compute::package_2024_07_01::Client;
use futures::executor::{block_on, block_on_stream};
use serde_json::Value;

use crate::report::{Report, Trouble};
use crate::wire::{Given, Loopback};

/// Runs every call.
pub fn run(path: &Path, report: &mut Report) -> Result<(), Trouble> {
    let endpoints: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let text = |name: &str| endpoints[name].as_str().unwrap_or_default().to_owned();
    let arm = text("armHttp");
    let client = Client::builder(Arc::new(Given::fetch(&arm, &endpoints)?))
        .endpoint(Url::parse(&arm)?)
        .scopes(&["https://management.azure.com/.default"])
        .transport(TransportOptions::new(Arc::new(Loopback)))
        .build()?;
    let world = Place {
        client,
        subscription: text("subscription"),
        group: text("resourceGroup"),
    };
    world.machines(report);
    world.scale_sets(report);
    world.disks_and_skus(report, &text("location"));
    Ok(())
}

struct Place {
    client: Client,
    subscription: String,
    group: String,
}

impl Place {
    fn machines(&self, report: &mut Report) {
        let machines = self.client.virtual_machines_client();
        let get = machines
            .get(&self.group, "solo-0", &self.subscription)
            .expand("instanceView");
        let found = block_on(get.into_future()).map(|machine| machine.resource.name);
        line(report, "GET of a machine", found, |name| {
            name.as_deref() == Some("solo-0")
        });
        let pages = block_on_stream(machines.list(&self.group, &self.subscription).into_stream());
        let found = collect(pages, |page| {
            page.value
                .into_iter()
                .filter_map(|item| item.resource.name)
                .collect()
        });
        line(report, "LIST of machines", found, |names: &Vec<String>| {
            names.contains(&"avs-0".to_owned())
        });
        let pages = block_on_stream(machines.list_all(&self.subscription).into_stream());
        let found = collect(pages, |page| {
            page.value
                .into_iter()
                .filter_map(|item| item.properties)
                .collect()
        });
        line(report, "LIST of all machines", found, |all: &Vec<_>| {
            all.len() >= 5
        });
    }

    fn scale_sets(&self, report: &mut Report) {
        let sets = self.client.virtual_machine_scale_sets_client();
        let get = sets.get(&self.group, "uni", &self.subscription);
        let found = block_on(get.into_future()).map(|set| set.resource.name);
        line(report, "GET of a scale set", found, |name| {
            name.as_deref() == Some("uni")
        });
        let instances = self.client.virtual_machine_scale_set_v_ms_client();
        let list = instances
            .list(&self.group, "uni", &self.subscription)
            .expand("instanceView");
        let found = collect(block_on_stream(list.into_stream()), |page| {
            page.value
                .into_iter()
                .filter_map(|item| item.instance_id)
                .collect()
        });
        line(report, "LIST of instances", found, |ids: &Vec<String>| {
            ids == &["0", "1"]
        });
        let get = instances.get(&self.group, "uni", "1", &self.subscription);
        let found = block_on(get.into_future()).map(|item| item.instance_id);
        line(report, "GET of an instance", found, |id| {
            id.as_deref() == Some("1")
        });
    }

    fn disks_and_skus(&self, report: &mut Report, location: &str) {
        let disks = self.client.disks_client();
        let found = collect(
            block_on_stream(disks.list(&self.subscription).into_stream()),
            |page| {
                page.value
                    .into_iter()
                    .filter_map(|disk| disk.resource.name)
                    .collect()
            },
        );
        line(report, "LIST of disks", found, |names: &Vec<String>| {
            !names.is_empty()
        });
        let missing = block_on(
            disks
                .get(&self.subscription, &self.group, "c-none")
                .into_future(),
        );
        let status = missing
            .err()
            .and_then(|error| error.as_http_error().map(|http| http.status()));
        line(
            report,
            "GET of a disk that is not there",
            Ok(status),
            |status| *status == Some(azure_core::StatusCode::NotFound),
        );
        let skus = self.client.resource_skus_client();
        let list = skus
            .list(&self.subscription)
            .filter(format!("location eq '{location}'"));
        let found = collect(block_on_stream(list.into_stream()), |page| {
            page.value.into_iter().filter_map(|sku| sku.name).collect()
        });
        line(report, "LIST of SKUs", found, |names: &Vec<String>| {
            names.contains(&"Standard_D4s_v5".to_owned())
        });
    }
}

fn collect<P, T>(
    pages: impl Iterator<Item = azure_core::Result<P>>,
    items: impl Fn(P) -> Vec<T>,
) -> azure_core::Result<Vec<T>> {
    let mut all = Vec::new();
    for page in pages {
        all.extend(items(page?));
    }
    Ok(all)
}

fn line<T: std::fmt::Debug>(
    report: &mut Report,
    what: &str,
    found: azure_core::Result<T>,
    good: impl Fn(&T) -> bool,
) {
    let reasons = match &found {
        Ok(value) if good(value) => Vec::new(),
        Ok(value) => vec![format!("gives {value:?}")],
        Err(error) => vec![format!("{error:?}")],
    };
    report.line(&format!("azure_mgmt_compute itself: {what}"), &reasons);
}
