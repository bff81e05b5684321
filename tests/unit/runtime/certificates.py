"""A certificate authority for one test, and a server that it vouches for."""

import ssl
from dataclasses import dataclass

import trustme


@dataclass
class Tls:
    server: ssl.SSLContext
    client: ssl.SSLContext
    """Trusts the server."""
    stranger: ssl.SSLContext
    """Trusts somebody else."""


def make_tls(*names: str) -> Tls:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(server)
    client, stranger = ssl.create_default_context(), ssl.create_default_context()
    authority.configure_trust(client)
    trustme.CA().configure_trust(stranger)
    return Tls(server, client, stranger)
