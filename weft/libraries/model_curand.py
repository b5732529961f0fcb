"""A model of cuRAND's host API: its Philox, number by number as the GPU makes them."""

import struct
from dataclasses import dataclass

import numpy as np
import torch

from weft.libraries import philox
from weft.libraries.enumerations import Ordering, RandStatus, RngType
from weft.libraries.faults import Fault
from weft.libraries.model import Model

GENERATOR = "generator of cuRAND"
VERSION = 100400


@dataclass
class Generator:
    """The state of a generator: the next number is number `offset`."""

    seed: int = 0
    offset: int = 0
    stream: int = 0


class CuRAND:
    """The functions of cuRAND, by the names that the binding has for them."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def create_generator(self, result: int, rng_type: int) -> int:
        if rng_type not in RngType.__members__.values():
            return RandStatus.TYPE_ERROR
        if rng_type != RngType.PSEUDO_PHILOX4_32_10:
            self.model.refuse(
                Fault(
                    "handle",
                    f"The model has no {RngType(rng_type).name}, only Philox.",
                    "Without a GPU, use RngType.PSEUDO_PHILOX4_32_10.",
                    headline="a generator that the model lacks",
                )
            )
        address = self.model.objects.create(GENERATOR, Generator(), self.model.here())
        self.model.write(result, address.to_bytes(8, "little"), "generator")
        return RandStatus.SUCCESS

    def _of(self, generator: int) -> Generator | None:
        held = self.model.objects.get(generator, GENERATOR, "generator")
        assert held is None or isinstance(held, Generator)
        return held

    def destroy_generator(self, generator: int) -> int:
        gone = self.model.objects.destroy(generator, GENERATOR, self.model.here())
        return RandStatus.SUCCESS if gone else RandStatus.NOT_INITIALIZED

    def get_version(self, result: int) -> int:
        self.model.write(result, struct.pack("<i", VERSION), "version")
        return RandStatus.SUCCESS

    def set_stream(self, generator: int, stream: int) -> int:
        return self._set(generator, stream=stream)

    def set_pseudo_random_generator_seed(self, generator: int, seed: int) -> int:
        return self._set(generator, seed=seed)

    def set_generator_offset(self, generator: int, offset: int) -> int:
        return self._set(generator, offset=offset)

    def set_generator_ordering(self, generator: int, order: int) -> int:
        known = set(Ordering.__members__.values()) - {Ordering.PSEUDO_SEEDED}
        if order not in known:
            return RandStatus.OUT_OF_RANGE
        return self._set(generator)

    def _set(self, generator: int, **values: int) -> int:
        if (held := self._of(generator)) is None:
            return RandStatus.NOT_INITIALIZED
        for name, value in values.items():
            setattr(held, name, value)
        return RandStatus.SUCCESS

    # Numbers

    def generate(self, generator: int, output_ptr: int, num: int) -> int:
        return self._fill(generator, output_ptr, num, "curandGenerate")

    def generate_uniform(self, generator: int, output_ptr: int, num: int) -> int:
        return self._fill(generator, output_ptr, num, "curandGenerateUniform")

    def generate_normal(
        self, generator: int, output_ptr: int, n: int, mean: float, stddev: float
    ) -> int:
        self.model.refuse(
            Fault("handle", "The model has no curandGenerateNormal, only uniform ones.")
        )
        return RandStatus.INTERNAL_ERROR

    def _fill(self, generator: int, address: int, count: int, symbol: str) -> int:
        """Write the next numbers to an address, and move the generator on."""
        if (held := self._of(generator)) is None:
            return RandStatus.NOT_INITIALIZED
        found = self.model.memory.find(address)
        if found is None or found[1] < 0 or found[1] + 4 * count > found[0].nbytes:
            self.model.refuse(
                Fault(
                    "pointer" if found is None else "device-bounds",
                    f"{symbol} writes {count:,} numbers of 4 bytes to {address:#x}, "
                    "and there is no array of that size.",
                )
            )
        assert found is not None
        bits = stream_words(held.seed, held.offset + np.arange(count))
        uniform = symbol.endswith("Uniform")
        values = philox.open_at_zero(bits) if uniform else bits.view(np.int32)
        flat = torch.empty(0, dtype=torch.float32 if uniform else torch.int32)
        out = flat.set_(found[0].storage, found[1] // 4, (count,), (1,))
        out.copy_(torch.from_numpy(values))
        held.offset += count
        self.model.computed(symbol, held.stream)
        return RandStatus.SUCCESS


def stream_words(seed: int, place: philox.Array) -> philox.Array:
    """The words at these places of cuRAND's Philox sequence, in its default order.

    65,536 subsequences take turns, four numbers at a time.
    """
    fours = place // 4
    return philox.words(seed, fours % 65536, fours // 65536, place % 4)
