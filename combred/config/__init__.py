"""Settings: one frozen dataclass per stage, and how `key=value` becomes one.

A leaf: imports nothing else of combred. Nothing else reads the command line.
"""

from combred.config.command import keys, resolve, value_of
from combred.config.data import SamplingSettings, SensitivitySettings
from combred.config.learning import NetworkSettings, RetrainingSettings, TrainingSettings
from combred.config.profiles import PROFILES
from combred.config.reduction import CRITERIA, ReductionSettings
from combred.config.settings import STEPS, Settings
from combred.config.validation import ValidationSettings

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
