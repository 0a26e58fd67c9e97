"""Official clients, told of the simulator by nothing but endpoint and authority.

The certificate to trust comes from REQUESTS_CA_BUNDLE, as with any private Azure.
"""

import json
import ssl
import urllib.request

from azure.identity import ClientSecretCredential
from azure.mgmt.compute import ComputeManagementClient

# Where an operation gives no Retry-After, the clients would otherwise wait half a minute.
POLL = 0.05


def discovered(world):
    """The authority and the audience that the simulator's own discovery document names."""
    url = f"{world.arm}/metadata/endpoints?api-version=2022-09-01"
    trust = ssl.create_default_context(cafile=world.ca_file)
    with urllib.request.urlopen(url, context=trust) as answer:
        found = json.load(answer)
    login = found["authentication"]
    return login["loginEndpoint"].rstrip("/"), login["audiences"][0]


def options(world):
    """What every credential is told.

    Without `disable_instance_discovery` the client asks login.microsoftonline.com whether it knows
    the authority, at an address that cannot be configured; the option is the documented one for
    private clouds.
    """
    authority, _ = discovered(world)
    return {"authority": authority, "disable_instance_discovery": True}


def scope(world):
    """The scope of ARM tokens."""
    _, audience = discovered(world)
    return f"{audience.rstrip('/')}/.default"


def secret(world):
    """The application with its password."""
    return ClientSecretCredential(world.tenant, world.client_id, world.client_secret, **options(world))


def compute(world, credential, recorder=None, **more):
    """A compute client."""
    if recorder:
        more["per_retry_policies"] = [recorder]
    settings = {"base_url": world.arm, "credential_scopes": [scope(world)], "polling_interval": POLL}
    return ComputeManagementClient(credential, world.subscription, **{**settings, **more})
