"""Where the program keeps what it was given: datasets, downloads and models."""

import os
from pathlib import Path

from xerte.errors import InputError


def home_folder(home: Path | None = None) -> Path:
    """The given folder, else $XERTE_HOME, else the platform's folder for user data. It need not exist yet.

    Raises:
        InputError: $XERTE_HOME is a file.
    """
    if home is not None:
        return Path(home)
    chosen = os.environ.get("XERTE_HOME")
    if chosen:
        folder = Path(chosen).expanduser()
        if folder.is_file():
            raise InputError(f"XERTE_HOME is {chosen}, which is a file: set it to a folder, there or yet to be made")
        return folder
    from platformdirs import user_data_path

    return user_data_path("xerte", appauthor=False)
