"""Forecasts future events on temporal knowledge graphs and shows why.

Reading order follows the data: `data` (from text to history), `graph` (from query to subgraph), `nn` and `model` (the
method), `baselines`, `evaluation` (the judge), `training`, `experiment`, `api` (what is offered here), `cli`.
"""

__version__ = "0.1.0"
