//! Which method and path leads where. A module of another resource provider adds its own table to
//! [`tables`]; nothing else has to change.

use http::Method;

use crate::call::{Answer, Call};
use crate::compute::{
    access, disks, encryption_sets, groups, kept, scale_sets, snapshots, vms, vmss,
};
use crate::network::{
    life, nics, private_endpoints, private_zones, subnets, virtual_networks, zone_groups,
    zone_links,
};
use crate::state::State;
use crate::storage::{accounts, file_service, keys, shares, usage};
use crate::throttle::Policy;

/// What answers a request.
pub(crate) type Handler = fn(&mut State, &Call) -> Answer;

/// One row: method, the path below the subscription, the bucket, the handler. `*` is a name. A path
/// that ends in a word after a name is an action on the resource before it.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) pattern: &'static str,
    pub(crate) policy: Policy,
    pub(crate) handler: Handler,
}

macro_rules! routes {
    ($($method:ident $pattern:literal $policy:ident $handler:path;)*) => {
        [$(Route {
            method: Method::$method,
            pattern: $pattern,
            policy: Policy::$policy,
            handler: $handler,
        }),*]
    };
}

const COMPUTE: &[Route] = &routes! {
    GET "rg/disks/*" DiskGet disks::get;
    GET "rg/disks" DiskGet disks::list;
    GET "disks" DiskGet disks::list;
    PUT "rg/disks/*" DiskWrite disks::put;
    PATCH "rg/disks/*" DiskWrite disks::patch;
    DELETE "rg/disks/*" DiskDelete disks::delete;
    POST "rg/disks/*/beginGetAccess" DiskWrite access::grant;
    POST "rg/disks/*/endGetAccess" DiskWrite access::revoke;
    GET "rg/snapshots/*" DiskGet snapshots::get;
    GET "rg/snapshots" DiskGet snapshots::list;
    GET "snapshots" DiskGet snapshots::list;
    PUT "rg/snapshots/*" DiskWrite snapshots::put;
    PATCH "rg/snapshots/*" DiskWrite snapshots::patch;
    DELETE "rg/snapshots/*" DiskDelete snapshots::delete;
    POST "rg/snapshots/*/beginGetAccess" DiskWrite access::grant;
    POST "rg/snapshots/*/endGetAccess" DiskWrite access::revoke;
    GET "rg/virtualMachines/*" VmGet vms::get;
    GET "rg/virtualMachines/*/instanceView" VmGet vms::get_view;
    GET "rg/virtualMachines" VmList vms::list;
    GET "virtualMachines" VmList vms::list;
    GET "locations/*/virtualMachines" VmList vms::list;
    PUT "rg/virtualMachines/*" VmPut vms::put;
    PATCH "rg/virtualMachines/*" VmUpdate vms::update;
    DELETE "rg/virtualMachines/*" VmDelete vms::delete;
    POST "rg/virtualMachines/*/attachDetachDataDisks" VmUpdate vms::attach_detach;
    POST "rg/virtualMachines/*/start" VmUpdate vms::start;
    POST "rg/virtualMachines/*/powerOff" VmUpdate vms::power_off;
    POST "rg/virtualMachines/*/deallocate" VmUpdate vms::deallocate;
    POST "rg/virtualMachines/*/restart" VmUpdate vms::restart;
    POST "rg/virtualMachines/*/reapply" VmUpdate vms::restart;
    GET "rg/virtualMachineScaleSets/*" SetGet vmss::get;
    PUT "rg/virtualMachineScaleSets/*" InstanceUpdate scale_sets::put;
    PATCH "rg/virtualMachineScaleSets/*" InstanceUpdate scale_sets::patch;
    DELETE "rg/virtualMachineScaleSets/*" InstanceUpdate scale_sets::delete;
    POST "rg/virtualMachineScaleSets/*/delete" InstanceUpdate scale_sets::delete_instances;
    GET "rg/virtualMachineScaleSets" SetList vmss::list;
    GET "virtualMachineScaleSets" SetList vmss::list;
    GET "rg/virtualMachineScaleSets/*/virtualMachines" SetList vmss::instances;
    GET "rg/virtualMachineScaleSets/*/virtualMachines/*" InstanceGet vms::get;
    GET "rg/virtualMachineScaleSets/*/virtualMachines/*/instanceView" SetList vms::get_view;
    PUT "rg/virtualMachineScaleSets/*/virtualMachines/*" InstanceUpdate vms::update;
    DELETE "rg/virtualMachineScaleSets/*/virtualMachines/*" InstanceUpdate vms::delete;
    POST "rg/virtualMachineScaleSets/*/virtualMachines/*/attachDetachDataDisks" InstanceUpdate vms::attach_detach;
    POST "rg/virtualMachineScaleSets/*/virtualMachines/*/start" InstanceUpdate vms::start;
    POST "rg/virtualMachineScaleSets/*/virtualMachines/*/powerOff" InstanceUpdate vms::power_off;
    POST "rg/virtualMachineScaleSets/*/virtualMachines/*/deallocate" InstanceUpdate vms::deallocate;
    POST "rg/virtualMachineScaleSets/*/virtualMachines/*/restart" InstanceUpdate vms::restart;
    GET "rg/diskEncryptionSets/*" DiskGet kept::get;
    GET "rg/diskEncryptionSets" DiskGet kept::list;
    GET "diskEncryptionSets" DiskGet kept::list;
    PUT "rg/diskEncryptionSets/*" DiskWrite kept::put;
    PATCH "rg/diskEncryptionSets/*" DiskWrite encryption_sets::patch;
    DELETE "rg/diskEncryptionSets/*" DiskDelete kept::delete;
    GET "rg/diskEncryptionSets/*/associatedResources" DiskGet encryption_sets::associated;
    GET "rg/diskAccesses/*" DiskGet kept::get;
    GET "rg/diskAccesses" DiskGet kept::list;
    GET "diskAccesses" DiskGet kept::list;
    PUT "rg/diskAccesses/*" DiskWrite kept::put;
    DELETE "rg/diskAccesses/*" DiskDelete kept::delete;
    GET "skus" Arm kept::sku_list;
    GET "locations/*/usages" Arm groups::usages;
    GET "locations/*/DiskOperations/*" Poll kept::poll;
    GET "locations/*/operations/*" Poll kept::poll;
};

