"""Devices by name."""

import torch

from xerte.errors import InputError


def choose_device(device: str) -> torch.device:
    """The device of this name; "auto" is the GPU where there is one.

    Raises:
        InputError: there is no such device.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(device)
        if chosen not in (torch.device("cpu"), torch.device("cuda", chosen.index)):
            raise RuntimeError(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError):
        raise InputError(f"there is no device {device} here: choose cpu or auto") from None
    return chosen
