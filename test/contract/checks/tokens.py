"""Every way to a token that the drivers know, through azure-identity."""

import os
import time
from functools import partial

from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.identity import (
    CertificateCredential,
    ClientSecretCredential,
    CredentialUnavailableError,
    ManagedIdentityCredential,
    WorkloadIdentityCredential,
)

from . import clients
from .report import equal, holds


def run(world, report, certificate):
    options, scope = clients.options(world), clients.scope(world)
    good = {
        "a client secret": clients.secret(world),
        "a certificate": CertificateCredential(world.tenant, world.client_id, certificate, **options),
        "a certificate with its chain": CertificateCredential(
            world.tenant, world.client_id, certificate, send_certificate_chain=True, **options
        ),
        "a workload identity's token file": WorkloadIdentityCredential(
            tenant_id=world.tenant, client_id=world.client_id, token_file_path=world.token_file, **options
        ),
    }
    for name, credential in good.items():
        with report.check(f"tokens: {name} gets one that ARM takes"):
            works(world, credential, scope)
    managed(world, report, scope)
    bad(world, report, options, scope)


def works(world, credential, scope):
    token = credential.get_token(scope)
    holds(token.expires_on > time.time() + 300, "the token lasts")
    with clients.compute(world, credential) as compute:
        holds(list(compute.virtual_machines.list(world.group)), "ARM shows the machines")


def managed(world, report, scope):
    """The client's own variable for another metadata address leads to the first node's."""
    os.environ["AZURE_POD_IDENTITY_AUTHORITY_HOST"] = world.nodes[0]["imds"]
    with report.check("tokens: a node's managed identity gets one that ARM takes"):
        works(world, ManagedIdentityCredential(), scope)
    with report.check("tokens: an identity that the node does not have is refused"):
        stranger = ManagedIdentityCredential(client_id="00000000-0000-4000-8000-00000000dead")
        fails(lambda: stranger.get_token(scope), "Identity not found", CredentialUnavailableError)
    del os.environ["AZURE_POD_IDENTITY_AUTHORITY_HOST"]


def bad(world, report, options, scope):
    tenant, client, secret = world.tenant, world.client_id, world.client_secret
    nobody = "00000000-0000-4000-8000-00000000dead"
    cases = [
        ("a wrong secret", ClientSecretCredential(tenant, client, "wrong", **options), "AADSTS7000215"),
        ("an unknown application", ClientSecretCredential(tenant, nobody, secret, **options), "AADSTS700016"),
        # The client asks for the tenant's discovery document first, and tells no more than this.
        ("an unknown tenant", ClientSecretCredential(nobody, client, secret, **options), "authority configuration"),
    ]
    for name, credential, text in cases:
        with report.check(f"tokens: {name} is refused ({text})"):
            fails(partial(credential.get_token, scope), text, ClientAuthenticationError)
    with report.check("tokens: ARM refuses a token for another audience"):
        other = ["https://vault.azure.net/.default"]
        with clients.compute(world, clients.secret(world), credential_scopes=other) as compute:
            try:
                list(compute.disks.list())
            except HttpResponseError as error:
                equal(error.status_code, 401, "the status")
                equal(error.error.code, "InvalidAuthenticationToken", "the code")
            else:
                raise AssertionError("it was taken")


def fails(call, text, *kinds):
    try:
        call()
    except kinds as error:
        holds(text in str(error), f"{str(error)!r} names {text}")
    else:
        raise AssertionError("a token was given")
