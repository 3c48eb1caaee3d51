"""`python -m reports`."""

from reports.cli import app

app(prog_name="python -m reports")
