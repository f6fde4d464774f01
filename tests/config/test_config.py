"""Settings: key=value, profiles, and what is refused."""

import pytest

from combred.config.command import keys, resolve
from combred.config.profiles import PROFILES
from combred.config.reduction import ReductionSettings
from combred.config.settings import Settings
from combred.pipeline.stages import Stage, stage_table


def test_values_take_the_type_of_their_field():
    s = resolve(["stage=1", "training.lr=1e-3", "sampling.T0=[1200,1500]", "run=lean"])
    assert (s.stage, s.training.lr, s.run_name) == (1, 1e-3, "lean")
    assert s.sampling.T0 == [1200.0, 1500.0]


@pytest.mark.parametrize("both", [["stage=2", "stage=1"], ["stage=2", "stage=2"]])
def test_a_setting_given_twice_is_refused(both):
    with pytest.raises(ValueError, match=r"stage is given twice, 2 and [12]: leave one out"):
        resolve(both)


def test_an_option_is_answered_with_the_setting():
    for given in (["--stage", "2"], ["--stage", "2", "run=a"], ["stage", "2"]):
        with pytest.raises(ValueError, match=r"is not key=value .*: write stage=2"):
            resolve(given)


def test_retraining_is_the_training_but_for_what_it_lists():
    s = resolve(["training.optimizer=muon", "training.batch_final=8192", "retraining.lr=1e-3"])
    both = s.retraining_settings
    assert (both.optimizer, both.batch_final, both.lr, both.steps) == ("muon", 8192, 1e-3, 2000)
    assert s.training.lr == 6e-3 and (s.training.batch, both.batch) == (512, 1024)
    assert resolve(["training.batch_final=600"]).retraining_settings.batch == 600


def test_a_network_without_reaction_rates_has_one_time_step():
    alone = ["network.kinetics=false", "sampling.dt=[2e-6,2e-6]", "validation.dt=2e-6"]
    assert resolve(alone).sampling.dt == [2e-6, 2e-6]
    with pytest.raises(ValueError, match=r"has one dt; give it twice"):
        resolve([alone[0], "sampling.dt=[1e-6,2e-6]"])
    with pytest.raises(ValueError, match=r"validation.dt=1e-06: .* takes its own dt alone"):
        resolve(alone[:2])


@pytest.mark.parametrize("profile", ["default", "condensed", "smoke"])
def test_a_table_of_layers_takes_the_place_of_parameters(profile):
    given = ["stage=2", "reduction.layers=[1,2]", "reduction.thresholds=[0.85,0.9]"]
    s = resolve([f"profile={profile}", *given])
    assert stage_table(s.reduction) == [Stage(1, 1, 0.85), Stage(2, 2, 0.9)]
    with pytest.raises(ValueError, match="needs reduction.parameters"):
        resolve([*given, "reduction.method=folding"])


