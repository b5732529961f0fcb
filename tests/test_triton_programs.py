"""Triton programs as learners write them: right ones pass, wrong ones say why."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba
from weft import check
from weft.dispatch import room_of
from weft.triton_programs import full_size, machine_code, missing, room

if reason := missing():
    pytest.skip(reason, allow_module_level=True)

import torch
import triton
import triton.language as tl
from triton.runtime.interpreter import InterpretedFunction
from triton.tools.tensor_descriptor import TensorDescriptor

cdiv = triton.cdiv


@pytest.fixture(autouse=True, scope="module")
def fresh_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compile anew, whatever earlier runs have left in Triton's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        yield


def normal(rng: Any, *shape: int, dtype: Any = np.float32) -> Any:
    return rng.standard_normal(shape).astype(dtype)


# Three exercises, and their launches

ADD: dict[str, Any] = {
    "spec": lambda x, y: x + y,
    "inputs": lambda rng, n: (normal(rng, n), normal(rng, n)),
    "sizes": [97, 300],
    "launch": lambda n, BLOCK=64: ((cdiv(n, BLOCK),), {"BLOCK": BLOCK}),
}


def softmax_of(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


SOFTMAX: dict[str, Any] = {
    "spec": softmax_of,
    "inputs": lambda rng, rows, cols: (normal(rng, rows, cols) - 20,),
    "sizes": [(3, 70), (4, 128), (5, 37)],
    "arguments": lambda x, out: (x, out, x.shape[1], x.stride(0)),
    "launch": lambda rows, cols: ((rows,), {"BLOCK": triton.next_power_of_2(cols)}),
    "limits": {"loaded": 1, "stored": 1},
}

MATMUL: dict[str, Any] = {
    "spec": lambda a, b: a @ b,
    "inputs": lambda rng, m, n, k: (normal(rng, m, k), normal(rng, k, n)),
    "sizes": [(16, 32, 16), (20, 40, 36)],
    "arguments": lambda a, b, out: (
        *(a, b, out, a.shape[0], b.shape[1], a.shape[1]),
        *(a.stride(0), b.stride(0), out.stride(0)),
    ),
    "launch": lambda m, n, k: (
        (cdiv(m, 16), cdiv(n, 32)),
        {"BM": 16, "BN": 32, "BK": 16},
    ),
}

SUM: dict[str, Any] = {
    "spec": lambda x: x.sum(keepdims=True),
    "inputs": lambda rng, n: (normal(rng, n),),
    "sizes": [100, 300],
    "out": lambda x: np.zeros(1, np.float32),
    "launch": lambda n: ((cdiv(n, 64),), {"BLOCK": 64}),
}


# Right answers


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    a = tl.load(x + offsets, mask=mask)
    b = tl.load(y + offsets, mask=mask)

    tl.store(out + offsets, a + b, mask=mask)


ONE = tl.constexpr(1.0)


@triton.jit
def add_by_methods(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n), tl.load(y + i, mask=i < n)
    tl.store(out + i, ONE * a + b + 0 * (a.exp() + (b.abs() + 1).log()), mask=i < n)


@triton.jit
def offsets_of(program, n, BLOCK: tl.constexpr):
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    return offsets, offsets < n


@triton.jit
def add_in_a_loop(x, y, out, n, BLOCK: tl.constexpr):
    for part in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        i, mask = offsets_of(part, n, BLOCK)
        tl.store(out + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask)


@triton.jit
def add_in_chunks(x, y, out, n, BLOCK: tl.constexpr):
    """Each program has some blocks of its own."""
    own = tl.cdiv(tl.cdiv(n, BLOCK), tl.num_programs(0))
    first = tl.program_id(0) * own * BLOCK
    end = min(first + own * BLOCK, n)
    for start in tl.range(first, end, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total = tl.load(x + i, mask=i < end) + tl.load(y + i, mask=i < end)
        tl.store(out + i, total, mask=i < end)


@triton.autotune(
    [triton.Config({"BLOCK": 32}, num_warps=1), triton.Config({"BLOCK": 64})], key=["n"]
)
@triton.jit
def add_tuned(x, y, out, n, BLOCK: tl.constexpr):
    i, mask = offsets_of(tl.program_id(0), n, BLOCK)
    tl.store(out + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask)


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def add_even(x, y, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + i, tl.load(x + i) + tl.load(y + i))
    else:
        mask = i < n
        tl.store(out + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask)


@triton.jit
def softmax(x, out, cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)

    v = tl.load(x + row * stride + col, mask=col < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))

    tl.store(out + row * stride + col, e / tl.sum(e, axis=0), mask=col < cols)


@triton.jit
def softmax_without_other(x, out, cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    v = tl.load(x + row * stride + col, mask=mask)
    v = tl.where(mask, v, float("-inf"))
    e = tl.exp(v - v.max(0))
    tl.store(out + row * stride + col, e / e.sum(0), mask=mask)


@triton.jit
def matmul(
    a, b, out, M, N, K, lda, ldb, ldo,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        row = first + tl.arange(0, BK)[:, None]
        col = first + tl.arange(0, BK)[None, :]
        left = tl.load(a + m * lda + col, mask=(m < M) & (col < K), other=0.0)
        right = tl.load(b + row * ldb + n, mask=(row < K) & (n < N), other=0.0)
        acc = tl.dot(left, right, acc)
    tl.store(out + m * ldo + n, acc, mask=(m < M) & (n < N))


@triton.jit
def matmul_one_other(
    a, b, out, M, N, K, lda, ldb, ldo,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        row = first + tl.arange(0, BK)[:, None]
        col = first + tl.arange(0, BK)[None, :]
        left = tl.load(a + m * lda + col, mask=(m < M) & (col < K), other=0.0)
        right = tl.load(b + row * ldb + n, mask=(row < K) & (n < N))
        acc = tl.dot(left, right, acc)
    tl.store(out + m * ldo + n, acc, mask=(m < M) & (n < N))


@triton.jit
def matmul_by_descriptor(
    a, b, out, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc += tl.dot(a.load([m, k]), b.load([k, n]))
    out.store([m, n], acc)


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


@triton.jit
def total_under_a_lock(x, out, lock, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + i, mask=i < n, other=0.0))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + part)
    tl.atomic_xchg(lock, 0)


DESCRIPTORS = {
    "arguments": lambda a, b, out: (
        TensorDescriptor.from_tensor(a, [16, 16]),
        TensorDescriptor.from_tensor(b, [16, 32]),
        TensorDescriptor.from_tensor(out, [16, 32]),
        a.shape[1],
    )
}
TUNED = {"launch": lambda n: lambda meta: (cdiv(n, meta["BLOCK"]),)}
LOCK = {
    "spec": lambda x: (x.sum(keepdims=True), np.zeros(1, np.int32)),
    "out": lambda x: (np.zeros(1, np.float32), np.zeros(1, np.int32)),
}


@pytest.mark.parametrize(
    ("program", "exercise"),
    [
        (add, ADD),
        (add_in_a_loop, ADD | {"launch": lambda n: ((2,), {"BLOCK": 64})}),
        (add_in_chunks, ADD | {"launch": lambda n: ((2,), {"BLOCK": 32})}),
        (add_tuned, ADD | TUNED),
        (add_even, ADD),
        (softmax, SOFTMAX),
        (softmax_without_other, SOFTMAX),
        (matmul, MATMUL),
        (matmul_by_descriptor, MATMUL | DESCRIPTORS),
        (total, SUM),
        (total_under_a_lock, SUM | LOCK),
    ],
    ids=lambda value: getattr(getattr(value, "fn", value), "__name__", ""),
)
def test_a_right_program_passes(program: Any, exercise: dict[str, Any]) -> None:
    verdict = check(program, **exercise)
    assert verdict, verdict
    assert any(fact.startswith("compiles for") for fact in verdict.facts), verdict


# Wrong answers


@triton.jit
def no_mask_on_load(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i)
    b = tl.load(y + i, mask=i < n)
    tl.store(out + i, a + b, mask=i < n)


@triton.jit
def no_mask_on_store(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    b = tl.load(y + i, mask=i < n)
    tl.store(out + i, a + b)


@triton.jit
def one_too_many(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i <= n
    a = tl.load(x + i, mask=mask)
    tl.store(out + i, a + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def one_too_few(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n - 1
    a = tl.load(x + i, mask=mask)
    tl.store(out + i, a + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def wrong_axis(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    tl.store(out + i, a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def forgot_the_block(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    tl.store(out + i, a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def one_before(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) - 1
    a = tl.load(x + i, mask=i < n)
    tl.store(out + i, a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def into_the_input(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    tl.store(x + i, a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def adds_to_the_output(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    old = tl.load(out + i, mask=i < n)
    a = tl.load(x + i, mask=i < n)
    tl.store(out + i, old + a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def one_program_does_all(x, y, out, n, BLOCK: tl.constexpr):
    for first in range(0, n, BLOCK):
        i = first + tl.arange(0, BLOCK)
        a = tl.load(x + i, mask=i < n)
        tl.store(out + i, a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def takes_the_pointers(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, x[i] + y[i], mask=i < n)


@triton.jit
def branches_on_a_block(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if i < n:
        tl.store(out + i, tl.load(x + i) + tl.load(y + i))


@triton.jit
def block_of_any_length(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, 100)
    a = tl.load(x + i, mask=i < n)
    tl.store(out + i, a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def block_not_constant(x, y, out, n, BLOCK):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    tl.store(out + i, a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def another_name(x, y, out, n, BLOCK_SIZE: tl.constexpr):
    i = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    a = tl.load(x + i, mask=i < n)
    tl.store(out + i, a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def output_first(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    tl.store(out + i, a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def endless(x, y, out, n, BLOCK: tl.constexpr):
    first = 0
    while first < n:
        tl.store(out + first + tl.arange(0, BLOCK), 0.0)


@triton.jit
def in_bfloat16(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n).to(tl.bfloat16)
    b = tl.load(y + i, mask=i < n).to(tl.bfloat16)
    tl.store(out + i, a + b, mask=i < n)


@triton.jit
def changes_its_type(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = 0
    for _ in range(n // n):
        a += tl.load(x + i, mask=i < n)
    tl.store(out + i, a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def not_begun(x, y, out, n, BLOCK: tl.constexpr):
    pass  # your code here


@triton.jit
def zero_in_a_maximum(x, out, cols, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < cols
    v = tl.load(x + at, mask=mask, other=0.0)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + at, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def no_other(x, out, cols, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < cols
    v = tl.load(x + at, mask=mask)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + at, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def every_program_the_first_row(x, out, cols, stride, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    v = tl.load(x + col, mask=col < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + col, e / tl.sum(e, axis=0), mask=col < cols)


@triton.jit
def mask_of_a_power(x, out, cols, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=tl.arange(0, BLOCK) < BLOCK, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + at, e / tl.sum(e, axis=0), mask=tl.arange(0, BLOCK) < cols)


@triton.jit
def reads_twice(x, out, cols, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < cols
    top = tl.max(tl.load(x + at, mask=mask, other=-float("inf")), axis=0)
    e = tl.exp(tl.load(x + at, mask=mask, other=-float("inf")) - top)
    tl.store(out + at, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def strides_swapped(
    a, b, out, M, N, K, lda, ldb, ldo,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        row = first + tl.arange(0, BK)[:, None]
        col = first + tl.arange(0, BK)[None, :]
        left = tl.load(a + m * lda + col, mask=(m < M) & (col < K), other=0.0)
        right = tl.load(b + row + n * ldb, mask=(row < K) & (n < N), other=0.0)
        acc = tl.dot(left, right, acc)
    tl.store(out + m * ldo + n, acc, mask=(m < M) & (n < N))


@triton.jit
def k_without_a_mask(
    a, b, out, M, N, K, lda, ldb, ldo,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        row = first + tl.arange(0, BK)[:, None]
        col = first + tl.arange(0, BK)[None, :]
        left = tl.load(a + m * lda + col, mask=m < M, other=0.0)
        right = tl.load(b + row * ldb + n, mask=n < N, other=0.0)
        acc = tl.dot(left, right, acc)
    tl.store(out + m * ldo + n, acc, mask=(m < M) & (n < N))


@triton.jit
def shapes_that_do_not_fit(
    a, b, out, M, N, K, lda, ldb, ldo,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    out_at = out + m * ldo + n
    tl.store(out_at, 0.0)


@triton.jit
def no_atomic(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + i, mask=i < n, other=0.0))
    tl.store(out, tl.load(out) + part)


@triton.jit
def cleared_by_one(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(out, 0.0)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


@triton.jit
def sum_without_other(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n)))


@triton.jit
def sum_of_each_element(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i * 0, tl.load(out + i * 0) + tl.load(x + i, mask=i < n, other=0.0))


@triton.autotune([triton.Config({"BLOCK": b}) for b in (32, 64)], key=["n"])
@triton.jit
def tuned_total(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


@triton.autotune([triton.Config({"BLOCK": b}) for b in (128, 32)], key=["cols"])
@triton.jit
def tuned_softmax(x, out, cols, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < cols
    v = tl.load(x + at, mask=mask, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + at, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def in_order(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(out + i - BLOCK, mask=i >= BLOCK, other=0.0)
    tl.store(out + i, before + tl.load(x + i, mask=i < n), mask=i < n)


ROWS = {"launch": lambda rows, cols: (rows,)}
RUNNING = {
    "spec": lambda x: np.array([x[k % 64 : k + 1 : 64].sum() for k in range(len(x))]),
    "out": None,
}

WRONG: list[tuple[Any, dict[str, Any], str, str]] = [
    (no_mask_on_load, ADD, "out-of-bounds", "a = tl.load(x + i)"),
    (no_mask_on_store, ADD, "out-of-bounds", "tl.store(out + i, a + b)"),
    (one_too_many, ADD, "out-of-bounds", "a = tl.load(x + i, mask=mask)"),
    (one_too_few, ADD, "unwritten", "tl.store"),
    (wrong_axis, ADD, "unwritten", "tl.store"),
    (forgot_the_block, ADD, "unwritten", "tl.store"),
    (one_before, ADD, "negative-index", "a = tl.load"),
    (into_the_input, ADD, "input-written", "tl.store(x + i"),
    (adds_to_the_output, ADD, "uninitialised", "old = "),
    (one_program_does_all, ADD, "race", "tl.store"),
    (takes_the_pointers, ADD, "program", "tl.store"),
    (branches_on_a_block, ADD, "program", "if i < n"),
    (block_of_any_length, ADD, "program", "i = tl.program_id(0)"),
    (block_not_constant, ADD, "program", "i = tl.program_id(0)"),
    (another_name, ADD, "arguments", "def another_name"),
    (output_first, ADD | {"arguments": lambda x, y, out: (x, y, out, x.numel())},
     "arguments", "def output_first"),
    (endless, ADD, "endless-loop", "while first < n"),
    (in_bfloat16, ADD, "interpreter", "a = tl.load"),
    (changes_its_type, ADD, "program", "for _ in"),
    (not_begun, ADD, "begin", ""),
    (zero_in_a_maximum, SOFTMAX, "wrong-value", "tl.store"),
    (no_other, SOFTMAX, "wrong-value", "v = tl.load(x + at, mask=mask)"),
    (every_program_the_first_row, SOFTMAX, "unwritten", "tl.store"),
    (mask_of_a_power, SOFTMAX, "out-of-bounds", "v = tl.load"),
    (reads_twice, SOFTMAX, "reloads", "top = tl.max"),
    (strides_swapped, MATMUL, "out-of-bounds", "right = tl.load"),
    (k_without_a_mask, MATMUL, "out-of-bounds", "right = tl.load"),
    (shapes_that_do_not_fit, MATMUL, "program", "out_at = "),
    (no_atomic, SUM, "race", "tl.store"),
    (cleared_by_one, SUM, "race", "tl.store(out, 0.0)"),
    (sum_without_other, SUM, "wrong-value", "tl.atomic_add"),
    (sum_of_each_element, SUM, "wrong-value", "tl.store"),
    (tuned_total, SUM | TUNED, "tuning", "tl.atomic_add"),
    (tuned_softmax, SOFTMAX | ROWS, "unwritten", "tl.store"),
    (in_order, SUM | RUNNING, "race", "tl.store"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "exercise", "kind", "line"),
    WRONG,
    ids=[getattr(getattr(w[0], "fn", w[0]), "__name__", "") for w in WRONG],
)
def test_a_wrong_program_is_refused_for_its_mistake(
    program: Any, exercise: dict[str, Any], kind: str, line: str
) -> None:
    verdict = check(program, **exercise)
    assert verdict.kind == kind, verdict
    if line:
        place = verdict.places[0][0]
        assert place.text.startswith(line), verdict
        with open(__file__, encoding="utf-8") as file:
            assert file.readlines()[place.line - 1].strip() == place.text


# The words


def test_a_verdict_names_program_element_and_offset() -> None:
    verdict = check(no_mask_on_load, **ADD)
    assert verdict.message == (
        "Program 1 loads `x + 97` (element 33 of its block of 64), and x has 97 "
        "elements: offsets 0 to 96."
    )
    assert "31 elements" in verdict.why
    assert "no mask" in verdict.why


def test_a_load_without_other_is_named_before_the_store() -> None:
    verdict = check(no_other, **SOFTMAX)
    assert [note for _, note in verdict.places] == [
        "a mask, and no `other`",
        "stored here, by program 0",
    ]


def test_updates_that_get_lost_are_no_plain_race() -> None:
    verdict = check(no_atomic, **SUM)
    assert "updates of global memory are lost" in verdict.title
    assert verdict.page == "lost-update"


def test_only_a_missing_other_is_blamed_on_it() -> None:
    @triton.jit
    def subtracts(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        a = tl.load(x + i, mask=i < n)
        tl.store(out + i, a - tl.load(y + i, mask=i < n), mask=i < n)

    verdict = check(subtracts, **ADD)
    assert verdict.kind == "wrong-value"
    assert "other" not in verdict.why


@triton.jit
def asserts_another_size(x, y, out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK == 32)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), mask=i < n)


def test_an_error_without_a_message_does_not_repeat_the_program() -> None:
    verdict = check(asserts_another_size, **ADD)
    assert verdict.message == "Triton's compiler refuses this line."
    assert verdict.places[0][0].text == "tl.static_assert(BLOCK == 32)"
    assert verdict.why == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("tl.load(i, mask=i < n)", "need an address"),
        ("tl.load(x + y, mask=i < n)", "Two pointers"),
        ("tl.load(x + i / 2, mask=i < n)", "not an integer"),
        ("np.exp(tl.load(x + i, mask=i < n))", "with `tl.` functions"),
        ("math.sin(tl.load(x + i, mask=i < n))", "with `tl.` functions"),
        ("mix(tl.load(x + i, i < n), i)", "`mix` is a function of Python"),
        ("tl.load(x + i, i < n) + tl.load(y + i, i < n)[0]", "has an index"),
        ("tl.load(x + i, i < n) + x.shape[0]", "neither elements nor a shape"),
        ("tl.load(x + i, i < n).shape[1]", "does not have that axis"),
        ("tl.broadcast_to(1.0, (BLOCK,))", "a block is expected"),
        (
            "tl.load(x + i, mask=tl.arange(0, 32) < n)",
            "shapes do not fit: pointers (64,), mask (32,). Each pointer",
        ),
        ("i + tl.arange(0, 32)", "(64,) and (32,). Shapes broadcast as in NumPy: `"),
        (
            "(i[:, None] + i) + tl.arange(0, 32)[None, :]",
            "(64, 64) and (1, 32). Shapes broadcast as in NumPy: along each axis",
        ),
        (
            "tl.store(out, tl.load(x + i, i < n))",
            "differ in shape: one pointer, values (64,). One address",
        ),
        (
            "tl.dot(tl.zeros((16, 16), tl.float32), tl.zeros((32, 16), tl.float32))",
            "do not fit: (16, 16) times (32, 16). (m, k)",
        ),
        ("tl.load(x + i, mask=i < m)", "`m` is not defined"),
        ("tl.load(x + tl.arange(0, n))", "numbers that the compiler knows"),
        ("tl.load(x + i, mask=0 <= i < n)", "taken for true or false"),
    ],
)
def test_what_the_language_refuses_is_said_in_words(
    line: str, said: str, tmp_path: Any
) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import math, numpy as np\nimport triton\nimport triton.language as tl\n"
        "def mix(a, b): return a + b\n@triton.jit\n"
        "def add(x, y, out, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        f"    v = {line}\n"
        "    tl.store(out + i, v, mask=i < n)\n"
    )
    scope: dict[str, Any] = {"__name__": "program"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    verdict = check(scope["add"], **ADD)
    assert verdict.kind in ("program", "exception"), verdict
    assert verdict.line == 8, verdict
    assert said in f"{verdict.message} {verdict.why}", verdict


def test_a_line_of_a_called_function_comes_with_its_call() -> None:
    @triton.jit
    def read(x, i):
        return tl.load(x + i)

    @triton.jit
    def adds(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, read(x, i) + read(y, i), mask=i < n)

    verdict = check(adds, **ADD)
    assert [(p.function, note) for p, note in verdict.places] == [
        ("read", ""),
        ("adds", "called here"),
    ]


# Data


def test_the_gaps_of_an_array_are_not_its_elements() -> None:
    own = SOFTMAX | {
        "inputs": lambda rng, rows, cols: ((normal(rng, rows, cols + 3))[:, :cols],),
        "arguments": lambda x, out: (x, out, x.shape[1], x.stride(0), out.stride(0)),
    }

    @triton.jit
    def rows(x, out, cols, stride, stride_out, BLOCK: tl.constexpr):
        row, col = tl.program_id(0), tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + col, mask=col < cols, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        e = e / tl.sum(e, axis=0)
        tl.store(out + row * stride_out + col, e, mask=col < cols)

    @triton.jit
    def dense(x, out, cols, stride, stride_out, BLOCK: tl.constexpr):
        row, col = tl.program_id(0), tl.arange(0, BLOCK)
        v = tl.load(x + row * cols + col, mask=col < cols, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        e = e / tl.sum(e, axis=0)
        tl.store(out + row * stride_out + col, e, mask=col < cols)

    assert check(rows, **own)
    verdict = check(dense, **own)
    assert verdict.kind == "out-of-bounds"
    assert "gap after each row" in verdict.message


def test_arguments_may_be_passed_in_another_order_than_they_are_given() -> None:
    scaled = ADD | {
        "spec": lambda x, factor: x * factor,
        "inputs": lambda rng, n: (normal(rng, n), 3.0),
        "arguments": lambda x, factor, out: (x, out, x.numel(), factor),
    }

    @triton.jit
    def scale(x, out, n, factor, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)

    assert check(scale, **scaled).kind == "wrong-value"


def test_a_race_is_found_whatever_the_order() -> None:
    @triton.jit
    def last_wins(x, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        top = tl.max(tl.load(x + i, mask=i < n, other=-float("inf")), axis=0)
        tl.store(out, tl.maximum(tl.load(out), top))

    largest = SUM | {
        "spec": lambda x: x.max(keepdims=True),
        "out": lambda x: np.full(1, -np.inf, np.float32),
    }
    assert check(last_wins, **largest).topic == "lost-update"


# Launches that learners write


@pytest.mark.parametrize(
    ("launch", "kind", "said"),
    [
        (lambda n: ((cdiv(n, 64),), {"BLOCK": 64}), "pass", ""),
        (lambda n: (lambda meta: (cdiv(n, meta["BLOCK"]),), {"BLOCK": 32}), "pass", ""),
        (lambda n: ((n // 64,), {"BLOCK": 64}), "launch", "never written"),
        (lambda n: ((n,), {"BLOCK": 64}), "launch", "The grid has 97 programs; 2"),
        (lambda n: ((n / 64,), {"BLOCK": 64}), "launch", "positive integers"),
        (lambda n: ((n, n), {"BLOCK": 64}), "launch", "9,409 programs"),
        (lambda n: ((cdiv(n, 64),), {"SIZE": 64}), "arguments", "SIZE is passed"),
        (lambda n: (cdiv(n, 64),), "arguments", "BLOCK gets no value"),
        (lambda n: 1 / 0, "exception", "ZeroDivisionError"),
    ],
)
def test_a_launch_is_judged_by_its_grid(launch: Any, kind: str, said: str) -> None:
    given = {key: value for key, value in ADD.items() if key != "launch"}
    verdict = check(launch, kernel=add, **given)
    assert verdict.kind == kind, verdict
    assert said in f"{verdict.message} {verdict.why}", verdict


# The room


def test_the_room_takes_what_is_tritons() -> None:
    assert room_of(add, {}) is room.ROOM
    assert room_of(add_tuned, {}) is room.ROOM
    assert room_of(softmax_of, {"launch": None}).what == "a kernel"
    assert room_of(softmax_of, {}).what == "a plain function"


def test_a_function_without_its_decorator_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def plain(x, y, out, n, BLOCK):
        pass

    exercise = ADD | {"arguments": lambda x, y, out: (x, y, out, x.numel())}
    verdict = check(plain, **exercise)
    assert "`@triton.jit` in the line above" in verdict.why
    monkeypatch.setattr(room, "missing", lambda: "Triton is not installed.")
    assert check(plain, **exercise).kind == "no-triton"


def test_triton_is_as_before_after_a_check() -> None:
    before = tl.sum, tl.load, tl.tensor.__dict__.get("__bool__"), tl.arange
    names = set(globals())
    assert check(softmax, **SOFTMAX)
    assert not check(no_mask_on_load, **ADD)
    assert before == (tl.sum, tl.load, tl.tensor.__dict__.get("__bool__"), tl.arange)
    assert set(globals()) == names
    assert "TRITON_INTERPRET" not in os.environ
    with pytest.raises(RuntimeError, match="outside of the scope"):
        add(1)


def test_other_checks_do_not_import_triton() -> None:
    code = (
        "import sys; from weft import check\n"
        "assert check(abs_of := lambda x: abs(x), spec=abs, inputs=[(-1,), (2,)])\n"
        "assert 'triton' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("program", "kind"), [(add, "pass"), (no_mask_on_store, "out-of-bounds")]
)
def test_the_full_size_is_compared_and_its_zones_are_watched(
    program: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the CPU, where the interpreter stands in for the GPU."""
    import torch

    def start(program: Any, grid: Any, arguments: Any, meta: Any) -> None:
        InterpretedFunction(program.fn)[grid](*arguments, **meta)

    monkeypatch.setattr(full_size, "DEVICE", "cpu")
    monkeypatch.setattr(full_size, "start", start)
    monkeypatch.setattr(full_size, "wait", lambda exercise, when: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    gpu = room.device.Device(True, capability=(9, 0))
    monkeypatch.setattr(room.device, "find", lambda: gpu)
    even = ADD | {"sizes": [64, 128], "unseen": False, "full": 1000}
    verdict = check(program, **even)
    assert verdict.kind == kind, verdict
    if kind == "pass":
        assert any("on the GPU: size 1,000" in fact for fact in verdict.facts)


def test_an_old_gpu_leaves_the_program_to_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    t4 = room.device.Device(True, name="Tesla T4", capability=(7, 5))
    monkeypatch.setattr(room.device, "find", lambda: t4)
    verdict = check(add, **ADD, full=1000)
    assert verdict, verdict
    assert any("the Tesla T4 has 7.5" in fact for fact in verdict.facts), verdict


# Machine code


def test_machine_code_is_made_without_a_gpu_and_knows_what_is_aligned() -> None:
    x = torch.empty(4096)
    even = machine_code(add, x, x, x, 4096, BLOCK=1024)
    odd = machine_code(add, x, x, x, 4095, BLOCK=1024)
    assert even.count("ld.global") == {"ld.global.v4.b32": 4}
    assert odd.count("ld.global") == {"ld.global.b32": 16}
    assert "sizePerThread = [4]" in even.layouts


@pytest.mark.parametrize(
    ("capability", "unit"), [((8, 0), "mma.sync"), ((9, 0), "wgmma.mma_async")]
)
def test_machine_code_is_for_the_gpu_that_is_named(
    capability: tuple[int, int], unit: str
) -> None:
    x = torch.empty(64, 64, dtype=torch.float16)
    size = {"BM": 64, "BN": 64, "BK": 32}
    numbers = 64, 64, 64, 64, 64, 64
    code = machine_code(matmul, x, x, x, *numbers, capability=capability, **size)
    assert code.count(unit), code.ptx
    assert code.shared > 0


def test_machine_code_refuses_arguments_that_do_not_fit() -> None:
    with pytest.raises(TypeError, match="BLOCK"):
        machine_code(add, torch.empty(8), torch.empty(8), torch.empty(8), 8)


def test_methods_and_constants_of_triton_pass() -> None:
    verdict = check(add_by_methods, **ADD)
    assert verdict, verdict


def test_other_forgotten_on_one_side_of_a_product_is_seen() -> None:
    verdict = check(matmul_one_other, **MATMUL)
    assert verdict.kind == "wrong-value", verdict
    assert "no `other`" in str(verdict), verdict
