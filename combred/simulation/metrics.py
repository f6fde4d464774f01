"""Ignition delay, relative error, and the summary of errors: functions of arrays alone."""

import numpy as np

IGNITED = 400.0  # K: a mixture has ignited where T is this much above its initial value


def ignition_delay(t: np.ndarray, T: np.ndarray) -> float:
    """Ignition delay [s]: the time of the largest dT/dt; NaN if T never rises by `IGNITED`.

    t (n,) [s] is equally spaced, T (n,) [K] may end in NaN. dT/dt is taken at midpoints, and its
    maximum refined by the parabola through it and its two neighbours.
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
    """|value - reference| / |reference|; NaN where an argument is NaN."""
    return abs(value - reference) / abs(reference)


def summarize(errors: list[float]) -> dict[str, float]:
    """Median, mean and worst (largest) of `errors`; NaN, a failed case, counts as infinite."""
    e = np.where(np.isfinite(errors), errors, np.inf)
    return {"median": float(np.median(e)), "mean": float(np.mean(e)), "worst": float(np.max(e))}
