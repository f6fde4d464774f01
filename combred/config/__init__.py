"""Settings: one frozen dataclass per stage, and how `key=value` becomes one.

A leaf: imports nothing else of combred but `names`. Nothing else reads the command line. The
settings of networks and of the command are loaded at their first use.
"""

from typing import TYPE_CHECKING

from combred.config.data import SamplingSettings, SensitivitySettings
from combred.config.validation import ValidationSettings
from combred.names import loader

if TYPE_CHECKING:
    from combred.config.command import keys, resolve, value_of
    from combred.config.learning import NetworkSettings, RetrainingSettings, TrainingSettings
    from combred.config.profiles import PROFILES
    from combred.config.reduction import CRITERIA, ReductionSettings
    from combred.config.settings import STEPS, Settings

_HOMES = {
    **dict.fromkeys(("keys", "resolve", "value_of"), "command"),
    **dict.fromkeys(("NetworkSettings", "RetrainingSettings", "TrainingSettings"), "learning"),
    **dict.fromkeys(("CRITERIA", "ReductionSettings"), "reduction"),
    **{"PROFILES": "profiles", "STEPS": "settings", "Settings": "settings"},
}
__all__ = [
    "CRITERIA",
    "PROFILES",
    "STEPS",
    "NetworkSettings",
    "ReductionSettings",
    "RetrainingSettings",
    "SamplingSettings",
    "SensitivitySettings",
    "Settings",
    "TrainingSettings",
    "ValidationSettings",
    "keys",
    "resolve",
    "value_of",
]

__getattr__ = loader("combred.config", {k: f"config.{of}:{k}" for k, of in _HOMES.items()})
