"""Settings: key=value, profiles, and what is refused."""

from dataclasses import FrozenInstanceError

import pytest

from combred import config
from combred.config import PROFILES, ReductionSettings, Settings, keys, resolve
from combred.reduction import Stage, stage_table


def test_values_take_the_type_of_their_field():
    s = resolve(["stage=1", "training.lr=1e-3", "sampling.T0=[1200,1500]", "run=lean"])
    assert (s.stage, s.training.lr, s.sampling.T0, s.run_name) == (
        1,
        1e-3,
        [1200.0, 1500.0],
        "lean",
    )


def test_settings_cannot_be_changed_once_made():
    with pytest.raises(FrozenInstanceError):
        resolve(["stage=1"]).stage = 2


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_resolves(profile):
    assert resolve([f"profile={profile}"]).profile == profile


def test_the_settings_alone_are_the_default_profile():
    assert resolve([]) == Settings()
    assert resolve(["stage=3"]).reduction.parameters == [0.115, 0.033, 0.012]
    assert PROFILES["default"] == {}


def test_what_is_shipped_is_not_made_from_what_was_shipped():
    assert resolve(["profile=shipped"]).start == "scratch" and resolve([]).start == "shipped"


def test_the_condensed_profile_is_what_its_measurements_were_made_with():
    s = resolve(["profile=condensed", "stage=3"])
    assert (s.sampling.states, s.sampling.ignitions, s.sampling.flames) == (300_000, 600, 16)
    assert s.sampling.p == pytest.approx([0.9 * 101325, 1.1 * 101325])
    assert s.sampling.phi == [0.4, 1.8]
    assert s.network.hidden == [800, 200, 200]
    assert s.network.layer_scales == ["condense", "0.5", "0.5", "0.5"]
    assert (s.training.steps, s.training.batch, s.training.batch_final) == (13_000, 512, 2048)
    assert (s.retraining.steps, s.retraining.batch, s.retraining.batch_final) == (5000, 1024, 2048)
    assert (s.training.batch_phases, s.retraining.batch_phases) == (3, 2)
    table = [(stage.layer, stage.threshold) for stage in stage_table(s.reduction)]
    assert table == [(1, 0.9), (1, 0.8), (1, 0.7)]


@pytest.mark.parametrize("profile", ["default", "condensed", "smoke"])
def test_a_table_of_layers_takes_the_place_of_parameters(profile):
    given = ["stage=1", "reduction.layers=[1]", "reduction.thresholds=[0.85]"]
    s = resolve([f"profile={profile}", *given])
    assert stage_table(s.reduction) == [Stage(1, 1, 0.85)]
    with pytest.raises(ValueError, match="wants reduction.parameters"):
        resolve([*given, "reduction.method=folding"])


def test_an_argument_wins_over_the_profile():
    assert resolve(["profile=paper", "network.hidden=[8,4]"]).network.hidden == [8, 4]


