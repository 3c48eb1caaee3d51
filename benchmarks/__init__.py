"""How fast: timings beside slow twins, the floor beneath them, and what happens when data grows.

Run from a clone: `python -m benchmarks`. The slow twins are those of the tests.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))
