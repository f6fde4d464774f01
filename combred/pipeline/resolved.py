"""Settings that depend on the mechanism: its fuel, and the temperatures at which it ignites.

Takes `Settings` and a `Mechanism`; gives `Settings` in which none of them is left open.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from combred.chemistry.fuel import Mixture, resolve_fuel
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.transport import has_transport
from combred.config.settings import Settings
from combred.experiments.ignition.rollout import coldest_ignition
from combred.judging import temperatures
from combred.native.solver import Solver
from combred.surrogates.dataset.schema import StateFileError

MARGIN, HOTTEST = 100.0, 2300.0  # K, of the states of a training


@contextmanager
def of_settings(keys: str) -> Iterator[None]:
    """A context in which an error that physics raises gets the settings that decide it: a
    ValueError or a FileNotFoundError, not one of their subclasses, which are of files."""
    try:
        yield
    except (ValueError, FileNotFoundError) as error:
        if type(error) not in (ValueError, FileNotFoundError):
            raise
        raise type(error)(f"{keys}: {error}") from error


@contextmanager
def of_run(remedy: str) -> Iterator[None]:
    """A context in which an error about a file gets what the pipeline does about it."""
    try:
        yield
    except (ValueError, FileNotFoundError) as error:
        if type(error) not in (ValueError, FileNotFoundError, StateFileError):
            raise
        raise type(error)(f"{str(error).rstrip('.')}. {remedy}") from error


def resolved(settings: Settings, mechanism: Mechanism) -> Settings:
    """The settings with fuel and oxidizer as the mechanism spells them, and with the temperatures
    of the states and of the validation, where they are empty. Raises ValueError where fuel and
    oxidizer cannot be mixed or do not ignite, or where the fuel is not plain."""
    sampling, validation = settings.sampling, settings.validation
    if not has_transport(mechanism):
        validation = replace(validation, flame_phi=[])
    with of_settings("sampling.fuel, sampling.oxidizer"):
        fuel = resolve_fuel(mechanism, sampling.fuel)
        oxidizer = mechanism.spelled(sampling.oxidizer)
        mechanism.mixture(fuel, oxidizer, 1.0)
        sampling = replace(sampling, fuel=fuel, oxidizer=oxidizer)
        if sampling.T0 and validation.T0:
            return replace(settings, sampling=sampling, validation=validation)
        given = mechanism, Solver(mechanism), fuel, oxidizer
        if not sampling.T0:
            sampling = replace(sampling, T0=[coldest_ignition(*given) - MARGIN, HOTTEST])
        if not validation.T0:
            gas = Mixture(fuel, oxidizer)
            T0 = temperatures(mechanism, given[1], gas, validation.p, validation.dt)
            validation = replace(validation, T0=T0)
    return replace(settings, sampling=sampling, validation=validation)
