"""The name of the machine in results."""

import pytest

from combred.processes import machine

TEXT = (
    "processor\t: 0\nvendor_id\t: {0}\ncpu family\t: {1}\nmodel\t\t: {2}\nmodel name\t: {3}\n"
    "flags\t\t: fma avx2\n"
)


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (("AuthenticAMD", 25, 17, "AMD EPYC"), "AMD EPYC, Zen 4 (AVX2), "),
        (("AuthenticAMD", 25, 1, "AMD EPYC"), "AMD EPYC, Zen 3 (AVX2), "),
        (("AuthenticAMD", 26, 2, "AMD EPYC"), "AMD EPYC, Zen 5 (AVX2), "),
        (("AuthenticAMD", 27, 0, "AMD EPYC"), "AMD EPYC, family 27 model 0 (AVX2), "),
        (("GenuineIntel", 6, 143, "Intel Xeon"), "Intel Xeon, family 6 model 143 (AVX2), "),
        (("GenuineIntel", 25, 17, "a"), "a, family 25 model 17 (AVX2), "),
    ],
)
def test_a_processor_is_named_with_its_generation(tmp_path, monkeypatch, info, expected):
    file = tmp_path / "cpuinfo"
    file.write_text(TEXT.format(*info))
    monkeypatch.setattr(machine, "INFO", file)
    assert machine.machine().startswith(expected)


def test_without_a_description_there_are_vectors_and_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "INFO", tmp_path / "none")
    assert "(DEFAULT), " in machine.machine() and "family" not in machine.machine()
