"""Tensor shapes, checked by jaxtyping and beartype in every call and every object of the modules that state them."""

from collections.abc import Callable
from typing import Any

from beartype import beartype
from jaxtyping import install_import_hook

_NN = ("attention", "edge_logits", "encoding", "execution", "initial", "layers", "loss", "propagation", "replay")
_MODULES = ["xerte.forecaster", "xerte.graph.growth", "xerte.graph.slots", "xerte.model", "xerte.parts"]
_MODULES += [f"xerte.nn.{name}" for name in _NN]  # kernels are read by Triton as they are written


def check_shapes() -> None:
    """Call it before anything imports one of the modules."""
    install_import_hook(_MODULES, f"{__name__}.shapes_only")


def shapes_only(function: Callable[..., Any]) -> Callable[..., Any]:
    """Checks the tensors of a function; all else is mypy's, which also knows what is imported for types alone."""
    hints = function.__annotations__.items()
    function.__annotations__ = {name: hint for name, hint in hints if "jaxtyping" in repr(hint)}
    return beartype(function)
