"""What a call asks of the host, the bus and the memory, heard without a GPU."""

from typing import Any

import numpy as np
import pytest
import torch

import weft  # noqa: F401  before Numba
from weft import check
from weft.checking.verdict import Verdict
from weft.torch_ops.listening import Record, listening

DEVICE = torch.device("cpu", 0)


def heard(function: Any, *near: torch.Tensor) -> Record:
    """What a call of `function` on tensors of the device does."""
    with listening(function, list(near), DEVICE) as record:
        function(*near)
    return record


def waits(function: Any) -> list[str]:
    return [each.what for each in heard(function, torch.arange(-3.0, 5.0)).waits]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum().item(),
        lambda x: float(x.sum()),
        lambda x: bool(x.any()),
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x[x > 0],
        lambda x: x.masked_select(x > 0),
        lambda x: torch.nonzero(x),
        lambda x: torch.equal(x, x + 0),
        lambda x: x[: x.argmax()],
        lambda x: f"{x.sum():.2f}",
        lambda x: x.cpu(),
        lambda x: x.to("cpu"),
        lambda x: (x + 1).tolist(),
        lambda x: (2 * x).numpy(),
        lambda x: torch.tensor([1.0], device=DEVICE) + x,
        lambda x: torch.tensor([x.sum()]),
        lambda x: torch.ones(8).to(DEVICE) + x,
        lambda x: torch.empty_like(x).copy_(torch.ones(8)),
    ],
)
def test_the_host_waits(function: Any) -> None:
    assert len(waits(function)) == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.where(x > 0, x, 0),
        lambda x: x.clamp(max=x.mean().abs()),
        lambda x: x.to(DEVICE),
        lambda x: x.to(torch.float64),
        lambda x: x[torch.arange(3, device=DEVICE)],
        lambda x: torch.ones(8).to(DEVICE, non_blocking=True) + x,
        lambda x: torch.empty_like(x).copy_(torch.ones(8), non_blocking=True),
        lambda x: torch.rand(()).item() * x,  # a number of the host's
        lambda x: torch.nn.utils.clip_grad_norm_([torch.nn.Parameter(x)], 1.0),
    ],
)
def test_the_host_does_not_wait(function: Any) -> None:
    assert waits(function) == []


def test_bytes_that_cross_the_bus() -> None:
    bytes_ = torch.ones(10, dtype=torch.uint8)

    def copies(x: torch.Tensor) -> torch.Tensor:
        near = bytes_.to(DEVICE, non_blocking=True)
        near = near.to(DEVICE)  # it is there
        return x + near.float() + bytes_.float().to(DEVICE)

    record = heard(copies, torch.ones(10))
    assert [each.amount for each in record.copies] == [10, 40]
    assert len(record.waits) == 1


def test_bytes_that_the_host_converts() -> None:
    bytes_ = torch.ones(10, dtype=torch.uint8)
    record = heard(lambda x: x + bytes_.to(DEVICE, torch.float32), torch.ones(10))
    assert [each.amount for each in record.copies] == [40]


def test_bytes_that_the_gpu_converts() -> None:
    bytes_, near = torch.ones(10, dtype=torch.uint8), torch.empty(10)

    def copies(x: torch.Tensor) -> torch.Tensor:
        x = x + bytes_.to(DEVICE, torch.float32, non_blocking=True)
        return x + near.copy_(bytes_, non_blocking=True)

    with listening(copies, [torch.ones(10), near], DEVICE) as record:
        copies(torch.ones(10))
    assert [each.amount for each in record.copies] == [10, 10]


def test_what_the_host_computes_is_not_pinned() -> None:
    pinned, near = torch.ones(10), torch.ones(10)

    def once(x: torch.Tensor) -> torch.Tensor:
        return pinned[:5].to(DEVICE, non_blocking=True) + x[:5]

    def computed(x: torch.Tensor) -> torch.Tensor:
        return (2 * pinned).to(DEVICE, non_blocking=True) + x

    def back_and_forth(x: torch.Tensor) -> torch.Tensor:
        return (pinned + x.cpu()).to(DEVICE, non_blocking=True)

    for function, count in [(once, 0), (computed, 1), (back_and_forth, 1)]:
        with listening(function, [near], DEVICE, [pinned]) as record:
            function(near)
        assert len(record.unpinned) == count

    with (
        pytest.raises(RuntimeError, match="same device"),
        listening(computed, [near], DEVICE, [pinned]),
    ):
        _ = pinned + near


