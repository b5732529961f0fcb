"""The narrow formats of lab 38, beside PyTorch's and ml_dtypes' own conversions."""

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import weft  # noqa: F401  before Numba
from weft.chapters import Chapter

ROOT = Path(__file__).parents[1]
CHAPTER = Chapter("38_after_hopper")
formats, measure = CHAPTER.formats, CHAPTER.measure


def numbers(most: float) -> np.ndarray:
    """Numbers of float32 in and around a format, among them many ties."""
    rng = np.random.default_rng(0)
    found = [rng.normal(0, most / 3, 4000), rng.uniform(-most, most, 4000)]
    found += [np.exp2(rng.uniform(-14, math.log2(most), 4000))]
    found += [np.arange(-1024, 1024) * most / 4096, np.arange(-64, 64) / 16]
    return np.concatenate(found).astype(np.float32)


def test_e2m1_is_that_of_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = numbers(8.0)
    wanted = x.astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    assert [formats.e2m1(float(one)) for one in x] == wanted.tolist()
    codes = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn)
    assert list(formats.E2M1) == codes.astype(float).tolist()


def test_e4m3_is_that_of_pytorch() -> None:
    x = torch.from_numpy(numbers(448.0)).clamp(-448, 448)
    wanted = x.to(torch.float8_e4m3fn).double()
    assert [formats.e4m3(one) for one in x.tolist()] == wanted.tolist()
    assert formats.e4m3(449.0) == formats.e4m3(1e9) == 448
    assert formats.e4m3(-1e9) == -448


def test_the_byte_of_mx_is_an_exponent() -> None:
    rng = np.random.default_rng(0)
    most = np.exp2(rng.uniform(-126, 127.9, 2000)).astype(np.float32)
    exponents = (most.view(np.uint32) >> 23).astype(int)  # biased by 127, as e8m0
    bytes_ = [formats.mx_scale([0.0, -float(one)]) for one in most]
    assert bytes_ == np.maximum(exponents - 8, 0).tolist()
    scales = torch.tensor(bytes_, dtype=torch.uint8).view(torch.float8_e8m0fnu)
    assert scales.double().tolist() == [2.0 ** (byte - 127) for byte in bytes_]


def test_no_other_scale_of_mx_is_as_large_without_losing_the_top() -> None:
    for most in (1.0, 447.0, 448.0, 500.0, 511.9, 512.0):
        scale = 2.0 ** (formats.mx_scale([most]) - 127)
        assert 256 <= most / scale < 512


def test_nvfp4_brings_the_largest_number_to_the_largest_code() -> None:
    rng = np.random.default_rng(0)
    values = (rng.normal(size=256) * np.exp2(rng.uniform(-6, 6))).tolist()
    tensor, scales = formats.nvfp4_scales(values)
    assert max(scales) == 448
    assert np.float32(tensor) == tensor
    assert all(formats.e4m3(scale) == scale for scale in scales)
    for scale, block in zip(scales, formats.blocks(values, 16), strict=True):
        most = max(map(abs, block)) / (scale * tensor)
        assert 6 / (1 + 1 / 16) <= most <= 6 * (1 + 1 / 16)


@pytest.mark.parametrize("block", [16, 32])
def test_a_scaled_product_is_that_of_the_decoded_numbers(block: int) -> None:
    rng = np.random.default_rng(0)
    vectors = [
        formats.Scaled(
            tuple(rng.integers(16, size=96).tolist()),
            tuple(rng.uniform(0.1, 9, 96 // block).tolist()),
            float(rng.uniform(0.1, 9)),
        )
        for _ in range(2)
    ]
    a, b = map(measure.decoded, vectors)
    assert formats.scaled_dot(*vectors) == pytest.approx(a @ b, rel=1e-12)


def test_the_recorded_errors_are_those_of_the_lab() -> None:
    folder = ROOT / "book" / "recordings" / "38_after_hopper"
    recorded = (folder / "errors.txt").read_text("utf-8")
    assert module(folder / "errors.py").table() + "\n" == recorded


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("recorded_errors", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
