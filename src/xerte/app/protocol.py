"""What is no HTTP never reaches the application; here it is refused in the shape of every error."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from xerte.app.errors import error_response


class Protocol(HttpToolsProtocol):
    """Uvicorn's own, but for its refusal in plain text."""

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Refuses, and hangs up."""
        hint = "send HTTP/1.1, with an address and headers below 64 KiB; what is longer belongs in the body"
        said = error_response(400, "bad_http", "the request cannot be read as HTTP", hint, {"connection": "close"})
        lines = [b"%b: %b\r\n" % header for header in said.raw_headers]
        self.transport.write(b"".join([b"HTTP/1.1 400 Bad Request\r\n", *lines, b"\r\n", bytes(said.body)]))
        self.transport.close()
