"""The acceptance criteria of a reduction, as they are written on the command line."""

import difflib

from combred.config.fields import is_positive, require, shown

CRITERIA = {
    "ignition": "worst relative error of the ignition delay",
    "ignition_mean": "mean relative error of the ignition delay",
    "flame": "worst relative error of the laminar flame speed",
}


def parse_criteria(text: str) -> dict[str, float]:
    """The limits by kind of error, as shares: "ignition:1%,flame:0.005" -> 0.01 and 0.005.

    Raises ValueError for a kind that is not in `CRITERIA`, naming the nearest, for one given twice,
    and for a limit that is no positive number. A plain number of 1 or more is refused, since a
    percent sign was probably forgotten.
    """
    limits: dict[str, float] = {}
    for item in text.split(",") if text.strip() else []:
        name, _, amount = (part.strip() for part in item.partition(":"))
        if name not in CRITERIA:
            near = difflib.get_close_matches(name, CRITERIA, n=1, cutoff=0.4)
            raise ValueError(
                f"reduction.criteria: {shown(name)!r} is none of {', '.join(CRITERIA)}"
                + (f"; did you mean {near[0]}?" if near else "")
            )
        require(name not in limits, f"reduction.criteria: {name} is given twice")
        number = amount.removesuffix("%").strip()
        require(
            is_positive(number),
            f"reduction.criteria: {shown(item.strip())!r} wants a positive limit, as in {name}:1%",
        )
        require(
            amount.endswith("%") or float(number) < 1,
            f"reduction.criteria: {item.strip()!r}: a plain number is a share (0.01 is 1 %); for "
            f"percent write {name}:{number}%",
        )
        limits[name] = float(number) / (100 if amount.endswith("%") else 1)
    return limits
