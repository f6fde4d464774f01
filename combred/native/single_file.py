"""A library as one C++ file that needs no other: what a flow solver's build takes.

Takes the files of `combred.native.extension`; gives the text of one in which they are joined, with
a head that says what it is and how it is compiled.
"""

import hashlib
import re

from combred.native.arrays import comment
from combred.native.builder import MAIN
from combred.native.compilers import FLAGS, LEVELS

OWN = re.compile(r'^#include "([^"]+)"\s*$')
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


def single_file(
    files: dict[str, str], title: str, stem: str = "solver", facts: str = ANY_STATE
) -> str:
    """The text of one file that compiles alone, of all files (name -> text) of a library.

    title: which one it is, in the first line; stem: the file's name without .cpp; facts: comments
    in the lines after it.
    """
    import combred

    body = join(files, MAIN)
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
