"""Settings of the export."""

from dataclasses import dataclass

from combred.config.reduction import CRITERIA, parse_criteria
from combred.config.values import setting


@dataclass(frozen=True)
class ExportSettings:
    """Which networks are exported for flow codes."""

    accept: str = setting(
        "ignition:10%,flame:10%",
        "largest errors of the validation with which a network is exported. The library is judged "
        "with the solver behind the network: above the limits the command writes rejected.pt "
        "alone, and fails. surrogate.pt has no solver, and is named rejected.pt where the network "
        f"alone exceeds them; of {', '.join(CRITERIA)}",
    )

    def __post_init__(self):
        parse_criteria(self.accept, "export.accept")

    @property
    def limits(self) -> dict[str, float]:
        """The largest accepted error of each kind, a share."""
        return parse_criteria(self.accept, "export.accept")
