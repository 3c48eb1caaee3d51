"""Forecasts future events on temporal knowledge graphs and shows why.

Reading order follows the data: `data` (from text to history), `graph` (from query to subgraph), `nn` and `model` (the
method), `baselines`, `evaluation` (the judge), `training`, `experiment`, `api` (what is offered here), `cli`.

The public names are loaded when they are first asked for: importing this package costs nothing.
"""

from typing import TYPE_CHECKING, Any

from xerte.errors import BadRowError as BadRowError
from xerte.errors import CheckpointError as CheckpointError
from xerte.errors import DatasetError as DatasetError
from xerte.errors import DownloadError as DownloadError
from xerte.errors import InputError as InputError
from xerte.errors import RemadeWarning as RemadeWarning
from xerte.errors import UnknownNameError as UnknownNameError
from xerte.errors import XerteError as XerteError

if TYPE_CHECKING:
    from xerte.api import Answer as Answer
    from xerte.api import Client as Client
    from xerte.api import Dataset as Dataset
    from xerte.api import Forecast as Forecast
    from xerte.api import Model as Model
    from xerte.api import Question as Question
    from xerte.api import evaluate as evaluate
    from xerte.api import load as load
    from xerte.api import read_events as read_events
    from xerte.api import train as train

__version__ = "1.0.0rc1"
__all__ = [
    "Answer",
    "BadRowError",
    "CheckpointError",
    "Client",
    "Dataset",
    "DatasetError",
    "DownloadError",
    "Forecast",
    "InputError",
    "Model",
    "Question",
    "RemadeWarning",
    "UnknownNameError",
    "XerteError",
    "evaluate",
    "load",
    "read_events",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from xerte import api

        return getattr(api, name)
    raise AttributeError(f"module 'xerte' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
