"""Choice of the implementation, its messages, and that Triton is not imported too early."""

import logging
import sys

import pytest
import torch

from combred import kernels
from combred.kernels import loading
from combred.kernels.grouping import reference

ROWS = torch.eye(3)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """As in a new process whose interpreter of Triton is off."""
    monkeypatch.setattr(loading, "_logged", set())
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)


@pytest.fixture
def without_triton(monkeypatch):
    """A function: from now on an import of Triton raises this."""

    def fail(error: Exception) -> None:
        def importing(name, *rest):
            if name == "triton":
                raise error
            return found(name, *rest)

        found = loading.importlib.import_module
        monkeypatch.setattr(loading.importlib, "import_module", importing)

    return fail


@pytest.mark.parametrize("implementation", [None, "cpu", "reference"])
def test_implementations_that_need_no_gpu(implementation, caplog, monkeypatch):
    monkeypatch.setattr(kernels, "unavailable", pytest.fail)  # not called for rows on a CPU
    labels, mains = kernels.group(ROWS, 0.5, implementation)
    assert labels.tolist() == mains.tolist() == [0, 1, 2]
    assert not caplog.records


def test_an_unknown_implementation_is_refused():
    with pytest.raises(ValueError, match="reference, cpu and triton, not 'cuda'"):
        kernels.group(ROWS, 0.5, "cuda")


def test_triton_asked_for_on_a_cpu_says_what_to_do():
    pytest.importorskip("triton")
    with pytest.raises(RuntimeError, match="the tensors are on cpu.*TRITON_INTERPRET=1"):
        kernels.group(ROWS, 0.5, "triton")


def test_triton_asked_for_and_not_installed_says_what_to_do(without_triton):
    without_triton(ModuleNotFoundError("No module named 'triton'", name="triton"))
    with pytest.raises(RuntimeError, match=r"not installed: pip install combred\[cuda\]"):
        kernels.group(ROWS, 0.5, "triton")


def test_a_broken_triton_an_old_one_and_an_old_device_are_told_apart(without_triton, monkeypatch):
    triton, device = pytest.importorskip("triton"), torch.device("cuda", 0)
    for capability, reason in (
        ((7, 5), "cuda:0 has compute capability 7.5; the kernels need 8.0"),
        ((8, 0), None),
        ((9, 0), None),
    ):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _, found=capability: found)
        assert loading.unavailable(device) == reason
    monkeypatch.setattr(triton, "__version__", "3.4.0")
    told = "Triton 3.4.0 is older than 3.5: pip install combred[cuda]"
    assert loading.unavailable(torch.device("cpu")) == told
    for error in (ModuleNotFoundError("No module named 'x'", name="x"), OSError("libx.so")):
        without_triton(error)
        reason = loading.unavailable(torch.device("cpu"))
        assert "does not load" in reason and str(error) in reason


def test_the_interpreter_is_a_device_for_any_tensor(triton, device, monkeypatch):
    triton("combred.kernels.grouping.gpu")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert loading.unavailable(torch.device("cpu")) is None
    if device.type == "cpu":
        labels, mains = kernels.group(ROWS, 0.5, "triton")
        assert labels.tolist() == mains.tolist() == [0, 1, 2]


class OnCuda(torch.Tensor):
    """Rows on a CPU that claim to be on a CUDA device."""

    is_cuda = True


def test_a_fall_back_is_logged_once(monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "combred")
    monkeypatch.setattr(kernels, "unavailable", lambda device: "no such luck")
    rows = ROWS.as_subclass(OnCuda)
    for _ in range(3):
        labels, _ = kernels.group(rows, 0.5)
        assert labels.tolist() == reference.group(ROWS, 0.5)[0].tolist()
    assert [record.getMessage() for record in caplog.records] == [
        "group falls back to its CPU implementation: no such luck"
    ]
    loading.fall_back("group", "another reason")
    loading.fall_back("another operation", "no such luck")
    assert len(caplog.records) == 3


@pytest.mark.cuda
def test_none_takes_the_gpu():
    rows = torch.randn(100, 8, generator=torch.Generator().manual_seed(0))
    labels, mains = kernels.group(rows.cuda(), 0.5)
    assert labels.is_cuda and "combred.kernels.grouping.gpu" in sys.modules
    expected = kernels.group(rows, 0.5)
    assert torch.equal(labels.cpu(), expected[0]) and torch.equal(mains.cpu(), expected[1])
