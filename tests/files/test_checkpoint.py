"""Checkpoints: loaded by their own training; refused, with the difference, by any other."""

import numpy as np
import pytest
import torch

from combred.files.checkpoint import first_difference, load_checkpoint, save_checkpoint


def test_a_saved_checkpoint_is_loaded(tmp_path):
    path, content = tmp_path / "a.checkpoint", {"x": torch.arange(3), "step": 7}
    assert load_checkpoint(path, "mine", "try again") is None
    save_checkpoint(path, "mine", content)
    found = load_checkpoint(path, "mine", "try again")
    assert torch.equal(found["x"], content["x"]) and found["step"] == 7
    assert [p.name for p in tmp_path.iterdir()] == ["a.checkpoint"]


def test_another_signature_is_refused_with_both_sides_and_the_remedy(tmp_path):
    path = tmp_path / "a.checkpoint"
    save_checkpoint(path, "x" * 500 + " lr=0.1" + "y" * 500, {})
    with pytest.raises(
        ValueError, match="then .*lr=0.1(.|\\n)*now .*lr=0.2(.|\\n)*or name another"
    ) as raised:
        load_checkpoint(path, "x" * 500 + " lr=0.2" + "y" * 500, "name another")
    assert len(str(raised.value)) < 600


def test_a_damaged_file_is_refused(tmp_path):
    (tmp_path / "a.checkpoint").write_bytes(b"no checkpoint")
    with pytest.raises(ValueError, match="(?s)cannot be read .*Move it away"):
        load_checkpoint(tmp_path / "a.checkpoint", "mine", "try again")


def test_a_flipped_bit_is_never_used(tmp_path):
    path, rng = tmp_path / "a.checkpoint", np.random.default_rng(0)
    content = {"x": torch.randn(500, generator=torch.Generator().manual_seed(0)), "step": 7}
    save_checkpoint(path, "mine", content)
    whole = path.read_bytes()
    for place in rng.integers(len(whole), size=80):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        path.write_bytes(flipped)
        try:  # a flip in the zip's own tables may leave the content as it was
            found = load_checkpoint(path, "mine", "try again")
        except ValueError:
            continue
        assert torch.equal(found["x"], content["x"]) and found["step"] == 7


@pytest.mark.parametrize("content", [[1, 2], {"x": 1}, {"signature": 3}])
def test_foreign_contents_are_refused(tmp_path, content):
    torch.save(content, tmp_path / "a.checkpoint")
    with pytest.raises(ValueError, match="no checkpoint of a training"):
        load_checkpoint(tmp_path / "a.checkpoint", "mine", "try again")


def test_the_first_difference():
    assert first_difference("abc", "abd") == ("abc", "abd")
    one, other = first_difference("a" * 100 + "b" + "c" * 100, "a" * 100 + "d", before=2, after=3)
    assert (one, other) == ("...aabcc...", "...aad")
