"""The witness: what a finished inference graph says about its forecast. No second model."""

EXTRA = "pip install 'xerte[explain]', in a clone pip install -e '.[explain]'"
"""How to get what pictures and other tools' graphs need."""
