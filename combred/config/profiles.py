"""Profiles: starting points of all other settings."""

# Premixed gas around 1 atm and one dt: the range of the networks of the condensation, which see the
# state alone.
NARROW = {
    "states": 300_000,
    "sampler": "premixed",
    "dt": [1e-6, 1e-6],
    "T0": [1150.0, 2100.0],
    "ignitions": 600,
    "p": [91192.5, 111457.5],
    "phi": [0.4, 1.8],
}
# Layers condense under Adam more than under the others (docs/tried.md).
ADAM = {"optimizer": "adam", "lr": 1.5e-3}
ONE_ATM = {
    "T0": [1400.0, 1500.0, 1600.0, 1700.0, 1800.0],
    "p": [101325.0],
    "burnt_time": 2e-3,
    "flame_phi": [],
}
BY_LAYERS = {"method": "condensation", "parameters": []}

PROFILES: dict[str, dict] = {
    # The best found so far (docs/tried.md): the default of every setting.
    "default": {},
    # The network of Chen & Xu 2024 and its stages (section 3.1.3), from the shipped network of that
    # size: layer 1 at 0.9 and at 0.8. The paper's third stage, layer 2 at 0.999, merges nothing in
    # this network: layer 1 goes on. Muon trains layers this wide within hours of a core.
    "paper": {
        "sampling": {**NARROW, "states": 60_000, "ignitions": 300},
        "network": {
            "hidden": [3200, 1600, 800, 400],
            "scales": ["condense", "0.5", "0.5", "0.5", "0.5"],
            "kinetics": False,
        },
        "training": {
            "optimizer": "muon",
            "steps": 3200,
            "lr": 2e-3,
            "batch": 2048,
            "batch_final": 8192,
        },
        "retraining": {"steps": 50, "lr": 1e-4},
        "reduction": {**BY_LAYERS, "layers": [1, 1, 1], "thresholds": [0.9, 0.8, 0.7]},
        "validation": ONE_ATM,
    },
    # The same method at a size that two cores train in minutes: the first layer starts small enough
    # to condense, and is condensed stage after stage.
    "condensed": {
        "sampling": NARROW,
        "network": {
            "hidden": [800, 200, 200],
            "scales": ["condense", "0.5", "0.5", "0.5"],
            "kinetics": False,
        },
        "training": {**ADAM, "steps": 13_000, "batch_final": 2048},
        "retraining": {"lr": 1.5e-3, "steps": 5000},
        "reduction": BY_LAYERS,
        "validation": ONE_ATM,
    },
    # Every step in a minute, and no accuracy: for tests.
    "smoke": {
        "sampling": {
            **NARROW,
            "states": 3000,
            "ignitions": 40,
        },
        "network": {"hidden": [64, 32], "scales": ["condense", "0.5", "0.5"], "kinetics": False},
        "training": {**ADAM, "steps": 600, "batch": 256, "batch_final": 256},
        "retraining": {"lr": 1.5e-3, "steps": 100},
        "reduction": {**BY_LAYERS, "layers": [1, 1], "thresholds": [0.9, 0.8]},
        "sensitivity": {"ignitions": 0, "flames": 0, "counterflows": 0, "kernels": 0},
        "validation": {
            "T0": [1700.0, 1800.0],
            "phi": [1.0],
            "p": [101325.0],
            "burnt_time": 2e-4,
            "flame_phi": [],
        },
        "export": {"accept": ""},
    },
}
