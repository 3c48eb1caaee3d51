"""The judge: filters, ranks, metrics, protocol. Knows no model.

Reading order: protocol (what is asked), filters (what else is true), ranks (the place of the answer), evaluate (the
way through a split), metrics (what the ranks say), bootstrap and compare (how sure that is).
"""
