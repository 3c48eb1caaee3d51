"""A guard for what a CUDA graph is to replay, without a GPU: it is traced with tensors that hold no data."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from xerte import kernels


def recorded(function: Callable[..., Any], *arguments: Tensor) -> fx.GraphModule:
    """What the function does, as a graph.

    Raises:
        AssertionError: the host reads a tensor, a size follows from content, or numbers are copied from the host.
    """
    without = patch.object(kernels, "compiled", lambda name, rows=0: None)  # loops for a CPU: a GPU never meets them
    try:
        with without:
            graph = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*arguments)
    except RuntimeError as error:  # the host did something with a number it cannot know
        raise AssertionError(str(error).splitlines()[0]) from error
    for node in graph.graph.nodes:
        assert not free_unbacked_symbols(node.meta.get("val")), f"{node.target} depends on data"
        assert "lift_fresh" not in str(node.target), "numbers are copied from the host"
    return graph
