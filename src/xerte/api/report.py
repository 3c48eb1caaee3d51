"""The published tables beside ours, from a checkout's experiments and traces."""

from xerte.experiment.definition import HEADINGS as HEADINGS
from xerte.experiment.report import Cost as Cost
from xerte.experiment.report import Line as Line
from xerte.experiment.report import costs as costs
from xerte.experiment.report import markdown as markdown
from xerte.experiment.report import on_the_world as on_the_world
from xerte.experiment.report import table_1 as table_1
