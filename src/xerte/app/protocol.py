"""What is no HTTP never reaches the application; here it is refused in the shape of every error.

Nor do heads or trailers without end, which the parser would collect until memory is full.
"""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from xerte.app.errors import error_response

LONGEST = 64 << 10
"""So many bytes an address and headers may have together, and so many may come that are no body."""


class Protocol(HttpToolsProtocol):
    """Uvicorn's own, with a limit, and but for its refusal in plain text."""

    _kept = _aside = 0
    """Bytes of this request's address and headers; bytes since the last that were of a body or ended a message."""

    def data_received(self, data: bytes) -> None:
        """Reads what came."""
        self._aside += len(data)
        super().data_received(data)
        if self._aside > LONGEST and not self.transport.is_closing():
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """A request begins."""
        self._kept = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A piece of the address."""
        self._keep(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer behind the body."""
        self._keep(len(name) + len(value))
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """A piece of the body, which the guard limits."""
        self._aside = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request ends."""
        self._aside = 0
        super().on_message_complete()

    def _keep(self, size: int) -> None:
        self._kept += size
        if self._kept > LONGEST:
            raise ValueError("too long")  # of which the parser makes a refusal

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Refuses, and hangs up."""
        hint = "send HTTP/1.1, with an address and headers below 64 KiB; what is longer belongs in the body"
        said = error_response(400, "bad_http", "the request cannot be read as HTTP", hint, {"connection": "close"})
        lines = [b"%b: %b\r\n" % header for header in said.raw_headers]
        self.transport.write(b"".join([b"HTTP/1.1 400 Bad Request\r\n", *lines, b"\r\n", bytes(said.body)]))
        self.transport.close()
