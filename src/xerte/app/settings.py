"""The settings of one server."""

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address


@dataclass(frozen=True)
class ServerSettings:
    """How to listen, and how much to take.

    Attributes:
        host, port: where it listens.
        write: lets loopback clients add events without a token.
        alert_hosts: hosts that alerts may be sent to although they lie in a private network.
        cors: origins whose pages may call; none unless asked.
        max_body: bytes of a request.
        max_table: bytes of a table that is imported.
        max_tables: tables that are taken in at once.
        max_batch: questions or events in one request.
        max_waiting: requests being served or waiting; further ones are asked to come back.
        max_per_client: the same for one client.
        timeout_s: how long a request may take.
        table_s: the same for a table that is imported.
        stop_s: how long requests under way may go on when the server stops.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    write: bool = False
    cors: tuple[str, ...] = ()
    alert_hosts: tuple[str, ...] = ()
    max_body: int = 4 << 20
    max_table: int = 64 << 20
    max_tables: int = 2
    max_batch: int = 10_000
    max_waiting: int = 1024
    max_per_client: int = 512
    timeout_s: float = 30.0
    table_s: float = 300.0
    stop_s: float = 10.0

    @property
    def open(self) -> bool:
        """Whether reading needs no token: nobody but this machine can reach the server."""
        return is_loopback(self.host)


@lru_cache(1024)
def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
