"""The JSON documents of xerte: what `--json` prints, what HTTP takes and returns, what docs/json.md describes.

`base` (what all share, the error), `asked` (requests), `answered` (forecasts, explanations, comparisons), `listed`
(datasets, names, histories, models), `judged` (evaluations, faithfulness, trainings), `serving`
(what only a server has).

A document is loaded, with those beside it, when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xerte.api.schemas.answered import Answer as Answer
    from xerte.api.schemas.answered import Candidate as Candidate
    from xerte.api.schemas.answered import Change as Change
    from xerte.api.schemas.answered import Comparison as Comparison
    from xerte.api.schemas.answered import Edge as Edge
    from xerte.api.schemas.answered import Explanation as Explanation
    from xerte.api.schemas.answered import Fact as Fact
    from xerte.api.schemas.answered import Forecast as Forecast
    from xerte.api.schemas.answered import Graph as Graph
    from xerte.api.schemas.answered import ModelAnswers as ModelAnswers
    from xerte.api.schemas.answered import Node as Node
    from xerte.api.schemas.answered import Path as Path
    from xerte.api.schemas.answered import Place as Place
    from xerte.api.schemas.answered import Reply as Reply
    from xerte.api.schemas.answered import Scan as Scan
    from xerte.api.schemas.asked import AskRequest as AskRequest
    from xerte.api.schemas.asked import CompareRequest as CompareRequest
    from xerte.api.schemas.asked import EventIn as EventIn
    from xerte.api.schemas.asked import ExplainRequest as ExplainRequest
    from xerte.api.schemas.asked import FactIn as FactIn
    from xerte.api.schemas.asked import ForecastRequest as ForecastRequest
    from xerte.api.schemas.asked import Question as Question
    from xerte.api.schemas.base import Body as Body
    from xerte.api.schemas.base import Error as Error
    from xerte.api.schemas.base import Versions as Versions
    from xerte.api.schemas.judged import Evaluation as Evaluation
    from xerte.api.schemas.judged import Faithfulness as Faithfulness
    from xerte.api.schemas.judged import Metrics as Metrics
    from xerte.api.schemas.judged import Training as Training
    from xerte.api.schemas.listed import AboutEntity as AboutEntity
    from xerte.api.schemas.listed import Checked as Checked
    from xerte.api.schemas.listed import Dataset as Dataset
    from xerte.api.schemas.listed import Event as Event
    from xerte.api.schemas.listed import Feed as Feed
    from xerte.api.schemas.listed import Found as Found
    from xerte.api.schemas.listed import Gotten as Gotten
    from xerte.api.schemas.listed import History as History
    from xerte.api.schemas.listed import Match as Match
    from xerte.api.schemas.listed import Refused as Refused
    from xerte.api.schemas.listed import Statistics as Statistics
    from xerte.api.schemas.listed import Taken as Taken
    from xerte.api.schemas.listed import TrainedModel as TrainedModel
    from xerte.api.schemas.serving import Alert as Alert
    from xerte.api.schemas.serving import Card as Card
    from xerte.api.schemas.serving import EvaluationState as EvaluationState
    from xerte.api.schemas.serving import Imported as Imported
    from xerte.api.schemas.serving import Level as Level
    from xerte.api.schemas.serving import Preview as Preview
    from xerte.api.schemas.serving import Reliability as Reliability
    from xerte.api.schemas.serving import Watch as Watch
    from xerte.api.schemas.serving import WatchRequest as WatchRequest

_BASE_FIRST = "base", "asked", "answered", "judged", "listed", "serving"


def __getattr__(name: str) -> Any:
    for module in () if name.startswith("_") else _BASE_FIRST:
        known = vars(import_module(f"{__name__}.{module}"))
        if name in known:
            return globals().setdefault(name, known[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
