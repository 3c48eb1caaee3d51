"""Tables, figures and pages from a clone's experiments and traces: `python -m reports`."""
