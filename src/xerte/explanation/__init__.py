"""The witness: what a finished inference graph says about its forecast. No second model."""
