"""The embedded world: states, leaders, ministries and movements whose every deed has a known reason."""

from xerte.data.world.rules import CauseKind
from xerte.data.world.world import Causes, World, generate

__all__ = ["CauseKind", "Causes", "World", "generate"]