def test_the_paper_profile_has_the_network_and_the_first_stages_of_the_paper():
    s = resolve(["profile=paper", "stage=3"])  # Chen & Xu 2024, section 3.1.3
    assert s.network.hidden == [3200, 1600, 800, 400] and not s.network.kinetics
    assert (s.reduction.layers[:2], s.reduction.thresholds[:2]) == ([1, 1], [0.9, 0.8])
    assert s.start == "shipped"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("stge=2", "did you mean stage"),
        ("device=cuda", "'device': no setting chooses a device.*CUDA_VISIBLE_DEVICES= in front"),
        ("training.device=cuda", "no setting chooses a device"),
        ("lr=1", r"did you mean training\.lr or retraining\.lr\?"),
        ("epochs=3", r"there is no setting 'epochs'\. `python"),
        ("learning_rate=3", r"there is no setting 'learning_rate'\. `python"),
        ("mech=a.yaml", "did you mean mechanism"),
        ("=3", r"there is no setting ''\. "),
        ("reduction.thresold=[0.9]", "did you mean reduction.thresholds"),
        ("stage", "not key=value"),
        ("--stage", r"'--stage' is not key=value .*: write stage="),
        ("training.steps=many", "training.steps"),
        ("training.lr=-1", "lr=-1"),
        ("training.optimizer=sgd", "soap, muon, adam are possible"),
        ("retraining.optimizer=adam", "there is no setting"),
        ("stage=9", "stages 0 to"),
        ("only=everything", "sample, train"),
        ("profile=huge", "default, paper, condensed, smoke"),
        ("sampling.phi=[2,1]", "low <= high"),
        ("sampling.states=0", "between 1 and"),
        ("sampling.sampler=random", "flow, premixed are possible"),
        ("sampling.sampler=premixed sampling.states=100", "ask for more states"),
        ("network.kinetics=maybe", "network.kinetics"),
        ("network.scales=[1,2]", "one for each layer: 4 with network.hidden"),
        ("network.scales=[tiny]", "condense"),
        ("reduction.layers=[1]", "one entry each"),
        ("reduction.method=brain_surgeon:t=0.1", "brain_surgeon takes no arguments"),
        ("reduction.method=neuron_merging:t=0.1,t=0.2", "takes criterion=, t=, weight=, each once"),
        ("reduction.method=neuron_merging:t=1.5", "t is a number from -1 to 1"),
        ("reduction.method=neuron_merging:t=0.0,t=nan", "each once"),
        ("reduction.method=neuron_merging:t=nan", "t is a number from -1 to 1"),
        ("reduction.method=neuron_merging:weight=few", "weight is a number from 0 to 1"),
        ("reduction.method=magnitude:criterion=l3", "criterion is one of l1, l2, l2-gm"),
        ("reduction.method=prune", "condensation, .* are possible"),
        ("reduction.method=folding reduction.parameters=[]", "needs reduction.parameters"),
        ("export.accept=igniton:5%", "did you mean ignition"),
        ("reduction.parameters=[0.5,0.6]", "fall from stage to stage"),
        ("reduction.parameters=[1.5]", "between 1e-06 and 1"),
        ("reduction.parameters=[0.5]", "say stage=1"),
        ("reduction.layers=[1,1,9]", "hidden layers"),
        ("reduction.criteria=ignitoin:1%", "did you mean ignition"),
        ("reduction.criteria=speed:1%", "none of ignition, ignition_mean, flame"),
        ("reduction.criteria=ignition", "ignition:1%"),
        ("reduction.criteria=ignition:0%", "positive limit"),
        ("reduction.criteria=ignition:few", "positive limit"),
        ("reduction.criteria=ignition:1", r"a plain number is a share.*ignition:1%"),
        ("reduction.criteria=ignition:1%,ignition:2%", "given twice"),
        ("reduction.criteria=ignition:1%", "stages 0 to 1.*say stage=1"),
        ("reduction.compensation=norm", "own, least_squares are possible"),
        ("validation.p=[]", "validation.p"),
        ("run=../elsewhere", "inside runs"),
        ("dt=1e-6", "there is no setting 'dt'"),
    ],
)
def test_values_without_sense_are_refused_with_a_reason(argument, message):
    with pytest.raises(ValueError, match=message):
        resolve(argument.split())


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("sampling.p=[5e5,2e6", r"sampling.p=\[5e5,2e6: a list of numbers is expected"),
        ("sampling.p=[5e5,2e6]]", "a list of numbers is expected"),
        ("sampling.p=[5e5,,2e6]", "'an empty entry' is none"),
        ("sampling.p=[5e5,two]", "a number is expected, and 'two' is none"),
        ("network.hidden=[1.5]", "a whole number is expected, and '1.5' is none"),
        ("training.steps=1e3", "training.steps=1e3: a whole number is expected"),
        ("training.steps={a", "a whole number is expected"),
        ("training.lr=", "a number is expected"),
        ("training.lr=nan", "training.lr=nan must lie between"),
        ("network.kinetics=~", "true or false is expected"),
        ("sampling.T0=[1500,inf]", "must lie between 200 and 4000 K"),
        ("sampling.dt=[1e-30,1e-5]", "must lie between 1e-12 and 0.01 s"),
        ("sampling.p=[1e-300,1e12]", "must lie between 100 and 1e.08 Pa"),
        ("network.hidden=[1000000000,8]", "must lie between 1 and 20000"),
    ],
)
def test_values_that_are_no_such_thing_are_refused_by_name(argument, message):
    with pytest.raises(ValueError, match=message) as caught:
        resolve([argument])
    assert argument.partition("=")[0] in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["007", "1:30", "@x", "*x", "%x", "!x", "{a", "true", "1e3", "a=b"]
)
def test_a_text_stays_as_it_is_written(name):
    assert resolve([f"run={name}"]).run == name


def test_every_number_has_a_range_that_holds_its_default_and_stands_in_its_help():
    for key, item in keys().items():
        if item.type in (int, float, list[int], list[float]) and key != "stage":
            low, high = item.metadata["within"]
            assert item.metadata["help"].endswith(f"; {low:g} to {high:g}"), key


def test_every_key_has_help_and_the_default_settings_make_sense():
    assert all(item.metadata["help"] for item in keys().values()) and len(keys()) <= 48
    assert Settings().reduction == ReductionSettings()


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
def test_acceptance_criteria_are_parsed(text, limits):
    chosen = resolve(["stage=1", f"reduction.criteria={text}"]).reduction
    assert chosen.limits == pytest.approx(limits) and list(chosen.limits) == list(limits)
    assert chosen.stages == 1


@pytest.mark.parametrize("profile", PROFILES)
def test_criteria_replace_the_stage_table_of_every_profile(profile):
    s = resolve([f"profile={profile}", "stage=1", "reduction.criteria=ignition:1%"])
    assert s.reduction.stages == 1
    assert resolve([f"profile={profile}", "stage=0"]).reduction.limits == {}


@pytest.mark.parametrize("other", ["parameters=[0.5]", "layers=[1]", "thresholds=[0.9]"])
def test_criteria_and_a_stage_table_exclude_one_another(other):
    with pytest.raises(ValueError, match="leave out reduction."):
        resolve(["stage=1", "reduction.criteria=ignition:1%", f"reduction.{other}"])
