"""Numbers that a surrogate in torch and a compiled one have in common. Needs no torch."""

NETWORK_TOLERANCE = 0.01  # the default
FAR = 10.0  # times below or above the pressures of a training


def usual_p(low: float, high: float) -> tuple[float, float]:
    """The pressures [Pa] outside which `Stepper` warns, of those of a training."""
    return low / FAR, high * FAR
