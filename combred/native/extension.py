"""What is added to the library of a mechanism's solver: a network that goes before it.

Takes a `Mechanism` and an `Extension`; gives the files of both, of which `combred.native.builder`
compiles one library. All that a network adds to a library is in its `Extension`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from combred.chemistry.mechanism import Mechanism
from combred.native.identity import HAS_NETWORK, Identity, write_identity
from combred.native.solver.generator import files_of


@dataclass(frozen=True)
class Extension:
    """A network as C++. files: name -> text, all below network/; network/propose.hpp defines
    network::Step and network::propose, which source/calls.hpp and source/kernel.cu call before the
    solver; identity: what the library tells of itself; stem: the name of the exported source and
    library; title and facts: lines of the head of the source, the latter as comments."""

    files: Mapping[str, str]
    identity: Identity
    stem: str
    title: str
    facts: str


def library_files(mechanism: Mechanism, extension: Extension | None = None) -> dict[str, str]:
    """The C++ files of a library: name -> text. Raises ValueError as
    `combred.native.solver.generate`."""
    files = dict(files_of(mechanism))
    if extension is not None:
        files |= extension.files
        files["identity.hpp"] = HAS_NETWORK + write_identity(mechanism, extension.identity)
    return files
