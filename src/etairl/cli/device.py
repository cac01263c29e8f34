"""`--device`: where a run computes."""

from typing import Literal

import jax

from etairl.types import InputError

Device = Literal["cpu", "gpu", "tpu"]


def check_device(device: Device | None) -> None:
    """Refuse a device that is not there; `choose_device` of `cli.early` has asked for it."""
    try:
        backend = jax.default_backend()
    except (RuntimeError, AssertionError):  # a driver that is broken, or of another version
        backend = "none that works"
    if device is None or device == backend:
        return
    if device == "cpu":
        jax.config.update("jax_default_device", jax.devices("cpu")[0])  # called from Python
        return
    raise InputError(
        f"--device {device}: none was found, only {backend}; leave --device out, or see 'Devices' "
        "in docs/installing.md for how to install for it"
    )
