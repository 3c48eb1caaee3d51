"""RE-Net: what an entity lately took part in, read as a sequence of neighbourhoods.

After Jin, Qu, Jin and Ren, "Recurrent Event Network: Autoregressive Structure Inference over Temporal Knowledge
Graphs", EMNLP 2020. Read `snapshots` (the history as graphs, one per time), `aggregation` (a neighbourhood becomes a
vector), `state` (the whole graph's state, learned first), `model` (the forecaster), `imagination` (many steps ahead).
"""

from xerte.baselines.re_net.imagination import imagine as imagine
from xerte.baselines.re_net.model import RENet as RENet
from xerte.baselines.re_net.model import RENetSettings as RENetSettings
