"""The table of the paper beside that of a run."""

from types import SimpleNamespace

import pytest

from combred.report.paper import PAPER_STAGES, PAPER_WIDTHS, paper_section


def folder(widths: list[int], mechanism: str = "drm19.yaml") -> SimpleNamespace:
    """Stage 0 of these widths, and a stage 1 that condensed its first layer to 1234 units."""
    smaller = [widths[0], 1234, *widths[2:]]
    error = {"median": 0.002, "worst": 0.011}
    sizes = [sum(a * b for a, b in zip(w[:-1], w[1:], strict=True)) for w in (widths, smaller)]
    results = [
        {"widths": w, "weights": n, "delay_error": error}
        for w, n in zip((widths, smaller), sizes, strict=True)
    ]
    return SimpleNamespace(
        stages=[0, 1],
        reductions={1: {"layer": 1, "threshold": 0.9}},
        mechanism=SimpleNamespace(name=mechanism),
        measured=lambda stage: results[stage],
        loss=lambda stage: 0.0123,
    )


def test_each_stage_of_the_paper_stands_beside_the_one_of_the_run():
    table = paper_section(folder(PAPER_WIDTHS)).blocks[0]
    assert [row[0] for row in table.rows] == [
        "0, paper", "0, here", "1, paper", "1, here", "2, paper", "3, paper",
    ]  # fmt: skip
    here = table.rows[3]
    assert here[1:4] == ["layer 1 at 0.9", "23-1234-1600-800-400-23", "3,611,982"]
    assert here[5].startswith("0.0123") and "/" in here[6]


def test_the_paper_s_weights_are_those_of_its_widths():
    for _, widths, weights, _ in PAPER_STAGES:
        sizes = [int(width) for width in widths.split("-")]
        assert weights == sum(a * b for a, b in zip(sizes[:-1], sizes[1:], strict=True))


@pytest.mark.parametrize(
    ("widths", "mechanism"), [([62, 384, 400, 376, 23], "drm19.yaml"), (PAPER_WIDTHS, "gri30.yaml")]
)
def test_other_networks_and_mechanisms_have_no_such_table(widths, mechanism):
    assert paper_section(folder(widths, mechanism)) is None
