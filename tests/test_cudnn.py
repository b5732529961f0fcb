"""cuDNN's binding and its model, which NVIDIA's recorded answers prove."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weft  # noqa: F401  before Numba
from verification import cudnn_calls as calls
from verification.library_calls import World
from weft.libraries.faults import ModelFault
from weft.libraries.loading import on_model
from weft.libraries.model import Model

RECORD = Path(__file__).parents[1] / "verification" / "cudnn_calls.json"
RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))["answers"]
# Which status a plan gives for these depends on its engine; that it refuses does not.
ANY_STATUS = {"graph, no bias, but packed"}
# Accepted by the library, which then computes something else; the model refuses.
WRONG_NUMBERS = {"graph, a bias of 8", "graph, a bias per column"}


@pytest.fixture
def model() -> Iterator[Model]:
    found = Model()
    with on_model(found):
        yield found


def world(model: Model) -> World:
    return World(model.place, lambda x: x.cpu().double().numpy())


def same(got: Any, wanted: Any) -> bool:
    """Whether two answers agree."""
    if isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(
            same(got[k], wanted[k]) for k in wanted
        )
    numbers = isinstance(wanted, list) and not any("L" in str(x) for x in wanted)
    if numbers and np.shape(got) == np.shape(wanted):
        return bool(np.allclose(got, wanted, 1e-3, 1e-3))
    return bool(got == wanted)


@pytest.mark.parametrize("case", calls.CASES)
def test_the_model_answers_as_the_library_did(case: str, model: Model) -> None:
    wanted = RECORDED[case]
    if case in WRONG_NUMBERS:
        with pytest.raises(ModelFault, match="one per channel"):
            calls.answer(world(model), case)
        return
    got = calls.answer(world(model), case)
    if case in ANY_STATUS:
        assert got.keys() == wanted.keys() == {"status"}
    else:
        assert same(got, wanted), (got, wanted)


def test_every_recorded_answer_has_its_call() -> None:
    assert RECORDED.keys() == calls.CASES.keys()
