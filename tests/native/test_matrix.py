"""Layers on tiles of bf16 numbers (source/matrix.hpp), with tiles that any CPU computes."""

import shutil
import subprocess
from pathlib import Path

import pytest
from compiled_program import SANITIZERS

from combred.native.generator import SOURCE

PROGRAM = Path(__file__).parent / "matrix.cpp"


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_three_products_of_bf16_are_a_product_of_floats_but_for_16_bits(compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    program = tmp_path / "matrix"
    command = [compiler, "-std=c++17", "-O1", "-Wno-psabi", "-DCOMBRED_WIDTH=16", f"-I{SOURCE}"]
    command += SANITIZERS
    built = subprocess.run(
        [*command, str(PROGRAM), "-o", str(program)], capture_output=True, text=True
    )
    if "cannot find" in built.stderr:
        pytest.skip("the sanitizers' libraries are not installed")
    if "this compiler has no tiles" in built.stderr:
        pytest.skip(f"{compiler} is too old, or this is no x86-64")
    assert built.returncode == 0, built.stderr
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    worst = [float(word) for word in printed.split()]
    # Over the sum of |w x|. What is left out is low times low, 2^-7 times 2^-8 at most; the error
    # with high alone would be 2^-8. Of weights of 8 bits, what is left of the inputs below 16 bits
    # is missing; where the inputs have 8 bits too, sums alone differ.
    assert len(worst) == 7 and all(1e-7 < error < 2**-15 for error in worst[:6])
    assert worst[6] < 1e-6