def test_row_major_weights() -> None:
    conv = torch.nn.Conv2d(3, 4, 3)
    images = torch.ones(2, 3, 5, 5).contiguous(memory_format=torch.channels_last)
    (convolution,) = heard(lambda x: conv(x), images).images
    assert (convolution.what, convolution.amount) == ("weights", 0)


def test_products_and_layouts() -> None:
    conv = torch.nn.Conv2d(3, 4, 3)
    weight = torch.ones(4, 2)

    def network(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            y = conv(x.contiguous(memory_format=torch.channels_last))
            y = y + conv(x)
        return y.float().mean((2, 3)) @ weight

    conv.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    record = heard(network, torch.ones(2, 3, 5, 5))
    assert [each.what for each in record.products] == ["bfloat16"] * 2 + ["float32"]
    assert [each.amount for each in record.images] == [1, 0]
    assert [each.what for each in record.images] == ["", "images"]
    assert not record.untyped


@pytest.mark.parametrize(
    ("options", "dtype", "untyped"),
    [
        ({}, "float16", ["float16"]),
        ({"dtype": None}, "float16", ["float16"]),
        ({"dtype": torch.bfloat16}, "bfloat16", []),
        ({"enabled": False}, "float32", []),
    ],
)
def test_autocast_has_the_default_of_a_gpu(
    options: dict[str, Any], dtype: str, untyped: list[str]
) -> None:
    def product(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", **options):
            return x @ x

    record = heard(product, torch.ones(2, 2))
    assert [each.what for each in record.products] == [dtype]
    assert [each.what for each in record.untyped] == untyped
    assert product(torch.ones(2, 2)).dtype != torch.float16


def test_bytes_alive_at_once() -> None:
    def chain(x: torch.Tensor) -> torch.Tensor:
        for _ in range(10):
            x = x + 1
        return x

    assert heard(chain, torch.ones(100)).peak == 2 * 400


def step(x: torch.Tensor, limit: float) -> torch.Tensor:
    most = x.abs().max()
    if most > limit:
        x = x * (limit / most)
    return 2 * x


def judged(
    function: Any, because_limits: dict[str, Any] | None = None, **limits: Any
) -> Verdict:
    return check(
        function,
        spec=lambda x, limit: 2 * x * min(1, limit / np.abs(x).max()),
        inputs=lambda rng, n: (rng.standard_normal(n).astype(np.float32), 0.5),
        sizes=[3, 40],
        tensors=True,
        gradient=False,
        strided=False,
        limits=limits,
        because_limits=because_limits or {},
    )


@pytest.fixture(autouse=True)
def _a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def test_a_check_names_the_line_that_waits() -> None:
    verdict = judged(step, synchronisations=0)
    assert verdict.kind == "synchronisation"
    assert verdict.places[0][0].text == "if most > limit:"
    assert judged(step, synchronisations=1)


def test_a_check_counts_operators_and_memory() -> None:
    verdict = judged(step, operators=2)
    assert verdict.kind == "operators"
    assert judged(step, memory=0.5).kind == "held"
    assert judged(step, memory=10, operators=20, copied=0)


def test_a_check_wants_results_without_a_graph() -> None:
    def kept(x: torch.Tensor, limit: float) -> torch.Tensor:
        return step(x, limit) * torch.ones(1, requires_grad=True)

    verdict = judged(kept, attached=0)
    assert verdict.kind == "held"
    assert "requires a gradient" in verdict.message
    assert verdict.places[0][0].text.startswith("return step")
    assert judged(kept, attached=1)
    assert judged(step, attached=0)


def test_an_exercise_may_know_why_a_limit_is_exceeded() -> None:
    def why(record: Record) -> tuple[str, list[Any]]:
        return "", [(record.operators[-1].place, "last")]

    verdict = judged(step, because_limits={"operators": why}, operators=2)
    assert [note for _, note in verdict.places] == ["last"]
    assert "piece by piece" in verdict.why
    with pytest.raises(ValueError, match="is no limit"):
        judged(step, because_limits={"operator": why})


def test_a_check_wants_products_in_a_dtype() -> None:
    verdict = judged(step, products="bfloat16")
    assert verdict.kind == "precision"
    assert "Nothing is multiplied" in verdict.message
    assert judged(step, products="bfloat16", operators=2).kind == "precision"


def test_a_result_of_one_number_has_a_gradient() -> None:
    def mean(x: torch.Tensor) -> torch.Tensor:
        return x.mean()

    assert check(
        mean,
        spec=np.mean,
        inputs=lambda rng, n: rng.standard_normal(n).astype(np.float32),
        sizes=[4, 9],
        tensors=True,
    )
