"""Triton kernels under test: on the GPU where there is one, elsewhere in Triton's interpreter."""

import importlib

import pytest
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def pytest_collection_modifyitems(items):
    """Mark tests of kernels `cuda` where they run on a GPU."""
    for item in items:
        if DEVICE == "cuda" and "triton" in getattr(item, "fixturenames", ()):
            item.add_marker("cuda")


@pytest.fixture(scope="session")
def device() -> torch.device:
    return torch.device(DEVICE)


@pytest.fixture(scope="module")
def triton(device):
    """A function that imports a module of Triton kernels, to run on `device`.

    Without a GPU the kernels are interpreted. Triton decides whether a function is interpreted when
    its module is imported. Functions of Triton's own library, which other tests may have imported
    before, are replaced by interpreted ones while the tests of a module run. The interpreter is
    switched on only during the import, so that nothing else is interpreted.
    """
    pytest.importorskip("triton", reason="pip install combred[cuda]")
    if device.type == "cuda":
        yield importlib.import_module
        return
    with pytest.MonkeyPatch.context() as patch:
        interpret_library(patch)
        patch_language_once(patch)
        yield import_interpreted


def interpret_library(patch: pytest.MonkeyPatch) -> None:
    """Replace the functions of triton.language that are written in Triton (sum, max, ...)."""
    import triton.language as tl
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    importlib.import_module("triton.experimental.gluon")  # a launch imports it
    interpreted = {}
    for module in (tl, tl.standard):
        for name, value in vars(module).copy().items():
            if isinstance(value, JITFunction):  # both names share one
                made = interpreted.setdefault(value, InterpretedFunction(value.fn))
                patch.setattr(module, name, made)


def patch_language_once(patch: pytest.MonkeyPatch) -> None:
    """Let Triton's interpreter replace the functions of `triton.language` once in a launch.

    It does so again in every call of a device function, which takes most of its time. Here the
    first call from each module does so, and all are restored at the end of the launch.
    """
    from triton.runtime import interpreter

    if not hasattr(interpreter, "_LangPatchScope"):  # a version of Triton that does not restore
        return
    replace, modules, scopes = interpreter._patch_lang, set(), []

    class Launch:
        def restore(self) -> None:
            modules.clear()
            while scopes:
                scopes.pop().restore()

    def replace_once(function) -> Launch:
        if id(function.__globals__) not in modules:
            modules.add(id(function.__globals__))
            scopes.append(replace(function))
        return Launch()

    patch.setattr(interpreter, "_patch_lang", replace_once)


def import_interpreted(name: str):
    """The module of kernels `name`, imported with Triton's interpreter on."""
    from triton.runtime.jit import JITFunction

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        module = importlib.import_module(name)
    compiled = [name for name, value in vars(module).items() if isinstance(value, JITFunction)]
    assert not compiled, f"{module.__name__} was imported before with the interpreter off"
    return module
