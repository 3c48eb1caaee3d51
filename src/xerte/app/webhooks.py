"""Sends one webhook, signed as https://www.standardwebhooks.com says, to an address that may be called.

A URL comes from whoever may manage alerts, and the server sits where they do not: without care, it would call what they
cannot reach. So: http and https only, no user names in the URL, no redirects, and every address that the host's name
stands for must be public; the connection goes to the very address that was checked. A host that the server's owner
named (`--alert-host`) may be anywhere.
"""

import base64
import hashlib
import hmac
import http.client
import socket
import ssl
from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from xerte.errors import InputError, shown

TIMEOUT_S = 10.0
_MOST_READ = 1024


def check_url(url: str, hosts: Collection[str] = ()) -> SplitResult:
    """The parts of a URL that may be called.

    Args:
        url: where to.
        hosts: names and addresses that may lie in a private network.

    Raises:
        InputError: it may not.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InputError(f"{shown(url)} is no address", hint="give one like https://example.org/alerts") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InputError(f"{shown(url)} is no address that can be called", hint="give an http or https one")
    if parts.username is not None or parts.password is not None:
        raise InputError("an address with a user name in it is not called", hint="the signature says who calls")
    if not url.isascii() or any(sign <= " " for sign in url):
        raise InputError(f"{shown(url)} has characters that belong in no address", hint="write them as %XX or xn--")
    if parts.hostname not in hosts:
        addresses(parts.hostname, port or 0, hosts, look_up=False)
    return parts


def addresses(host: str, port: int, hosts: Collection[str], *, look_up: bool = True) -> list[str]:
    """The addresses of a host, all of them public, unless the host is named.

    Args:
        host, port: whose.
        hosts: those that may lie in a private network.
        look_up: also those that a name stands for; else only one that is written as numbers is checked.

    Raises:
        InputError: one of them is not public, or there is none.
    """
    try:
        found = [str(ip_address(host))]
    except ValueError:
        if not look_up:
            return []
        try:
            found = [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        except OSError as error:
            raise InputError(f"{shown(host)} is not found ({error.strerror or error})") from None
    if host not in hosts and not all(_is_public(one) for one in found):
        raise InputError(
            f"{shown(host)} lies in a private network",
            hint="the server can be started so that it allows this host for alerts",
        )
    return found


def _is_public(text: str) -> bool:
    address = ip_address(text)
    inside = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    return (inside or address).is_global and not address.is_multicast


def sign(secret: str, id: str, timestamp: int, body: str) -> str:
    """`v1,` and the base64 of HMAC-SHA256 over "id.timestamp.body"."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{id}.{timestamp}.{body}".encode(), hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def post(url: str, secret: str, id: str, timestamp: int, body: str, hosts: Collection[str] = ()) -> None:
    """Sends a body once; returns when the receiver has said 2xx.

    Raises:
        InputError: the address may not be called, does not answer, or answers something else.
    """
    parts = check_url(url, hosts)
    host, port = str(parts.hostname), parts.port or (443 if parts.scheme == "https" else 80)
    checked = addresses(host, port, hosts)[0]
    secure = ssl.create_default_context() if parts.scheme == "https" else None
    connection = _Pinned(host, port, checked, secure)
    headers = {
        "content-type": "application/json",
        "user-agent": "xerte",
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, id, timestamp, body),
    }
    try:
        connection.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, headers)
        response = connection.getresponse()
        response.read(_MOST_READ)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise InputError(f"{host} does not answer ({error})") from None
    finally:
        connection.close()
    if not 200 <= response.status < 300:
        raise InputError(f"{host} answered {response.status}")


class _Pinned(http.client.HTTPConnection):
    """A connection to an address that was checked: looking the name up again might find another one."""

    def __init__(self, host: str, port: int, address: str, secure: ssl.SSLContext | None) -> None:
        super().__init__(host, port, timeout=TIMEOUT_S)
        self._address, self._secure = address, secure

    def connect(self) -> None:
        """To the address, with the host's name in the certificate."""
        self.sock = socket.create_connection((self._address, self.port), self.timeout)
        if self._secure is not None:
            self.sock = self._secure.wrap_socket(self.sock, server_hostname=self.host)
