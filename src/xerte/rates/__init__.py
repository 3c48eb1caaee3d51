"""HOW LIKELY, AND WHEN: rates of single events from decayed counts of earlier ones, calibrated.

Read `counts` (what is counted), `model` (from counts to probabilities), `fitting` (how its few numbers are learned).
"""
