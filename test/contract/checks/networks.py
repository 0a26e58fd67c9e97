"""Networks, service endpoints, private endpoints and zones, and whom an account then lets in."""

import requests
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.mgmt.storage.models import NetworkRuleSet, StorageAccountUpdateParameters, VirtualNetworkRule

from . import accounts, clients, files
from .report import equal, holds, refused, same_id

NET, SUBNET = "nodes-vnet", "nodes-subnet"


def listing(storage, world, base, name):
    """The code that a list of an account's shares is refused with, from a place; none for a list."""
    key = accounts.keys(storage, world, name)[0]
    client = files.service(world, {"account_name": name, "account_key": key}, base=base, name=name)
    return files.code(lambda: list(client.list_shares()))


def life(storage, network, world, report):
    group = world.group
    with report.check("networks: the nodes have one, and its subnet gets a service endpoint"):
        subnet = network.subnets.get(group, NET, SUBNET)
        equal(subnet.address_prefix, "10.224.0.0/16", "the prefix")
        body = {
            "properties": {
                "addressPrefix": subnet.address_prefix,
                "serviceEndpoints": [{"service": "Microsoft.Storage", "locations": [world.location]}],
            }
        }
        changed = network.subnets.begin_create_or_update(group, NET, SUBNET, body).result()
        equal([found.service for found in changed.service_endpoints], ["Microsoft.Storage"], "the endpoints")
        holds([found for found in network.virtual_networks.list(group) if found.name == NET], "the list has the network")
        refused(lambda: network.subnets.get(group, NET, "absent"), ResourceNotFoundError, 404, "NotFound")
    with report.check("networks: an account that lets in one subnet lets in its nodes and nobody else"):
        accounts.make(storage, world, "cclosed")
        rules = NetworkRuleSet(
            default_action="Deny", virtual_network_rules=[VirtualNetworkRule(virtual_network_resource_id=changed.id)]
        )
        storage.storage_accounts.update(group, "cclosed", StorageAccountUpdateParameters(network_rule_set=rules))
        equal(listing(storage, world, world.nodes[0]["files"], "cclosed"), None, "the answer to a node")
        equal(listing(storage, world, world.files, "cclosed"), "AuthorizationFailure", "the answer to the internet")


def arm(world, method, path, body=None):
    """A request of private DNS, which has no client in these packages; polled to its end."""
    token = clients.secret(world).get_token(clients.scope(world)).token
    headers = {"Authorization": f"Bearer {token}"}
    url = f"{world.arm}/subscriptions/{world.subscription}/resourceGroups/{world.group}/providers/Microsoft.Network/{path}"
    got = requests.request(method, url, params={"api-version": "2024-06-01"}, json=body, headers=headers)
    got.raise_for_status()
    poll = got.headers.get("Azure-AsyncOperation")
    while poll and requests.get(poll, headers=headers).json()["status"] == "InProgress":
        pass
    return got.json() if got.content else None


def private(storage, network, world, report):
    group, zone = world.group, "privatelink.file.core.windows.net"
    net = network.virtual_networks.get(group, NET)
    with report.check("private endpoints: zone and link"):
        equal(arm(world, "PUT", f"privateDnsZones/{zone}", {"location": "global"}), {}, "the first answer")
        link = {"location": "global", "properties": {"registrationEnabled": False, "virtualNetwork": {"id": net.id}}}
        arm(world, "PUT", f"privateDnsZones/{zone}/virtualNetworkLinks/{NET}-vnetlink", link)
        made = arm(world, "GET", f"privateDnsZones/{zone}")
        equal(made["properties"]["numberOfVirtualNetworkLinks"], 1, "the links of the zone")
    with report.check("private endpoints: approved, with an address, an interface and a record"):
        account = accounts.make(storage, world, "cprivate", public_network_access="Disabled")
        equal(listing(storage, world, world.nodes[0]["files"], "cprivate"), "AuthorizationFailure", "the answer before")
        connection = {
            "name": "cprivate-pvtsvcconn",
            "properties": {"privateLinkServiceId": account.id, "groupIds": ["file"]},
        }
        subnet = {"id": network.subnets.get(group, NET, SUBNET).id}
        body = {
            "location": world.location,
            "properties": {"subnet": subnet, "privateLinkServiceConnections": [connection]},
        }
        made = network.private_endpoints.begin_create_or_update(group, "cprivate-pvtendpoint", body).result()
        state = made.private_link_service_connections[0].private_link_service_connection_state
        equal(state.status, "Approved", "the connection")
        nic = network.network_interfaces.get(group, made.network_interfaces[0].id.rsplit("/", 1)[1])
        equal(nic.ip_configurations[0].private_ip_address, made.custom_dns_configs[0].ip_addresses[0], "the address")
        config = {
            "name": "zone",
            "properties": {"privateDnsZoneId": arm(world, "GET", f"privateDnsZones/{zone}")["id"]},
        }
        groups = network.private_dns_zone_groups
        body = {"properties": {"privateDnsZoneConfigs": [config]}}
        made = groups.begin_create_or_update(group, "cprivate-pvtendpoint", "g", body).result()
        equal(made.private_dns_zone_configs[0].record_sets[0].record_set_name, "cprivate", "the record")
    with report.check("private endpoints: the account lets in the network and nobody else"):
        equal(listing(storage, world, world.nodes[0]["files"], "cprivate"), None, "the answer to a node")
        equal(listing(storage, world, world.files, "cprivate"), "AuthorizationFailure", "the answer to the internet")
        shown = storage.storage_accounts.get_properties(group, "cprivate")
        same_id(shown.private_endpoint_connections[0].private_endpoint.id, network.private_endpoints.get(group, "cprivate-pvtendpoint").id, "the endpoint that the account shows")
    with report.check("private endpoints: a network in use stays; all of it can be taken down"):
        refused(lambda: network.virtual_networks.begin_delete(group, NET), HttpResponseError, 400, "InUseSubnetCannotBeDeleted")
        network.private_endpoints.begin_delete(group, "cprivate-pvtendpoint").result()
        refused(lambda: network.private_endpoints.get(group, "cprivate-pvtendpoint"), ResourceNotFoundError, 404, "ResourceNotFound")
        storage.storage_accounts.delete(group, "cprivate")
