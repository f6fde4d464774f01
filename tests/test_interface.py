"""The public interface: the names that `combred` gives, and the packages of a wheel."""

import tomllib
from pathlib import Path

import pytest

import combred

PACKAGE = Path(combred.__file__).parent


def test_modules_are_available_under_their_short_names():
    from combred.experiments.ignition import rollout as ignition
    from combred.surrogates.files import export

    assert (combred.ignition, combred.export) == (ignition, export)
    assert callable(combred.kernels.group) and callable(combred.native.compile)
    assert combred.reduce is combred.reduction.reduce


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'quench'"):
        combred.quench  # noqa: B018


@pytest.mark.parametrize(
    ("name", "near"), [("cvode", "CVODE"), ("Load", "load"), ("solvr", "solver")]
)
def test_of_an_unknown_name_the_nearest_is_told(name, near):
    with pytest.raises(AttributeError, match=f"did you mean {near}\\?"):
        getattr(combred, name)
    with pytest.raises(AttributeError, match=r"did you mean compile_cuda\?"):
        combred.native.compile_CUDA  # noqa: B018


@pytest.mark.parametrize("wrong", [3.0, {"heating": 1.0}])
def test_sources_of_another_type_are_refused_at_once(wrong):
    with pytest.raises(TypeError, match="give combred.Sources or None"):
        combred.solver("h2o2.yaml").with_sources(wrong)


def test_the_wheel_has_every_package():
    text = (PACKAGE.parent / "pyproject.toml").read_text()
    listed = set(tomllib.loads(text)["tool"]["setuptools"]["packages"])
    folders = {file.parent.relative_to(PACKAGE.parent) for file in PACKAGE.rglob("__init__.py")}
    assert listed - {"combred.data", "combred.coupling"} == {".".join(f.parts) for f in folders}
