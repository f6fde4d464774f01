"""The artefacts of a run: where each lies, and what it depends on.

Takes a `Run`; gives an `Artefact`. The settings that an artefact depends on stand here and nowhere
else. Whether a file that is there may be used is asked of its `Artefact`.
"""

from dataclasses import asdict, replace
from typing import Any

from combred import data
from combred.chemistry.reactor import REFERENCE
from combred.config.settings import Settings
from combred.experiments.judges import AcceptanceCriteria
from combred.experiments.stirred import experiment as stirred_reactors
from combred.files.records import digest, digest_of
from combred.native.solver.library import PRECISE
from combred.pipeline.files import Artefact, NetworkArtefact
from combred.pipeline.resolved import of_settings
from combred.pipeline.run import Run
from combred.pipeline.stages import stage_table
from combred.surrogates.dataset.table import digest_of_own
from combred.surrogates.sampling.sample import provenance
from combred.surrogates.sensitivity.file import sensitive_provenance
from combred.surrogates.sensitivity.sampling.sample import plan

BY_CVODE, BY_SOLVER = {"chemistry": REFERENCE._asdict()}, {"tolerance": PRECISE}  # of references


def states(run: Run) -> Artefact:
    """states.h5: the labelled states, or states of the user's own."""
    path = run.path("states.h5")
    if own := digest_of_own(path):
        return Artefact(path, {"states.h5 of the user": own})
    return Artefact(path, provenance(run.settings.sampling, run.settings.seed))


def sensitive(run: Run) -> Artefact:
    """sensitive.h5: states with sensitivities; inputs {} where none are asked for, and for networks
    of the state alone."""
    s, path = run.settings, run.path("sensitive.h5")
    if not s.network.kinetics or not plan(run.mechanism, s.sensitivity):
        return Artefact(path, {})
    made_with = run.mechanism, s.sensitivity, s.sampling, s.seed
    return Artefact(path, sensitive_provenance(*made_with))


def trained_network(run: Run) -> NetworkArtefact:
    """stage0.safetensors where it is trained here."""
    s = run.settings
    made = {"network": asdict(s.network), "training": s.training.outcome}
    inputs = {"states": states(run).inputs, **_sensitive(run), **made}
    return NetworkArtefact(run.weights(0), inputs, 0)


def shipped_network(run: Run, name: str) -> NetworkArtefact:
    """stage0.safetensors where it is the model `name` that comes with combred."""
    made = {"shipped": name, "digest": shipped_digest(name), "states": states(run).inputs}
    return NetworkArtefact(run.weights(0), made, 0)


def shipped_digest(name: str) -> str:
    """The digest of the file of a model that comes with combred."""
    return digest(data.FOLDER / "models" / f"{name}.safetensors")


def reduced_network(run: Run, stage: int) -> NetworkArtefact:
    """stageN.safetensors of a stage after stage 0; stage N - 1 has to be there."""
    s, r = run.settings, run.settings.reduction
    row = stage_table(r)[stage - 1]
    how: dict[str, Any]
    if r.criteria:
        how = {"method": r.method, "limits": r.limits, "criteria": criteria(run)}
    elif row.automatic:
        how = {"automatic": row.parameters, "attempts": r.attempts}
    elif row.layer:
        how = {"layer": row.layer, "threshold": row.threshold}
    else:
        how = {"method": row.method, "parameters": row.parameters}
    inputs = {
        "parent": digest(run.weights(stage - 1)),
        **how,
        "compensation": r.compensation,
        "retraining": s.retraining_settings.outcome,
    }
    return NetworkArtefact(run.weights(stage), {**_sensitive(run), **inputs}, stage)


def _sensitive(run: Run) -> dict:
    """The inputs of sensitive.h5, by name; {} where there is none."""
    inputs = sensitive(run).inputs
    return {"sensitive": inputs} if inputs else {}


def acceptance(s: Settings) -> AcceptanceCriteria:
    """The acceptance criteria; of one flame_phi, which is no range, their flames have that of
    phi."""
    v = s.validation
    one = len(set(v.flame_phi)) == 1
    return AcceptanceCriteria.of(s.reduction, replace(v, flame_phi=[]) if one else v)


def criteria(run: Run) -> dict:
    """What the references of the acceptance criteria depend on."""
    s = run.settings
    with of_settings("reduction.criteria, validation.T0, .p, .phi, .flame_T, .flame_phi"):
        cases = acceptance(s).cases()
    given = {"cases": cases, "burnt_time": s.validation.burnt_time}
    return given | BY_CVODE | BY_SOLVER | _reactors(run)


def ignitions(run: Run) -> Artefact:
    """validation.h5: the ignitions of every stage and of CVODE."""
    v = run.settings.validation
    cases = {"T0": v.T0, "phi": v.phi, "p": v.p, "burnt_time": v.burnt_time}
    return Artefact(run.path("validation.h5"), {"validation": cases, **BY_CVODE, **_reactors(run)})


def flames(run: Run) -> Artefact:
    """flames.h5: the flames of every stage and of the solver; inputs {} where none are asked
    for."""
    v = run.settings.validation
    cases = {"flame_phi": v.flame_phi, "flame_T": v.flame_T, "p": v.p, "cells": v.flame_cells}
    inputs = {"validation": cases, **BY_SOLVER, **_reactors(run)} if v.flame_phi else {}
    return Artefact(run.path("flames.h5"), inputs)


def stirred(run: Run) -> Artefact:
    """stirred.h5: the stirred reactors of every stage and of the solver; inputs {} for networks of
    the state alone, which have one dt and have not seen mixtures with burnt gas."""
    s = run.settings
    if not s.network.kinetics:
        return Artefact(run.path("stirred.h5"), {})
    cases = [asdict(case) for case in stirred_reactors.cases(s.validation.p)]
    inputs = BY_SOLVER | _reactors(run) | {"dt": stirred_reactors.CASE.dt, "cases": cases}
    return Artefact(run.path("stirred.h5"), inputs)


def _reactors(run: Run) -> dict:
    """Time step and mixture of the cases, and the mechanism with its transport data, on which every
    reference depends."""
    s, of = run.settings, {"mechanism": digest_of({"text": run.mechanism.text})}
    return of | {"dt": s.validation.dt, "fuel": s.sampling.fuel, "oxidizer": s.sampling.oxidizer}
