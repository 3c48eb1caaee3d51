"""The published tables beside ours, from a checkout's experiments and traces."""

from xerte.experiment.definition import HEADINGS as HEADINGS
from xerte.experiment.definition import WORST as WORST
from xerte.experiment.figures import FOLDER as FOLDER
from xerte.experiment.figures import Figure as Figure
from xerte.experiment.figures import figures as figures
from xerte.experiment.paper import Row as Row
from xerte.experiment.paper import aggregation_rows as aggregation_rows
from xerte.experiment.paper import sampling_rows as sampling_rows
from xerte.experiment.paper import step_rows as step_rows
from xerte.experiment.paper import table_1_rows as table_1_rows
from xerte.experiment.paper import text_rows as text_rows
from xerte.experiment.paper import time_rows as time_rows
from xerte.experiment.paper import update_parts as update_parts
from xerte.experiment.paper import update_rows as update_rows
from xerte.experiment.report import Cost as Cost
from xerte.experiment.report import Line as Line
from xerte.experiment.report import costs as costs
from xerte.experiment.report import markdown as markdown
from xerte.experiment.report import on_the_world as on_the_world
from xerte.experiment.report import table_1 as table_1
