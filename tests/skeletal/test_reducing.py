"""A reduction from the file to the file: hydrogen, in this process."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from combred import command, load_mechanism
from combred.files import records
from combred.report.skeletal import write_reduction
from combred.skeletal import reducing, references, result
from combred.skeletal.judging import Panel
from combred.skeletal.record import free_name
from combred.skeletal.reducing import reduce_mechanism
from combred.skeletal.search import Search, Step

pytestmark = [
    pytest.mark.usefixtures("in_this_process", "quick_factors"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of Cantera's own calls
]
OF = {"fuel": "H2:1", "error": 0.02}


@pytest.fixture(scope="module")
def reduced(tmp_path_factory, in_process, quick_factors, few_cases):
    """A finished reduction: its folder and its numbers."""
    folder = tmp_path_factory.mktemp("reduced")
    with in_process(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(result, "times", lambda *_: [2e-6, 1e-6])
        return folder, reduce_mechanism("h2o2.yaml", folder=folder, **OF)


def stop(*_):
    raise KeyboardInterrupt


def test_the_result_is_within_the_limit_and_loads(reduced):
    """Argon and at least one reaction are not needed; errors of held-out cases are of the size of
    those that were judged."""
    folder, record = reduced
    mechanism = load_mechanism(str(folder / record["file"]))
    assert list(mechanism.species_names) == record["species"] and "AR" not in record["species"]
    assert {"H2", "O2", "N2"} <= set(record["species"])
    n = mechanism.solution(transport=False).n_reactions
    assert n == record["reactions"] < record["of"][1] == 29
    assert set(record["judged"]) == {"ignition delay", "extinction", "flame"}
    assert all(error <= 0.02 for error in record["judged"].values())
    held = [abs(e) for cases in record["held_out"].values() for e in cases.values()]
    assert len(held) > 60 and 0.0 < max(held) < 0.03
    of = "flame", "300 K, 1 atm, phi 1, speed"
    groups = record["judged_cases"], record["values"]["judged_cases"]
    speed, value = (group[of[0]][of[1]] for group in groups)
    assert abs(speed) <= record["judged"]["flame"] and 2.0 < value < 3.0  # m/s
    assert record["path"][0]["removed"] == ["AR"] and record["path"][-1]["species"] <= 9
    text = (folder / record["file"]).read_text()
    assert f"{len(record['species'])} of 10 species" in text


@pytest.mark.usefixtures("compiled_quickly")
def test_it_goes_on_after_the_last_file_that_is_there(reduced, tmp_path, monkeypatch):
    """Killed after the first step, after the mechanism and after the last record are written, and
    done again by the same call; a finished one is read."""
    folder, known = reduced
    for part in folder.glob("references*"):
        shutil.copytree(part, tmp_path / part.name)
    monkeypatch.setattr(result, "times", lambda *_: [2e-6, 1e-6])
    write, left = records.write_files, [0]

    def killed(*given, **options):
        write(*given, **options)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    seen = []
    for left[0] in (1, 1, 2):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(records, "write_files", killed)
            reduce_mechanism("h2o2.yaml", folder=tmp_path, **OF)
        seen.append(json.loads((tmp_path / "reduce.json").read_text()))
        assert (tmp_path / known["file"]).exists() == (len(seen) > 1)
    assert len(seen[0]["path"]) == 1 and "file" not in seen[1] and "file" in seen[2]
    monkeypatch.setattr(reducing, "detailed_results", stop)
    record = reduce_mechanism("h2o2.yaml", folder=tmp_path, **OF)
    assert record["path"][0] == seen[0]["path"][0]  # with its seconds: it was not walked again
    for key in ("species", "reactions", "judged", "held_out", "file", "file_sha256"):
        assert record[key] == known[key], key
    assert [path.name for path in tmp_path.glob("*.yaml")] == [known["file"]]
    with pytest.raises(ValueError, match="of another reduction, with other .*ranges.fuel: give"):
        reduce_mechanism("h2o2.yaml", folder=tmp_path, fuel="H2:1, H:0.1", error=0.02)
    text = load_mechanism("h2o2.yaml").text
    assert "diameter: 2.92" in text  # of the transport data of H2
    (tmp_path / "h2o2.yaml").write_text(text.replace("diameter: 2.92", "diameter: 1.92"))
    with pytest.raises(ValueError, match="of another reduction, with other text: give"):
        reduce_mechanism(str(tmp_path / "h2o2.yaml"), folder=tmp_path, **OF)


def test_no_reduction_replaces_another(reduced, tmp_path, monkeypatch):
    """Others of the same folder take the references that are there. One with as many species has a
    name of its own, what is not finished stays, and every command finds its own result again."""
    known, folder = reduced[1], tmp_path / "reduced"
    shutil.copytree(reduced[0], folder)
    monkeypatch.setattr(result, "times", lambda *_: [2e-6, 1e-6])
    for computed in ("detailed_delays", "detailed_extinctions", "flame_of"):
        monkeypatch.setattr(references, computed, lambda *_: pytest.fail("computed again"))
    n, text = len(known["species"]), (folder / known["file"]).read_bytes()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(reducing, "choose", stop)
        reduce_mechanism("h2o2.yaml", folder=folder, fuel="H2:1", species=n)
    reduce_mechanism("h2o2.yaml", folder=folder, fuel="H2:1", error=0.3)
    (unfinished,) = folder.glob("reduce.*.json")
    path = json.loads(unfinished.read_text())["path"]
    record = reduce_mechanism("h2o2.yaml", folder=folder, fuel="H2:1", species=n)
    assert record["path"] == path and not unfinished.exists()
    assert len(record["species"]) == n and record["inputs"]["species"] == n
    assert record["file"] not in (known["file"], f"h2o2-{n}.yaml")
    assert (folder / known["file"]).read_bytes() == text
    monkeypatch.setattr(reducing, "detailed_results", stop)
    assert reduce_mechanism("h2o2.yaml", folder=folder, **OF) == known
    assert reduce_mechanism("h2o2.yaml", folder=folder, fuel="H2:1", species=n) == record


def test_a_name_that_is_taken_is_left(tmp_path):
    """By another text, or by the record of another reduction; what a killed process wrote is its
    own."""
    assert free_name(tmp_path, "a-9", b"ours") == "a-9.yaml"
    (tmp_path / "a-9.yaml").write_bytes(b"ours")
    assert free_name(tmp_path, "a-9", b"ours") == "a-9.yaml"
    assert free_name(tmp_path, "a-9", b"other") == "a-9-2.yaml"
    (tmp_path / "a-9.json").touch()
    (tmp_path / "a-9-2.yaml").symlink_to("nowhere")
    assert free_name(tmp_path, "a-9", b"ours") == "a-9-3.yaml"


def test_a_number_of_species_is_that_of_the_path_or_refused(network):
    """The first step with so few; no swaps. Where the path ends before it, that is said."""

    class Free(Search):
        def remove_reactions(self, step):
            return step

    steps = [Step(network.whole().without(*range(n)), [], {"delay": 0.1 * n}) for n in (0, 1, 3)]
    search = Free(Panel([], lambda *_: []), 0.01, frozenset())
    for species, expected in ((9, 9), (8, 7), (7, 7)):
        found = reducing.choose(search, steps, reducing.Wanted(species=species), lambda *_: None)
        assert found.skeleton.n_species == expected
    with pytest.raises(ValueError, match=r"than 7 species \(.* 30 %\) .* and 5 are asked for: ask"):
        reducing.choose(search, steps, reducing.Wanted(species=5), lambda *_: None)


@pytest.mark.parametrize(
    "given, told",
    [
        ({"error": 0.0}, "error=0.0 is not from 0.001 to 1"),
        ({"species": -1}, "species=-1 has to be a whole number"),
        ({"keep": "OH"}, "give a tuple of names"),
        ({"workers": -1}, "workers=-1 has to be a whole number"),
        ({"workers": 1.5}, "workers=1.5 has to be a whole number"),
        ({"oxidizer": "AR:1"}, "Name a fuel that burns and an oxidizer with oxygen"),
        ({"p": (4e6, 1e5)}, r"p=\(4000000.0, 100000.0\) is no range"),
        ({"p": (0.5, 40.0)}, r"p=\(0.5, 40.0\) is not from 100 to 1e\+08 Pa"),
        ({"T0": np.array([1000.0, 9000.0])}, "T0=.* is not from 100 to 6000 K"),
        ({"T0": 1200.0}, "T0=1200.0 is no range"),
        ({"T0": (None, 2000.0)}, r"T0=\(None, 2000.0\) is no range"),
        ({"phi": (0.0, 1.0)}, "phi=.* is no range: give its lower and its upper end"),
        ({"keep": ("NO",)}, "h2o2.yaml has no species 'NO'"),
        ({"fuel": "CH4:1"}, "h2o2.yaml has no species 'CH4'"),
    ],
)
def test_what_cannot_be_is_said(tmp_path, given, told):
    with pytest.raises(ValueError, match=told):
        reduce_mechanism("h2o2.yaml", folder=tmp_path / "new", **given)
    assert not (tmp_path / "new").exists()


def test_the_command_prints_the_errors_and_writes_the_page(reduced, capsys):
    folder, record = reduced
    given = ["reduce", "h2o2.yaml", "--fuel", "H2:1", "--error", ".02", "--folder", str(folder)]
    assert command.main(given) == 0
    said = capsys.readouterr().out
    assert "held out, worst" in said and "reduce.html" in said
    assert f"next: combred export {folder / record['file']} CASE --openfoam" in said
    page = (folder / "reduce.html").read_text()
    assert all(word in page for word in ("ignition delay", "extinction", "Held-out cases"))
    mechanism = folder / record["file"]
    text = mechanism.read_text()
    mechanism.write_text(text.replace("AR", "Ar") + "# edited")
    assert command.main(given) == 2 and "is not as it was written: put" in capsys.readouterr().out
    mechanism.unlink()
    assert command.main(given) == 2 and "put it back" in capsys.readouterr().out
    mechanism.write_text(text)
    hold = "import sys, pathlib; from combred.processes.lock import locked\n"
    hold += "with locked(pathlib.Path(sys.argv[1])): print(flush=True), sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        assert command.main(given) == 2 and "in use by process" in capsys.readouterr().out
        other.stdin.close()
    assert command.main(["reduce", "h2o2.yaml", "--keep", "X", "--folder", f"{folder}-new"]) == 2
    assert not folder.with_name(f"{folder.name}-new").exists()


def test_states_are_timed(h2o2, network):
    ranges = {"fuel": "H2:1", "oxidizer": "O2:1, N2:3.76"}
    found = result.times(network.whole(), h2o2, ranges)
    assert len(found) == 2 and 0.0 < min(found) and np.isfinite(found).all()


def test_an_unfinished_reduction_has_no_page(tmp_path):
    with pytest.raises(ValueError, match="missing or not finished"):
        write_reduction(tmp_path)
