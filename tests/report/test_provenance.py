"""The settings and states of a training, as the report tells them."""

import json
import shutil

from run_folder import read_page

from combred.report.writing import write_report


def test_states_and_network_of_the_training_are_named(whole, drm19, tmp_path, rendered):
    page = read_page(whole)
    assert page.row("network") == ["sees the state alone; one dt"]
    assert page.row("time step dt of the states") == ["1e-06\u00a0s"]
    assert page.row("states sampled") == [
        "1200 premixed ignitions, and flames (counted below): T0 900 to 2300 K, phi 0.25 to 4, p "
        "0.3 to 60 atm"
    ]
    folder = shutil.copytree(whole, tmp_path / "run")
    settings = json.loads((folder / "settings.json").read_text())
    # Settings of earlier versions, which the report does not need.
    settings["segments"] = {"steps": 8, "ignitions": 500}
    settings["retraining"]["rollout_share"] = 0.2
    settings["network"]["kinetics"] = True
    settings["sampling"] |= {"sampler": "flow", "dt": [1e-8, 1e-5]}
    (folder / "settings.json").write_text(json.dumps(settings))
    write_report(folder, drm19)
    page = read_page(folder)
    assert page.row("network")[0].startswith("corrects quasi-steady-state (QSS) steps")
    assert page.row("states sampled")[0].startswith("mixtures, ignitions and mixing layers of a")
    assert page.row("time step dt of the states") == ["1e-08 to 1e-05\u00a0s"]
