"""The digits that come with the course, and those that are downloaded."""

from pathlib import Path

import numpy as np
import pytest

from weft.chapters import Chapter
from weft.errors import LearnerError

digits = Chapter("35_mnist_cnn").digits


def test_drawn_digits_follow_the_seed() -> None:
    images, labels = digits.generated(20, seed=4)
    again, _ = digits.generated(20, seed=4)
    others, _ = digits.generated(20, seed=5)
    assert images.shape == (20, 28, 28)
    assert images.dtype == labels.dtype == np.uint8
    assert np.array_equal(images, again)
    assert not np.array_equal(images, others)
    assert images.max(axis=(1, 2)).min() > 200
    assert digits.generated(2, side=8)[0].shape == (2, 8, 8)


def test_drawn_digits_of_a_kind_are_alike() -> None:
    images, labels = digits.generated(400, seed=1)
    flat = images.reshape(len(images), -1).astype(float)
    means = np.stack([flat[:300][labels[:300] == k].mean(0) for k in range(10)])
    nearest = ((flat[300:, None] - means) ** 2).sum(-1).argmin(1)
    assert (nearest == labels[300:]).mean() > 0.7


def test_packed_digits_are_complete() -> None:
    images, labels = digits.packed()
    assert images.shape == (10_000, 28, 28)
    counts = [1001, 1127, 991, 1032, 980, 863, 1014, 1070, 944, 978]
    assert np.bincount(labels).tolist() == counts
    assert len(set(labels[:100].tolist())) == 10


def test_a_file_with_another_checksum_is_refused(tmp_path: Path) -> None:
    (tmp_path / next(iter(digits.FILES))).write_bytes(b"something else")
    with pytest.raises(LearnerError, match="SHA-256"):
        digits.mnist(tmp_path)


def test_without_a_network_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    with pytest.raises(LearnerError, match=r"digits\.packed"):
        digits.mnist(tmp_path)
