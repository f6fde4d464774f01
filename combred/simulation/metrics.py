"""Numbers by which a rollout is judged. Plain functions of arrays; a leaf."""

import numpy as np

IGNITED = 400.0  # K above the initial temperature: what counts as ignited


def ignition_delay(t: np.ndarray, T: np.ndarray) -> float:
    """Time [s] of the steepest rise of T (n,) [K] over t (n,) [s], equally spaced; NaN if T never
    rises by `IGNITED`.

    The maximum of dT/dt at midpoints, refined by the parabola through it and its neighbours.
    """
    if not np.nanmax(T) > T[0] + IGNITED:
        return np.nan
    rate = np.diff(T)
    i = int(np.nanargmax(rate))
    middle = 0.5 * (t[i] + t[i + 1])
    if i == 0 or i == len(rate) - 1:
        return middle
    left, top, right = rate[i - 1 : i + 2]
    curvature = left - 2 * top + right
    shift = 0.5 * (left - right) / curvature if curvature < 0 else 0.0
    return middle + shift * (t[1] - t[0])


def relative_error(value: float, reference: float) -> float:
    """|value - reference| / |reference|; NaN stays NaN."""
    return abs(value - reference) / abs(reference)


def summarize(errors: list[float]) -> dict[str, float]:
    """Median, mean and worst of errors; a NaN (a failed case) makes mean and worst infinite."""
    e = np.where(np.isfinite(errors), errors, np.inf)
    return {"median": float(np.median(e)), "mean": float(np.mean(e)), "worst": float(np.max(e))}