const RESOURCES: &[Route] = &routes! {
    GET "" Arm kept::subscription;
    GET "locations" Arm kept::locations;
    GET "resourceGroups" Arm kept::groups;
    GET "rg" Arm kept::group;
    HEAD "rg" Arm kept::head_group;
    PUT "rg" Arm kept::put_group;
    DELETE "rg" Arm groups::delete;
};

const STORAGE: &[Route] = &routes! {
    POST "checkNameAvailability" StorageRead accounts::check_name;
    GET "rg/storageAccounts/*" StorageRead accounts::get;
    GET "rg/storageAccounts" StorageList accounts::list;
    GET "storageAccounts" StorageList accounts::list;
    PUT "rg/storageAccounts/*" StorageWrite accounts::put;
    PATCH "rg/storageAccounts/*" StorageWrite accounts::patch;
    DELETE "rg/storageAccounts/*" StorageWrite accounts::delete;
    POST "rg/storageAccounts/*/listKeys" StorageRead keys::list;
    POST "rg/storageAccounts/*/regenerateKey" StorageWrite keys::regenerate;
    POST "rg/storageAccounts/*/ListAccountSas" StorageRead keys::account_sas;
    POST "rg/storageAccounts/*/ListServiceSas" StorageRead keys::service_sas;
    GET "rg/storageAccounts/*/fileServices" StorageList file_service::list;
    GET "rg/storageAccounts/*/fileServices/*" StorageRead file_service::get;
    PUT "rg/storageAccounts/*/fileServices/*" StorageWrite file_service::put;
    GET "rg/storageAccounts/*/fileServices/*/usages" StorageList usage::list;
    GET "rg/storageAccounts/*/fileServices/*/usages/*" StorageRead usage::get;
    GET "rg/storageAccounts/*/fileServices/*/shares" StorageList shares::list;
    GET "rg/storageAccounts/*/fileServices/*/shares/*" StorageRead shares::get;
    PUT "rg/storageAccounts/*/fileServices/*/shares/*" StorageWrite shares::put;
    PATCH "rg/storageAccounts/*/fileServices/*/shares/*" StorageWrite shares::patch;
    DELETE "rg/storageAccounts/*/fileServices/*/shares/*" StorageWrite shares::delete;
    POST "rg/storageAccounts/*/fileServices/*/shares/*/restore" StorageWrite shares::restore;
    POST "rg/storageAccounts/*/fileServices/*/shares/*/lease" StorageWrite shares::lease;
    GET "locations/*/asyncoperations/*" Arm kept::poll;
};

