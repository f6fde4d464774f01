"""Stamps of results: what changes a digest, what does not, and what is measured again."""

import pytest

from benchmarks import kept, reached

CVODE, SOLVER = ("flames", ()), ("flames", ("h2o2.yaml",))
NETWORK, FLOW = ("flames", ("drm19-38k",)), ("foundation", (kept.COUPLING, "h2o2.yaml"))
EVERY = {CVODE, SOLVER, NETWORK, FLOW}
CHANGES = {
    "combred/native/source/solver/step.hpp": {SOLVER, NETWORK, FLOW},
    "combred/surrogates/library/source/network/step.hpp": {NETWORK},
    "combred/native/solver/progress.py": {SOLVER, NETWORK, FLOW},
    "combred/surrogates/model/transform.py": {NETWORK},
    "combred/experiments/premixed/flame.py": {CVODE, SOLVER, NETWORK},
    "combred/chemistry/mechanism.py": EVERY,
    "combred/chemistry/reactor.py": EVERY - {FLOW},  # by CVODE nothing of OpenFOAM is judged
    "coupling/openfoam/combredChemistry.C": {FLOW},
    "benchmarks/flows.py": {FLOW},  # which the script imports
    "benchmarks/kept.py": set(),
    "combred/report/style.py": set(),
}


def digests() -> dict:
    for cached in (kept._solver, kept._network, kept._networks, kept._coupling):
        cached.cache_clear()
    return {one: kept.code_of(*one) for one in EVERY}


@pytest.fixture(scope="module")
def before():
    yield digests()
    digests()  # without a changed file


@pytest.mark.parametrize("changed", CHANGES)
def test_a_digest_is_that_of_the_code_that_the_numbers_depend_on(changed, before, monkeypatch):
    essence, path = kept.essence, kept.ROOT / changed
    assert path.is_file()
    if path.suffix == ".py":
        of = reached.read(path)
        own = {name: [(f"{text}!", asked) for text, asked in o] for name, o in of.own.items()}
        new = reached.Module(own, of.imports)
        read = reached.read
        monkeypatch.setattr(reached, "read", lambda file: new if file == path else read(file))
    monkeypatch.setattr(kept, "essence", lambda file: essence(file) + "!" * (file == path))
    after = digests()
    assert {one for one in EVERY if after[one] != before[one]} == CHANGES[changed]


def test_comments_in_cpp_do_not_count_and_numbers_do(tmp_path):
    def essence(comment: str, number: int) -> str:
        (tmp_path / "a.hpp").write_text(
            f"// {comment}\nconstexpr int A = {number};  // {comment}\n"
            f'/* {comment}\n*/ auto url = "http://a/*{number}";\n'
        )
        return kept.essence(tmp_path / "a.hpp")

    assert essence("two", 1) == essence("one", 1) != essence("one", 2)


def test_a_changed_network_and_one_that_is_gone_are_not_current():
    stamped = kept.stamp("flames.py", "drm19-38k", f"{kept.ROOT}/benchmarks/data/boivin.yaml")
    assert stamped[kept.KEY]["of"] == ["drm19-38k", "benchmarks/data/boivin.yaml"]
    assert kept.is_current(stamped) and not kept.is_current({}) and not kept.is_current(None)
    for name, value in {"digest": "0" * 16, "of": ["drm19-gone"], "script": "gone"}.items():
        assert not kept.is_current({kept.KEY: stamped[kept.KEY] | {name: value}})


def test_every_script_that_writes_results_stamps_them():
    texts = {path.name: path.read_text() for path in (kept.ROOT / "benchmarks").glob("*.py")}
    writing = {name: text for name, text in texts.items() if "\nRESULTS = " in text}
    assert len(writing) > 10
    assert [name for name, text in writing.items() if "stamp(__file__" not in text] == []
