"""Labelled images: CIFAR-10, CIFAR-100 and FashionMNIST from their published files, and digits.

The readers take a folder and give `Images`, normalised as in the papers. Without a folder, the
scripts use the digits of scikit-learn, upsampled: 1797 images.
"""

import gzip
import struct
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

CIFAR_PAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"
FASHION_PAGE = "https://github.com/zalandoresearch/fashion-mnist"
CIFAR_SHAPE = (3, 32, 32)
TEST = 500  # of the digits
# Classes, bytes of a label (the last of them counts), training files, test file, subfolder.
CIFAR = {
    "cifar10": (10, 1, [f"data_batch_{i}.bin" for i in range(1, 6)], "test_batch.bin",
                "cifar-10-batches-bin"),
    "cifar100": (100, 2, ["train.bin"], "test.bin", "cifar-100-binary"),
}  # fmt: skip
IDX_LABELS, IDX_IMAGES = 2049, 2051  # the first four bytes of an idx file: unsigned bytes, rank
Pixels = tuple[np.ndarray, np.ndarray]  # bytes (n, channels, height, width), labels (n,)


@dataclass(frozen=True)
class Images:
    """A data set. train, test: (n, channels, height, width) float32, normalised; labels (n,)
    int64 in 0 .. classes - 1."""

    name: str
    train: Tensor
    train_labels: Tensor
    test: Tensor
    test_labels: Tensor
    classes: int

    @property
    def example(self) -> Tensor:
        """One image, as a batch (1, channels, height, width)."""
        return self.test[:1]

    @property
    def channels(self) -> int:
        """Channels of an image."""
        return self.train.shape[1]

    def hold_out(self, n: int) -> "Images":
        """The same data with the last n training images as test images."""
        return replace(
            self,
            train=self.train[:-n],
            train_labels=self.train_labels[:-n],
            test=self.train[-n:],
            test_labels=self.train_labels[-n:],
        )


def load_images(dataset: str, folder: Path | str | None, digits: int = 16) -> Images:
    """A published data set ("cifar10", "cifar100", "fashion-mnist") from a folder, or from the
    subfolder to which its archive unpacks; without a folder `load_digits` of that size.

    Raises FileNotFoundError if a file is missing, ValueError if one is damaged or the name unknown.
    """
    if folder is None:
        return load_digits(digits)
    if dataset in CIFAR:
        return _cifar(dataset, Path(folder))
    if dataset == "fashion-mnist":
        return _fashion_mnist(Path(folder))
    raise ValueError(f"dataset {dataset!r} is none of {', '.join(CIFAR)}, fashion-mnist")


def load_digits(size: int = 16) -> Images:
    """The 1797 handwritten digits of scikit-learn (8 x 8, UCI), upsampled to size x size, `TEST` of
    them held out. Normalised with mean and standard deviation of the training images."""
    try:
        from sklearn.datasets import load_digits as digits
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":  # a package that it needs itself
            raise
        raise ModuleNotFoundError(
            "the digits come with scikit-learn, which is not installed: pip install -e "
            '".[bench]", or name a folder of published images with --data'
        ) from error
    loaded = digits()
    order = np.random.default_rng(0).permutation(len(loaded.target))
    small = torch.from_numpy(loaded.images[order]).float()[:, None] / 16  # grey levels 0 to 16
    large = F.interpolate(small, size=(size, size), mode="bilinear", align_corners=False)
    labels = torch.from_numpy(loaded.target[order]).long()
    large = (large - large[TEST:].mean()) / large[TEST:].std()
    return Images("digits", large[TEST:], labels[TEST:], large[:TEST], labels[:TEST], 10)


def _cifar(name: str, folder: Path) -> Images:
    """CIFAR, binary version: records of label byte(s) and 3 x 1024 pixels, red, green, blue.

    Normalised by the mean and standard deviation of each channel over the training images.
    """
    classes, _, files, test, subfolder = CIFAR[name]
    if (folder / subfolder).is_dir():
        folder = folder / subfolder
    parts = [_read_cifar(name, folder / file) for file in files]
    pixels, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    mean = pixels.mean(axis=(0, 2, 3), dtype=np.float64) / 255
    std = pixels.std(axis=(0, 2, 3), dtype=np.float64) / 255
    return _images(name, (pixels, labels), _read_cifar(name, folder / test), classes, (mean, std))


