"""A surrogate or a solver as one C++ file that needs no other: what a flow solver's build takes.

Takes the files of `combred.native.generator`; gives the text of a `surrogate.cpp` in which they are
joined, with a head that says what it is and how it is compiled.
"""

import hashlib
import re

from combred.native.arrays import comment
from combred.native.compilers import FLAGS, LEVELS

OWN = re.compile(r'^#include "([^"]+)"\s*$')
MAIN = "library.cpp"
LINE = "// " + "-" * 97
ANY_STATE = "// It takes any state of its range of T (solver/thermo.hpp) and any time step."
HEAD = """\
// Combustion chemistry as one C++17 file, written by combred {version}: {title}.
//
{facts}
//
// Compile it for this CPU (g++ 9 or clang++ 10 at least); combred.h declares its functions:
//
//     flags="{flags}"
//     g++ $flags -march=native -shared -Wl,--as-needed {stem}.cpp -o lib{stem}.so
//
// or for every x86-64 CPU, with the same flags:
//
{levels}
//     g++ $flags -DCOMBRED_DISPATCH -c {stem}.cpp
//     g++ -shared -Wl,--as-needed,-Bsymbolic {stem}.o {stem}-v*.o -o lib{stem}.so
//
// The SHA-256 of the lines below the next one, as `sed '1,/^.. ---/d' {stem}.cpp | sha256sum`
// prints it where they are whole: {sha256}
"""


def single_file(files: dict[str, str], title: str, stem: str, card: dict | None = None) -> str:
    """The text of one file that compiles alone, of all files (name -> text) of a solver or a
    surrogate.

    title: which one it is, in the first line; stem: its name, "solver" or "surrogate"; card: a
    surrogate's facts, in the lines after it.
    """
    import combred

    body = join(files, MAIN)
    facts = _facts(card) if stem == "surrogate" else ANY_STATE
    levels = "\n".join(
        f"//     g++ $flags {' '.join(flags)} -DCOMBRED_LEVEL={level} -c {stem}.cpp "
        f"-o {stem}-{level}.o"
        for level, flags in LEVELS.items()
    )
    head = HEAD.format(
        version=combred.__version__, title=comment(title), facts=facts, flags=" ".join(FLAGS),
        levels=levels, stem=stem, sha256=hashlib.sha256(body.encode()).hexdigest(),
    )  # fmt: skip
    return f"{head}{LINE}\n{body}"


def join(files: dict[str, str], name: str) -> str:
    """The text of the file `name`, with each of the others in place of what includes it."""
    return "".join(_joined(files, name, set()))


def _joined(files: dict[str, str], name: str, seen: set[str]) -> list[str]:
    """The lines of a file, with each of the others in place of the first line that includes it."""
    seen.add(name)
    lines = []
    for line in files[name].splitlines(keepends=True):
        found = OWN.match(line)
        if found is None:
            if line.strip() != "#pragma once":
                lines.append(line)
        elif found[1] in files and found[1] not in seen:  # a solver has no network
            lines += [f"// == {found[1]}\n", *_joined(files, found[1], seen)]
    return lines


def _facts(card: dict | None) -> str:
    """What a user has to know of a surrogate, as lines of a comment."""
    if not card:
        return "// It was exported without a card."
    low, high = card["dt"]
    T, p = card["range"]["T"], card["range"]["p"]
    delay = card.get("accuracy", {}).get("delay_error")
    facts = {
        "mechanism": f"{card['mechanism']}, SHA-256 {card['mechanism_sha256']}",
        "network": f"{card['network']['weights']:,} weights",
        "trained for": f"dt {low:g} to {high:g} s, T {T[0]:.0f} to {T[1]:.0f} K, "
        f"p {p[0]:.3g} to {p[1]:.3g} Pa",
    }
    if delay:
        facts["delays"] = f"off by {delay['median']:.2%} (median), {delay['worst']:.2%} (worst)"
    if card.get("training", {}).get("command"):
        facts["made by"] = card["training"]["command"]
    return "\n".join(f"// {name:12}{comment(value)}" for name, value in facts.items())
