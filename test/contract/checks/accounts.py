"""The life of a storage account: its name looked up, made, shown, changed, its keys, deleted."""

from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.mgmt.storage.models import (
    Sku,
    StorageAccountCheckNameAvailabilityParameters,
    StorageAccountCreateParameters,
    StorageAccountRegenerateKeyParameters,
    StorageAccountUpdateParameters,
)

from .report import equal, holds, refused


def wanted(world, sku="Standard_LRS", kind="StorageV2", **more):
    """The model of a new account."""
    return StorageAccountCreateParameters(sku=Sku(name=sku), kind=kind, location=world.location, **more)


def make(storage, world, name, **more):
    """Makes an account and gives it."""
    return storage.storage_accounts.begin_create(world.group, name, wanted(world, **more)).result()


def keys(storage, world, name):
    return [key.value for key in storage.storage_accounts.list_keys(world.group, name).keys_property]


def available(storage, name):
    asked = StorageAccountCheckNameAvailabilityParameters(name=name, type="Microsoft.Storage/storageAccounts")
    return storage.storage_accounts.check_name_availability(asked)


def life(storage, world, report):
    group, accounts = world.group, storage.storage_accounts
    with report.check("accounts: a name that is free, one that is taken, one that is none"):
        holds(available(storage, "cacct1").name_available, "the name is free")
        made = make(storage, world, "cacct1", tags={"k8s-azure-created-by": "azure"})
        taken = available(storage, "cacct1")
        equal((taken.name_available, taken.reason), (False, "AlreadyExists"), "the answer for a taken name")
        equal(available(storage, "No").reason, "AccountNameInvalid", "the answer for a bad name")
    with report.check("accounts: a new one has the defaults of Azure"):
        equal((made.name, made.kind, made.location), ("cacct1", "StorageV2", world.location), "what was made")
        equal((made.sku.name, made.sku.tier), ("Standard_LRS", "Standard"), "the SKU")
        equal(made.provisioning_state, "Succeeded", "the state")
        equal((made.enable_https_traffic_only, made.access_tier), (True, "Hot"), "HTTPS and tier")
        equal(made.network_rule_set.default_action, "Allow", "the default of the network rules")
        holds(made.primary_endpoints.file.endswith("/cacct1/"), "the file endpoint names the account")
        holds(made.creation_time and made.key_creation_time.key1, "it has times")
    with report.check("accounts: PUT again, PATCH of tags, lists"):
        again = make(storage, world, "cacct1", tags={"k8s-azure-created-by": "azure"})
        equal(again.creation_time, made.creation_time, "the time of creation")
        changed = accounts.update(group, "cacct1", StorageAccountUpdateParameters(tags={"skip-matching": ""}))
        equal(changed.tags, {"skip-matching": ""}, "the tags")
        holds("cacct1" in [found.name for found in accounts.list()], "the subscription's list has it")
        holds("cacct1" in [found.name for found in accounts.list_by_resource_group(group)], "the group's list has it")
        equal(accounts.get_properties(group, "cacct1").tags, {"skip-matching": ""}, "the tags of GET")
    with report.check("accounts: one key is made anew, the other stays"):
        before = keys(storage, world, "cacct1")
        accounts.regenerate_key(group, "cacct1", StorageAccountRegenerateKeyParameters(key_name="key2"))
        after = keys(storage, world, "cacct1")
        equal((before[0] == after[0], before[1] == after[1]), (True, False), "which keys stayed")
    with report.check("accounts: what is not there and what cannot be is refused"):
        refused(lambda: accounts.get_properties(group, "absent"), ResourceNotFoundError, 404, "ResourceNotFound")
        wrong = wanted(world, sku="StandardV2_LRS")
        refused(lambda: accounts.begin_create(group, "cacct9", wrong), HttpResponseError, 400, "InvalidAccountKind")
    with report.check("accounts: deleted, twice"):
        accounts.delete(group, "cacct1")
        accounts.delete(group, "cacct1")
        holds(available(storage, "cacct1").name_available, "the name is free again")
