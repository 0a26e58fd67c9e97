"""The data plane with the official client: files, copies, snapshots, and every way to be let in."""

import datetime
import time

from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ResourceExistsError
from azure.storage.fileshare import (
    AccountSasPermissions,
    ResourceTypes,
    ShareServiceClient,
    generate_account_sas,
    generate_share_sas,
)

from . import accounts, clients
from .report import equal, holds

NAME = "cfiles"


def service(world, credential, base=None, name=NAME, **more):
    """A client of an account's file service."""
    return ShareServiceClient(f"{base or world.files}/{name}", credential=credential, **more)


def code(call):
    """The storage error code that a call is refused with."""
    try:
        call()
    except HttpResponseError as error:
        return getattr(error, "error_code", None) or error.response.headers.get("x-ms-error-code")
    return None


def life(storage, world, report):
    with report.check("files: a share is made, listed and refused a second time"):
        accounts.make(storage, world, NAME)
        key = accounts.keys(storage, world, NAME)[0]
        client = service(world, {"account_name": NAME, "account_key": key})
        share = client.create_share("data", quota=2, metadata={"owner": "contract"})
        listed = list(client.list_shares(include_metadata=True))
        equal([(found.name, found.quota, found.metadata) for found in listed], [("data", 2, {"owner": "contract"})], "the list")
        try:
            client.create_share("data")
            raise AssertionError("a second share of the same name was made")
        except ResourceExistsError as error:
            equal(error.error_code, "ShareAlreadyExists", "the code")
    with report.check("files: upload in ranges, download whole and in part, list"):
        share.create_directory("dir")
        file = share.get_file_client("dir/file.bin")
        data = bytes(range(256)) * 40_000
        file.upload_file(data, metadata={"a": "b"})
        equal(file.download_file().readall(), data, "the contents")
        equal(file.download_file(offset=1000, length=300).readall(), data[1000:1300], "a part of them")
        found = file.get_file_properties()
        equal((found.size, found.metadata), (len(data), {"a": "b"}), "the properties")
        equal([entry.name for entry in share.list_directories_and_files("dir")], ["file.bin"], "the directory")
        equal(share.get_share_stats(), len(data), "the use of the share")
    with report.check("files: a copy runs by itself"):
        target = share.get_file_client("copy.bin")
        target.start_copy_from_url(file.url)
        while target.get_file_properties().copy.status == "pending":
            time.sleep(0.05)
        equal(target.get_file_properties().copy.status, "success", "the status")
        equal(target.download_file().readall(), data, "the copied contents")
    with report.check("files: a snapshot keeps what was there"):
        taken = share.create_snapshot()["snapshot"]
        file.upload_file(b"new")
        old = client.get_share_client("data", snapshot=taken).get_file_client("dir/file.bin")
        equal(old.download_file().readall(), data, "the old contents")
        equal(file.download_file().readall(), b"new", "the new ones")
        equal(code(share.delete_share), "ShareHasSnapshots", "the refusal to delete it")
    with report.check("files: renamed, resized, deleted"):
        moved = share.get_file_client("copy.bin").rename_file("dir/moved.bin")
        moved.resize_file(10)
        equal(moved.download_file().readall(), data[:10], "what is left of it")
        moved.delete_file()
        equal(code(lambda: share.get_directory_client("dir").delete_directory()), "DirectoryNotEmpty", "the refusal")


def signatures(storage, world, report):
    keys = accounts.keys(storage, world, NAME)
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    with report.check("signatures: a wrong key is refused as Azure refuses it"):
        wrong = service(world, {"account_name": NAME, "account_key": accounts.keys(storage, world, "cshares")[0]})
        try:
            list(wrong.list_shares())
            raise AssertionError("a wrong key was taken")
        except ClientAuthenticationError as error:
            equal(error.status_code, 403, "the status")
            equal(error.error_code, "AuthenticationFailed", "the code")
    with report.check("signatures: an account SAS and a share's SAS allow what they say"):
        types = ResourceTypes(service=True, container=True, object=True)
        sas = generate_account_sas(NAME, keys[0], types, AccountSasPermissions(read=True, list=True), until)
        reader = service(world, sas)
        equal([found.name for found in reader.list_shares()], ["data"], "the list")
        equal(code(lambda: reader.create_share("other")), "AuthorizationPermissionMismatch", "the refusal")
        sas = generate_share_sas(NAME, "data", keys[0], permission="r", expiry=until)
        file = service(world, sas).get_share_client("data").get_file_client("dir/file.bin")
        equal(file.download_file().readall(), b"new", "the contents")
    with report.check("signatures: a token needs the intent of a backup"):
        told = clients.secret(world)
        with_intent = service(world, told, token_intent="backup")
        file = with_intent.get_share_client("data").get_file_client("dir/file.bin")
        equal(file.download_file().readall(), b"new", "the contents")
    with report.check("signatures: a rotated key is void at once, with every SAS of it"):
        world.send("POST", f"/_sim/accounts/{NAME}/rotate-key", {"key": "key1"})
        equal(code(lambda: file_of(world, sas).download_file()), "AuthenticationFailed", "the refusal")
        holds(accounts.keys(storage, world, NAME)[1] == keys[1], "the other key stays")


def file_of(world, sas):
    return service(world, sas).get_share_client("data").get_file_client("dir/file.bin")
