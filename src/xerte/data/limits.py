"""How large an events file and its parts may be; what is larger is refused in one sentence, not read for hours."""

LONGEST_LINE = 2_000_000
"""Bytes in one row, a quoted field with line ends in it included."""
MOST_COLUMNS = 10_000
"""Columns of a table, or different keys of JSON lines."""
DEEPEST_JSON = 100
"""Objects and lists within each other in a row of JSON."""
LARGEST_UNPACKED = 64 << 30
"""Bytes a compressed file may unpack to."""
LARGEST_RATIO = 300
"""How many times its own size a compressed file may unpack to, once that is more than `SMALL_UNPACKED` bytes."""
SMALL_UNPACKED = 1 << 30
MOST_REPEATED = 200_000_000
"""Facts that lasting events may become, one for each unit of time."""
