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
IDX_LABELS, IDX_IMAGES = 2049, 2051  # the first four bytes of an idx file: unsigned bytes, rank


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

    @property
    def pixels(self) -> int:
        """Numbers in one image."""
        return self.train[0].numel()

    def hold_out(self, n: int) -> "Images":
        """The same data with the last n training images as test images."""
        return replace(
            self,
            train=self.train[:-n],
            train_labels=self.train_labels[:-n],
            test=self.train[-n:],
            test_labels=self.train_labels[-n:],
        )


@dataclass(frozen=True)
class _Published:
    """The files of a CIFAR data set and the format of its records."""

    name: str
    classes: int
    train: tuple[str, ...]
    test: str
    label_bytes: int  # the last of them is the label
    subfolder: str
    archive: str
    pickled: str  # a file of the Python version


CIFAR = {
    "cifar10": _Published(
        "cifar10", 10, tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin", 1,
        "cifar-10-batches-bin", "cifar-10-binary.tar.gz", "data_batch_1",
    ),
    "cifar100": _Published(
        "cifar100", 100, ("train.bin",), "test.bin", 2,
        "cifar-100-binary", "cifar-100-binary.tar.gz", "train",
    ),
}  # fmt: skip
DATASETS = (*CIFAR, "fashion-mnist")


def load_images(dataset: str, folder: Path | str) -> Images:
    """A published data set from a folder, or from the subfolder to which its archive unpacks.

    Raises FileNotFoundError if a file is missing, ValueError if one is damaged or the name unknown.
    """
    if dataset in CIFAR:
        return load_cifar(CIFAR[dataset], Path(folder))
    if dataset == "fashion-mnist":
        return load_fashion_mnist(Path(folder))
    raise ValueError(f"dataset {dataset!r} is none of {', '.join(DATASETS)}")


# -- CIFAR ---------------------------------------------------------------------------------------


def load_cifar(published: _Published, folder: Path) -> Images:
    """CIFAR, binary version: records of label byte(s) and 3 x 1024 pixels, red, green, blue.

    Normalised by the mean and standard deviation of each channel over the training images, as the
    papers on CIFAR do.
    """
    if (folder / published.subfolder).is_dir():
        folder = folder / published.subfolder
    parts = [_read_cifar(published, folder, name) for name in published.train]
    pixels = np.concatenate([p for p, _ in parts])
    labels = np.concatenate([k for _, k in parts])
    train, test = (pixels, labels), _read_cifar(published, folder, published.test)
    mean = pixels.mean(axis=(0, 2, 3), dtype=np.float64) / 255
    std = pixels.std(axis=(0, 2, 3), dtype=np.float64) / 255
    return _images(published.name, train, test, published.classes, mean, std)


def _read_cifar(published: _Published, folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    path = folder / name
    if not path.exists():
        advice = f"unpack {published.archive} there, from {CIFAR_PAGE}"
        pickled = [folder, *folder.glob("cifar-*-py*")]
        if any((place / published.pickled).exists() for place in pickled):
            advice = (
                "the folder holds the Python version, whose pickles can run code when they are "
                f"read and are refused; {advice} (binary version)"
            )
        raise FileNotFoundError(f"there is no {path}: {advice}")
    record = published.label_bytes + int(np.prod(CIFAR_SHAPE))
    data = np.fromfile(path, dtype=np.uint8)
    if len(data) == 0 or len(data) % record:
        raise ValueError(
            f"{path} has {len(data)} bytes, which are no whole records of {record}: it is damaged. "
            f"Unpack {published.archive} again ({CIFAR_PAGE})."
        )
    rows = data.reshape(-1, record)
    labels = rows[:, published.label_bytes - 1]
    _require_labels(path, labels, published.classes)
    return rows[:, published.label_bytes :].reshape(-1, *CIFAR_SHAPE), labels


# -- FashionMNIST --------------------------------------------------------------------------------


def load_fashion_mnist(folder: Path) -> Images:
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
        _require_labels(folder / f"{kind}-labels-idx1-ubyte", labels, 10)
        parts.append((pixels[:, None], labels))
    half = np.array([0.5])
    return _images("fashion-mnist", *parts, 10, half, half)


def _read_idx(folder: Path, name: str, magic: int) -> np.ndarray:
    """An idx file: magic number, sizes (big-endian int32), then the bytes."""
    plain, packed = folder / name, folder / f"{name}.gz"
    if not plain.exists() and not packed.exists():
        raise FileNotFoundError(
            f"there is no {plain} and no {packed.name} beside it: they are published at "
            f"{FASHION_PAGE}"
        )
    path = plain if plain.exists() else packed
    damaged = f"is damaged: download it again ({FASHION_PAGE})"
    try:
        data = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be unpacked ({error}) and {damaged}") from error
    rank = magic & 0xFF
    header = 4 * (1 + rank)
    found = struct.unpack(">i", data[:4])[0] if len(data) >= header else None
    if found != magic:
        raise ValueError(f"{path} begins with {found}, not with {magic} as an idx file does; it "
                         f"{damaged}")  # fmt: skip
    shape = struct.unpack(f">{rank}i", data[4:header])
    if len(data) - header != np.prod(shape):
        raise ValueError(f"{path} holds {len(data) - header} bytes and promises {shape}; it "
                         f"{damaged}")  # fmt: skip
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)


# -- digits --------------------------------------------------------------------------------------


def load_digits(size: int = 16, channels: int = 1, seed: int = 0, test: int = 500) -> Images:
    """The 1797 handwritten digits of scikit-learn (8 x 8, UCI), upsampled to size x size.

    `test` of them, drawn once from `seed`, are held out. channels > 1 repeats the grey image.
    Normalised with mean and standard deviation of the training images.
    """
    try:
        from sklearn.datasets import load_digits as digits
    except ImportError as error:
        raise ImportError(
            "the digits come with scikit-learn, which is not installed: pip install -e "
            '".[bench]", or name a folder of published images with --data'
        ) from error
    loaded = digits()
    order = np.random.default_rng(seed).permutation(len(loaded.target))
    small = torch.from_numpy(loaded.images[order]).float()[:, None] / 16  # grey levels 0 to 16
    large = F.interpolate(small, size=(size, size), mode="bilinear", align_corners=False)
    labels = torch.from_numpy(loaded.target[order]).long()
    large = (large - large[test:].mean()) / large[test:].std()
    large = large.repeat(1, channels, 1, 1)
    return Images("digits", large[test:], labels[test:], large[:test], labels[:test], 10)


# -- both ----------------------------------------------------------------------------------------


def _require_labels(path: Path, labels: np.ndarray, classes: int) -> None:
    if labels.max() >= classes:
        raise ValueError(
            f"{path} holds label {labels.max()}, but there are {classes} classes: it is damaged, "
            "or the file of another data set"
        )


def _images(
    name: str,
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    classes: int,
    mean: np.ndarray,
    std: np.ndarray,
) -> Images:
    """Bytes (n, channels, height, width) -> (bytes / 255 - mean) / std, per channel."""

    def normalize(pixels: np.ndarray) -> Tensor:
        shift, scale = (torch.tensor(v, dtype=torch.float32)[:, None, None] for v in (mean, std))
        return (torch.from_numpy(pixels.copy()).float() / 255 - shift) / scale

    return Images(
        name,
        normalize(train[0]),
        torch.from_numpy(train[1].astype(np.int64)),
        normalize(test[0]),
        torch.from_numpy(test[1].astype(np.int64)),
        classes,
    )
