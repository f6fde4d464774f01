"""A surrogate as C++17: its network, which goes before the stiff solver of its mechanism.

Takes a `Surrogate`; gives the `Extension` by which its network is added to the library of its
mechanism: the files of source/network/ and of its form, source/quasi_steady/ or source/state_only/,
those that are written from the numbers of the torch modules, with the species in the solver's
order, and what the library tells.
"""

from pathlib import Path

from combred.experiments.accuracy import (
    ALONE,
    BEHIND,
    NAMES,
    REJECTED,
    accuracy_of,
    card_of_file,
    delays,
    exceeding,
)
from combred.native.arrays import comment
from combred.native.extension import Extension, library_files
from combred.native.identity import Identity
from combred.native.solver.generator import WRITTEN
from combred.native.solver.layout import lay_out
from combred.surrogates.files.card import require_card_of, training_range, up_to_date
from combred.surrogates.files.storage import content_digest
from combred.surrogates.library import quasi_steady, state_only
from combred.surrogates.library.numbers import common_numbers, layers
from combred.surrogates.model.forms import QuasiSteadySurrogate
from combred.surrogates.model.own_form import why_no_cpp
from combred.surrogates.model.surrogate import Surrogate

SOURCE = Path(__file__).with_name("source")
MOST_WEIGHTS = 1_000_000  # compilers take minutes for more
# Of an export: the words in the head of the C++ file.
FILES = {BEHIND: "this file", ALONE: "TorchScript"}


def is_compiled(surrogate: Surrogate) -> bool:
    """Whether a surrogate has a form in C++: that of `model.forms`, at most `MOST_WEIGHTS`."""
    return not why_no_cpp(surrogate) and surrogate.network.n_weights <= MOST_WEIGHTS


def generate(surrogate: Surrogate, card: dict | None = None) -> dict[str, str]:
    """The C++ files of a surrogate and of the solver behind it: name -> text. card and errors as
    those of `extension`."""
    return library_files(surrogate.mechanism, extension(surrogate, card))


def extension(surrogate: Surrogate, card: dict | None = None, title: str = "") -> Extension:
    """What a surrogate adds to the library of its mechanism.

    card: the surrogate's (`files.card`), which the library then holds, the errors of the network
    with the solver behind it first; where these exceed their limits, the name of the source and the
    library is `REJECTED`; title: which surrogate it is. Raises ValueError for a network of more
    than `MOST_WEIGHTS`, and for the card of another surrogate.
    """
    if why := why_no_cpp(surrogate):
        raise ValueError(
            f"this network has no C++: {why}. Export it to TorchScript (combred.export_surrogate), "
            "and judge it as it is (combred.judge)"
        )
    if not is_compiled(surrogate):
        raise ValueError(
            f"combred.native compiles networks of at most {MOST_WEIGHTS:,} weights, and this one "
            f"has {surrogate.network.n_weights:,}: reduce it (combred.reduce), or export "
            "it (combred.native.export), as a library that calls LibTorch"
        )
    if card is not None:
        require_card_of(surrogate, card)
        card = card_of_file(up_to_date(card), BEHIND)
    layout = lay_out(surrogate.mechanism)
    form = quasi_steady if isinstance(surrogate, QuasiSteadySurrogate) else state_only
    files = {
        f"network/{file.name}": file.read_text()
        for folder in ("network", form.FOLDER)
        for file in sorted((SOURCE / folder).iterdir())
    }
    inputs, outputs = form.orders(surrogate, layout)
    numbers = [common_numbers(surrogate, inputs[: surrogate.n]), *form.numbers(surrogate, inputs)]
    files["network/numbers.hpp"] = _written(surrogate, "solver/reactions.hpp", numbers)
    if rates := form.rates(layout):
        files["network/rates.hpp"] = _written(surrogate, "solver/reactions.hpp", rates)
    weights = layers(surrogate, inputs, outputs)
    files["network/weights.hpp"] = _written(surrogate, "network/layers.hpp", weights)
    title = title or "unnamed"
    stem = REJECTED if card and BEHIND in exceeding(card) else "surrogate"
    return Extension(files, identity_of(surrogate, card), stem, title, facts(card))


def identity_of(surrogate: Surrogate, card: dict | None) -> Identity:
    """What the library tells; without a card no range of phi."""
    of_training = training_range(surrogate)
    return Identity(
        surrogate.TOLERANCE,
        card,
        content_digest(surrogate, surrogate.mechanism),
        surrogate.dt_range,
        (card or {}).get("training", {}).get("sampling", {}).get("phi"),
        [of_training["T"], of_training["p"], *of_training["Y"].values()],
    )


def _written(surrogate: Surrogate, includes: str, parts: list[str]) -> str:
    body = "\n".join(["namespace network {\n\nusing namespace solver;\n", *parts])
    head = WRITTEN.format(name=comment(surrogate.mechanism.name))
    return f'{head}#include "{includes}"\n\n{body}\n}}  // namespace network\n'


def facts(card: dict | None) -> str:
    """What a user has to know of a surrogate, as lines of a comment."""
    if not card:
        return "// It was exported without a card."
    low, high = card["dt"]
    T, p = card["range"]["T"], card["range"]["p"]
    exceeds = exceeding(card)
    found = {
        "mechanism": f"{card['mechanism']}, SHA-256 {card['mechanism_sha256']}",
        "network": f"{card['network']['weights']:,} weights",
        "trained for": f"dt {low:g} to {high:g} s, T {T[0]:.0f} to {T[1]:.0f} K, "
        f"p {p[0]:.3g} to {p[1]:.3g} Pa",
    }
    for key in (BEHIND, ALONE):
        above = f". ABOVE ITS LIMITS: {exceeds[key]}" if key in exceeds else ""
        found[FILES[key]] = f"{NAMES[key]}: {delays(accuracy_of(card), key)}{above}"
    if card.get("training", {}).get("command"):
        found["made by"] = card["training"]["command"]
    return "\n".join(f"// {name:12}{comment(value)}" for name, value in found.items())
