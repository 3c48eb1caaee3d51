"""Bytes and texts that programs stumble over."""

import random

SPICE = [
    b"", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\n", b"\r\n", b'"', b'""', b"'", b",", b";", b"\t",
    b"|", b"=1+1", b"{", b"}", b"[", b"]", b"{x}", b"%d", b"%", b"\\", b"/", b"..", b"*", b"?", b"[1]", b"-", b"--",
    b"@", b"NA", b"nan", b"inf", b"-0", b"0x10", b"1e999", b"1" * 5000, b"9" * 30, b"2024-02-30", b"1/2/2024",
    b"31.12.1999", b"2024-01-01T25:00", b"0000-01-01", b"9999-12-31", b"99999-01-01", b"-1",
    b"1388534400,5", b"1388534400000000000",
    b"\x1b[31m", "\u202e".encode(), "\u200b".encode(), "é".encode(), "e\u0301".encode(), "👩\u200d🚀".encode(),
    b"\xed\xa0\x80", b"a" * 3000, b"SELECT 1", b"'; DROP TABLE raw; --", b"true", b"null", b'"\\ud800"',
]  # fmt: skip


def mutated(rng: random.Random, content: bytes, most: int = 8) -> bytes:
    """The content with a few changes: bits flipped, pieces cut, doubled, swapped, spice put in."""
    data = bytearray(content)
    for _ in range(rng.randint(1, most)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at : at + rng.choice((1, 1, 3, 20, 200))]
        elif kind == 2:
            piece = data[at : at + rng.choice((1, 5, 50))]
            data[at:at] = piece * rng.choice((1, 1, 2, 50))
        elif kind == 3:
            other = rng.randrange(len(data) + 1)
            data[at : at + 4], data[other : other + 4] = data[other : other + 4], data[at : at + 4]
        else:
            data[at:at] = rng.choice(SPICE)
    return bytes(data)


def odd_text(rng: random.Random) -> str:
    """A text nobody expects; half of all bytes that are no UTF-8 are in it as surrogates, as in arguments."""
    pieces = [rng.choice(SPICE) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    return b"".join(pieces).decode(errors="surrogateescape")
