"""Surrogates compiled to C++ without LibTorch: the generator, the build, the library in Python.

Takes a `Surrogate` whose network corrects reaction rates. `compile` gives a `NativeSurrogate`, an
`Advance`; source/combred.h is the C interface for a flow solver. The arithmetic is that of the
torch modules, and is tested against them.
"""

from combred.native.build import build
from combred.native.choice import fastest
from combred.native.generate import generate
from combred.native.library import NativeSurrogate, compile

__all__ = ["NativeSurrogate", "build", "compile", "fastest", "generate"]
