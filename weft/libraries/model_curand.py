"""A model of cuRAND's host API: its Philox generator gives a GPU's exact numbers."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from weft.libraries import philox
from weft.libraries.faults import Refusal
from weft.libraries.headers import curand
from weft.libraries.model import Kind, Library

VERSION = 100400
PHILOX = curand.RngType.PSEUDO_PHILOX4_32_10
QUASIRANDOM = range(200, 205)
ORDERINGS = set(curand.Ordering) - {curand.Ordering.PSEUDO_SEEDED}


@dataclass
class Generator:
    """The state of a generator: the next number's position is `offset + made`."""

    seed: int = 0
    offset: int = 0
    made: int = 0
    stream: int = 0


class CuRAND(Library):
    """The functions of cuRAND."""

    name = "curand"
    kinds: ClassVar = {
        "create_generator": Kind(
            "generator of cuRAND",
            lambda _: Generator(),
            curand.Status.NOT_INITIALIZED,
        )
    }
    sets: ClassVar = {"set_stream": "stream"}

    def create_generator(self, a: Any) -> int:
        if a.rng_type not in (*curand.RngType, *QUASIRANDOM):
            raise Refusal(curand.Status.TYPE_ERROR)
        if a.rng_type != PHILOX:
            name = {x: x.name for x in curand.RngType}.get(a.rng_type, a.rng_type)
            self.model.lacks(f"the generator {name}", f"It has {PHILOX.name}.")
        return self.make("create_generator", a)

    def set_pseudo_random_generator_seed(self, a: Any) -> None:
        """Set the seed. Setting the current seed again changes nothing."""
        held: Generator = self.held(a.generator, "generator")
        if held.made and a.seed != held.seed:
            self.model.lacks("another seed for a generator that has made numbers")
        held.seed = a.seed

    def set_generator_offset(self, a: Any) -> None:
        """Set the offset, the position of the next number."""
        held: Generator = self.held(a.generator, "generator")
        held.offset, held.made = a.offset, 0

    def get_version(self, a: Any) -> int:
        return VERSION

    def set_generator_ordering(self, a: Any) -> None:
        if a.order not in ORDERINGS:
            raise Refusal(curand.Status.OUT_OF_RANGE)
        self.held(a.generator, "generator")
        if a.order == curand.Ordering.PSEUDO_DYNAMIC:
            self.model.lacks("the dynamic ordering, which depends on the GPU")

    # Numbers

    def generate(self, a: Any) -> None:
        self._fill(a, torch.int32, lambda bits: bits.view(np.int32))

    def generate_uniform(self, a: Any) -> None:
        self._fill(a, torch.float32, philox.open_at_zero)

    def generate_normal(self, a: Any) -> None:
        self.model.lacks("curandGenerateNormal", "It has uniform numbers.")

    def _fill(self, a: Any, dtype: torch.dtype, values: Any) -> None:
        """Write the next numbers to an address, and advance the generator."""
        held: Generator = self.held(a.generator, "generator")
        said = f"gets {a.num:,} numbers of 4 bytes"
        out = self.model.array("output_ptr", a.output_ptr, dtype, (a.num,), said=said)
        bits = stream_words(held.seed, held.offset + held.made + np.arange(a.num))
        out.copy_(torch.from_numpy(values(bits)))
        held.made += a.num
        self.model.computed(a.symbol, held.stream)


def stream_words(seed: int, place: philox.Array) -> philox.Array:
    """Return the words at positions `place` of cuRAND's Philox stream in default order.

    65,536 subsequences take turns, four numbers at a time.
    """
    fours = place // 4
    return philox.words(seed, fours % 65536, fours // 65536, place % 4)
