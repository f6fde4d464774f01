"""Names that OpenFOAM reads as words: a name of a mechanism never becomes another entry of a
dictionary, a directive or a command.
"""

import re

# What v1912 takes for a word (word::valid, ISstream::read): numbers, punctuation, `#` and `$` begin
# other tokens, and a backslash escapes a quote.
WORD = re.compile(r"""[^\s"'/;{}\\.()\[\]:,=+*#$\d-][^\s"'/;{}\\]{0,199}""")
# Names of the flow's own fields and folders, and of an entry with another meaning
TAKEN = frozenset(
    "T p U h e rho phi k epsilon omega nut alphat p_rgh Ydefault uniform polyMesh lagrangian "
    "FoamFile".split()
)
# Entries that stand beside the species from Foundation 8 on, where the dictionary of the
# thermodynamics includes `thermo`
BESIDE = frozenset("species thermoType mixture defaultSpecie inertSpecie dpdt phases".split())


def require_words(
    species: list[str], elements: list[str], taken: frozenset[str] = frozenset()
) -> None:
    """ValueError where OpenFOAM does not read the names of species or elements as words, or where a
    species has the name of another field, or of the entries `taken`."""
    wrong = [name for name in elements if not is_word(name)]
    wrong += [name for name in species if not (is_word(name) and is_field(name))]
    if beside := [name for name in species if name in taken]:
        raise ValueError(
            f"OpenFOAM has entries of these names beside the species: {', '.join(beside)}. Rename "
            "the species in the mechanism"
        )
    if wrong:
        raise ValueError(
            f"OpenFOAM cannot have these names: {', '.join(map(ascii, wrong))}. A name begins with "
            "a letter, has no blank, dot, quote, slash, brace or semicolon, has pairs of "
            "parentheses, does not end in _0, and is not that of another field, as T or p. Rename "
            "them in the mechanism"
        )


def is_word(name: str) -> bool:
    """Whether OpenFOAM reads a name as one word."""
    depth = [name[: i + 1].count("(") - name[: i + 1].count(")") for i in range(len(name))]
    return (
        WORD.fullmatch(name) is not None
        and name.isprintable()
        and min(depth) >= 0 == depth[-1]
        and not name.startswith("List<")  # of values
    )


def is_field(name: str) -> bool:
    """Whether a field of mass fractions can have the name: what follows a dot is the phase of a
    field, _0 ends the name of an old-time field, and ~ that of a backup."""
    return "." not in name and not name.endswith(("_0", "~")) and name not in TAKEN