const NETWORK: &[Route] = &routes! {
    GET "rg/networkInterfaces/*" NetworkRead nics::get;
    GET "rg/virtualNetworks/*" NetworkRead virtual_networks::get;
    GET "rg/virtualNetworks" NetworkRead virtual_networks::list;
    GET "virtualNetworks" NetworkRead virtual_networks::list;
    PUT "rg/virtualNetworks/*" NetworkWrite virtual_networks::put;
    DELETE "rg/virtualNetworks/*" NetworkWrite virtual_networks::delete;
    GET "rg/virtualNetworks/*/subnets/*" NetworkRead subnets::get;
    GET "rg/virtualNetworks/*/subnets" NetworkRead subnets::list;
    PUT "rg/virtualNetworks/*/subnets/*" NetworkWrite subnets::put;
    DELETE "rg/virtualNetworks/*/subnets/*" NetworkWrite subnets::delete;
    GET "rg/privateEndpoints/*" NetworkRead private_endpoints::get;
    GET "rg/privateEndpoints" NetworkRead private_endpoints::list;
    GET "privateEndpoints" NetworkRead private_endpoints::list;
    PUT "rg/privateEndpoints/*" NetworkWrite private_endpoints::put;
    DELETE "rg/privateEndpoints/*" NetworkWrite private_endpoints::delete;
    GET "rg/privateEndpoints/*/privateDnsZoneGroups/*" NetworkRead zone_groups::get;
    GET "rg/privateEndpoints/*/privateDnsZoneGroups" NetworkRead zone_groups::list;
    PUT "rg/privateEndpoints/*/privateDnsZoneGroups/*" NetworkWrite zone_groups::put;
    DELETE "rg/privateEndpoints/*/privateDnsZoneGroups/*" NetworkWrite zone_groups::delete;
    GET "rg/privateDnsZones/*" DnsRead private_zones::get;
    GET "rg/privateDnsZones" DnsRead private_zones::list;
    GET "privateDnsZones" DnsRead private_zones::list;
    PUT "rg/privateDnsZones/*" DnsWrite private_zones::put;
    DELETE "rg/privateDnsZones/*" DnsWrite private_zones::delete;
    GET "rg/privateDnsZones/*/virtualNetworkLinks/*" DnsRead zone_links::get;
    GET "rg/privateDnsZones/*/virtualNetworkLinks" DnsRead zone_links::list;
    PUT "rg/privateDnsZones/*/virtualNetworkLinks/*" DnsWrite zone_links::put;
    DELETE "rg/privateDnsZones/*/virtualNetworkLinks/*" DnsWrite zone_links::delete;
    GET "locations/*/operations/*" Arm life::poll;
    GET "locations/*/operationResults/*" Arm life::result;
    GET "rg/privateDnsOperationStatuses/*" Arm life::poll;
    GET "rg/privateDnsOperationResults/*" Arm life::result;
};

/// A provider's name and its routes; the empty name is ARM itself.
pub(crate) const fn tables() -> [(&'static str, &'static [Route]); 4] {
    [
        ("", RESOURCES),
        ("Microsoft.Compute", COMPUTE),
        ("Microsoft.Storage", STORAGE),
        ("Microsoft.Network", NETWORK),
    ]
}

/// The names of a path, when it is one of this pattern.
pub(crate) fn matches(pattern: &str, path: &[&str]) -> Option<Vec<String>> {
    let words = pattern.split('/').filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    if words.len() != path.len() {
        return None;
    }
    let mut names = Vec::new();
    for (word, part) in words.iter().zip(path) {
        if *word == "*" {
            names.push((*part).to_owned());
        } else if !word.eq_ignore_ascii_case(part) {
            return None;
        }
    }
    Some(names)
}

/// Whether the last word of a pattern is an action on the resource before it.
pub(crate) fn is_action(pattern: &str) -> bool {
    let words: Vec<&str> = pattern.trim_start_matches("rg/").split('/').collect();
    !words.len().is_multiple_of(2)
        && words.len() > 1
        && pattern.starts_with("rg/")
        && !pattern.ends_with("/virtualMachines")
}
