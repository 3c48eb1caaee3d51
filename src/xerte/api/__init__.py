"""The one facade, in names and dates: the command line and the pages are thin over it.

`datasets` (load, import, browse) needs numpy only; `model` (Model, evaluate) brings torch and is loaded when first
asked for; `forecast` holds what both speak of; `questions` reads and writes many at once.
"""

import os
from typing import TYPE_CHECKING, Any

from xerte.api.datasets import load as load
from xerte.api.datasets import read_events as read_events
from xerte.api.forecast import Answer as Answer
from xerte.api.forecast import Forecast as Forecast
from xerte.api.forecast import Question as Question
from xerte.data.dataset import Dataset as Dataset

if TYPE_CHECKING:
    from xerte.api.client import Client as Client
    from xerte.api.model import Model as Model
    from xerte.api.model import evaluate as evaluate
    from xerte.api.training import train as train

# Threads that wait for work sleep instead of spinning, which makes a busy machine many times slower, and wide tensors
# lie in huge pages. Both count only
# where torch is not loaded yet: nothing above does that, and everything that does comes after.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")


def __getattr__(name: str) -> Any:
    if name in ("Model", "evaluate"):
        from xerte.api import model

        return getattr(model, name)
    if name == "Client":
        from xerte.api.client import Client

        return Client
    if name == "train":
        from xerte.api.training import train

        return train
    raise AttributeError(f"module 'xerte.api' has no attribute {name!r}")
