"""Numbers in sentences. Needs nothing, so that commands may load it at once."""


def counted(number: int, one: str = "fact", many: str = "") -> str:
    """So many facts, or of what else there is one or many: "1 fact", "1,968 facts", "2 entities"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
