"""Adds to a world file on standard input what `azcsi-sim world` does not make: pools of every kind,
and a certificate for the application, whose key and certificate go to the file named."""

import datetime
import os
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

# Names and kinds; `checks/machines.py` knows them.
POOLS = """
[[pool]]
name = "solo"
kind = "standalone"
size = "Standard_D4s_v5"
nodes = 2
zones = ["1", "2"]

[[pool]]
name = "avs"
kind = "avset"
size = "Standard_D2s_v5"
nodes = 1

[[pool]]
name = "flex"
kind = "flex"
size = "Standard_D4s_v5"
nodes = 2
zones = ["1"]

[[pool]]
name = "uni"
kind = "uniform"
size = "Standard_D4s_v5"
nodes = 2
zones = ["1", "2"]
"""


def certificate(path):
    """Writes key and self-signed certificate as PEM, and gives the certificate alone."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "azcsi contract check")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .sign(key, hashes.SHA256())
    )
    public = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(private + public)
    return public


def main():
    path = sys.argv[1]
    with open(f"{path}.public", "wb") as file:
        file.write(certificate(path))
    head, _, _ = sys.stdin.read().partition("[[pool]]")
    name = os.path.basename(path) + ".public"
    print(head.replace("[[app]]\n", f'[[app]]\ncertificates = ["{name}"]\n', 1) + POOLS)


if __name__ == "__main__":
    main()