def _read_cifar(name: str, path: Path) -> Pixels:
    classes, label_bytes = CIFAR[name][:2]
    if not path.exists():
        raise FileNotFoundError(
            f"there is no {path}: unpack the binary version of {name} there, from {CIFAR_PAGE} "
            "(pickles of the Python version can run code when they are read and are refused)"
        )
    record = label_bytes + int(np.prod(CIFAR_SHAPE))
    data = np.fromfile(path, dtype=np.uint8)
    if len(data) == 0 or len(data) % record:
        raise ValueError(
            f"{path} has {len(data)} bytes, which are no whole records of {record}: it is damaged. "
            f"Unpack the archive again ({CIFAR_PAGE})."
        )
    rows = data.reshape(-1, record)
    labels = _checked(path, rows[:, label_bytes - 1], classes)
    return rows[:, label_bytes:].reshape(-1, *CIFAR_SHAPE), labels


def _fashion_mnist(folder: Path) -> Images:
    """FashionMNIST, idx files, gzipped or not; mean and standard deviation 0.5 (Kim et al.,
    section 4)."""
    for subfolder in ("fashion-mnist", "FashionMNIST/raw"):
        if (folder / subfolder).is_dir():
            folder = folder / subfolder
    parts = []
    for kind in ("train", "t10k"):
        pixels = _read_idx(folder, f"{kind}-images-idx3-ubyte", IDX_IMAGES)
        labels = _read_idx(folder, f"{kind}-labels-idx1-ubyte", IDX_LABELS)
        if len(pixels) != len(labels):
            raise ValueError(
                f"{folder}: {kind}-images has {len(pixels)} images and {kind}-labels {len(labels)} "
                "labels: the files do not belong together"
            )
        parts.append((pixels[:, None], _checked(folder / f"{kind}-labels", labels, 10)))
    half = np.array([0.5])
    return _images("fashion-mnist", *parts, 10, (half, half))


def _read_idx(folder: Path, name: str, magic: int) -> np.ndarray:
    """An idx file: magic number, sizes (big-endian int32), then the bytes."""
    plain, packed = folder / name, folder / f"{name}.gz"
    path = plain if plain.exists() else packed
    if not path.exists():
        raise FileNotFoundError(
            f"there is no {plain} and no {packed.name} beside it: they are at {FASHION_PAGE}"
        )
    damaged = f"is damaged: download it again ({FASHION_PAGE})"
    try:
        data = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be unpacked ({error}) and {damaged}") from error
    rank = magic & 0xFF
    header = 4 * (1 + rank)
    found = struct.unpack(f">{rank + 1}i", data[:header]) if len(data) >= header else (None,)
    if found[0] != magic or len(data) - header != np.prod(found[1:]):
        raise ValueError(
            f"{path} begins with {found[0]} (an idx file: {magic}), holds {len(data)} bytes and "
            f"promises {found[1:]}; it {damaged}"
        )
    return np.frombuffer(data, np.uint8, offset=header).reshape(found[1:])


def _checked(path: Path, labels: np.ndarray, classes: int) -> np.ndarray:
    if labels.max() >= classes:
        raise ValueError(
            f"{path} holds label {labels.max()}, but there are {classes} classes: it is damaged, "
            "or the file of another data set"
        )
    return labels


def _images(name: str, train: Pixels, test: Pixels, classes: int, moments: Pixels) -> Images:
    """(bytes / 255 - mean) / std, per channel; moments: mean and std."""
    shift, scale = (torch.tensor(v, dtype=torch.float32)[:, None, None] for v in moments)
    found = []
    for pixels, labels in (train, test):
        found.append((torch.from_numpy(pixels.copy()).float() / 255 - shift) / scale)
        found.append(torch.from_numpy(labels.astype(np.int64)))
    return Images(name, *found, classes)
