"""Relative error, and the summary of errors: functions of numbers alone."""

import numpy as np


def relative_error(value: float, reference: float) -> float:
    """|value - reference| / |reference|; NaN where an argument is NaN."""
    return abs(value - reference) / abs(reference)


def summarize(errors: list[float]) -> dict[str, float]:
    """Median, mean and worst (largest) of `errors`; NaN, a failed case, counts as infinite."""
    e = np.where(np.isfinite(errors), errors, np.inf)
    return {"median": float(np.median(e)), "mean": float(np.mean(e)), "worst": float(np.max(e))}