def test_paper_profile_is_the_papers():
    # Chen & Xu 2024, 3.1.2: batch times 3.07 each 1000 steps; 3.1.3: times 128 after 2500.
    s = resolve(["profile=paper", "stage=3"])
    assert s.network.hidden == [3200, 1600, 800, 400]
    assert s.training.batch_final == pytest.approx(1024 * 3.07**4, rel=1e-4)
    assert s.retraining.batch_final == 1024 * 128
    assert [s.reduction.retraining_of(i, s.retraining).lr for i in (1, 2, 3)] == [1e-4, 1e-4, 4e-5]


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("stge=2", "did you mean stage"),
        ("reduction.threshold=0.85", "did you mean reduction.thresholds"),
        ("stage", "not key=value"),
        ("training.steps=many", "training.steps"),
        ("training.lr=-1", "lr=-1"),
        ("training.schedule=linear", "cosine or step"),
        ("training.rollout_steps=6", "power of two"),
        ("training.rollout_share=0", "rollout_share=0"),
        ("retraining.rollout_weight=0", "trains without segments"),
        ("segments.each=2", "segments.each=2"),
        ("segments.T0_min=0", "segments.T0_min"),
        ("stage=9", "stages 0 to"),
        ("only=everything", "sample, train"),
        ("profile=huge", "default, shipped, condensed, full, paper, smoke"),
        ("sampling.phi=[2,1]", "low <= high"),
        ("sampling.states=100", "ask for more states"),
        ("network.scales=[1,2]", "one for each layer"),
        ("network.scales=[tiny]", "condense"),
        ("network.power=0", r"\(0, 1\]"),
        ("reduction.layers=[1]", "one entry each"),
        ("reduction.method=prune", "is none of condensation"),
        ("reduction.parameters=[]", "wants reduction.parameters"),
        ("reduction.parameters=[0.5,0.6]", "fall from stage to stage"),
        ("reduction.parameters=[1.5]", "between 1 and 0"),
        ("reduction.parameters=[0.5]", "say stage=1"),
        ("reduction.layers=[1,1,9]", "hidden layers"),
        ("reduction.criteria=ignitoin:1%", "did you mean ignition"),
        ("reduction.criteria=speed:1%", "none of ignition, ignition_mean, flame"),
        ("reduction.criteria=ignition", "ignition:1%"),
        ("reduction.criteria=ignition:0%", "positive limit"),
        ("reduction.criteria=ignition:-1%", "positive limit"),
        ("reduction.criteria=ignition:inf", "positive limit"),
        ("reduction.criteria=ignition:few", "positive limit"),
        ("reduction.criteria=ignition:1", r"a plain number is a share.*ignition:1%"),
        ("reduction.criteria=ignition:1%,ignition:2%", "given twice"),
        ("reduction.criteria=ignition:1%", "stages 0 to 1.*say stage=1"),
        ("reduction.factor=0.9", "factor <= max_keep_ratio"),
        ("reduction.max_keep_ratio=1", "max_keep_ratio < 1"),
        ("reduction.attempts=0", "at least 1"),
        ("reduction.criteria_ignitions=0", "at least 1"),
        ("reduction.criteria_seed=-1", "not be negative"),
        ("reduction.compensation=none", "own or least_squares"),
        ("reduction.compensation=norm", "give reduction.compensation=own"),
        ("chemistry.rtol=0", "chemistry.rtol"),
        ("validation.T0=[]", "validation.T0"),
        ("run=../elsewhere", "inside runs"),
        ("dt=0", "positive"),
    ],
)
def test_nonsense_is_refused_with_a_reason(argument, told):
    with pytest.raises(ValueError, match=told):
        resolve([argument])


def test_every_key_has_help_and_the_default_settings_make_sense():
    assert all(item.metadata["help"] for item in keys().values())
    assert Settings().reduction == ReductionSettings()


def test_the_keys_are_exactly_those_that_resolve_knows():
    assert "training.lr" in keys() and "chemistry" not in keys()
    assert len(keys()) == len(set(keys()))
    assert set(config.STEPS) == {"sample", "train", "reduce", "validate", "export", "report"}


def test_stages_by_parameters_have_no_layers_of_their_own():
    chosen = resolve(["stage=1", "reduction.method=folding", "reduction.parameters=[0.5]"])
    assert chosen.reduction.stages == 1
    with pytest.raises(ValueError, match="leave out reduction.layers"):
        resolve(["stage=1", "reduction.parameters=[0.5]", "reduction.layers=[1]"])


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("ignition:1%", {"ignition": 0.01}),
        ("ignition:0.01", {"ignition": 0.01}),
        ("ignition:1%,flame:0.5%", {"ignition": 0.01, "flame": 0.005}),
        (" ignition_mean: 0.3 %, flame: 2e-3", {"ignition_mean": 0.003, "flame": 0.002}),
        ("ignition:300%", {"ignition": 3.0}),
    ],
)
def test_a_gate_is_parsed(text, limits):
    chosen = resolve(["stage=1", f"reduction.criteria={text}"]).reduction
    assert chosen.limits == pytest.approx(limits) and list(chosen.limits) == list(limits)
    assert chosen.stages == 1


@pytest.mark.parametrize("profile", PROFILES)
def test_a_gate_replaces_the_stage_table_of_every_profile(profile):
    s = resolve([f"profile={profile}", "stage=1", "reduction.criteria=ignition:1%"])
    assert s.reduction.stages == 1
    assert s.reduction.retraining_of(1, s.retraining) == s.retraining
    assert resolve([f"profile={profile}", "stage=0"]).reduction.limits == {}


@pytest.mark.parametrize(
    "other",
    ["parameters=[0.5]", "layers=[1]", "thresholds=[0.9]", "rates=[1e-3]"],
)
def test_a_gate_and_a_stage_table_exclude_one_another(other):
    with pytest.raises(ValueError, match="leave out reduction."):
        resolve(["stage=1", "reduction.criteria=ignition:1%", f"reduction.{other}"])


def test_a_gate_takes_any_method():
    s = resolve(["stage=1", "reduction.method=folding", "reduction.criteria=ignition:1%"])
    assert s.reduction.method == "folding"
