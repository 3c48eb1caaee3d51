"""Hostile inputs by the thousand: nothing but a result or one sentence may come of them.

`python -m fuzz --seconds 60` runs every target for so long; `--seed` repeats a run, `--only imports` chooses one.
"""
