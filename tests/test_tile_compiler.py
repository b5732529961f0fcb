"""What is read from a compiled tile kernel, and the stage of a check that compiles."""

import ctypes
import importlib.util
import struct
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba
from weft import check
from weft.tile_programs import cutile, missing

if reason := missing():
    pytest.skip(reason, allow_module_level=True)

import cuda.tile as ct
import torch

from weft.tile_programs import compiled

ROOT = Path(__file__).parents[1]
Constant = ct.Constant[int]
needs_tileiras = pytest.mark.skipif(
    bool(cutile.no_compiler()), reason=cutile.no_compiler() or "tileiras is here"
)


# A file as NVIDIA's tools write it, made by hand


def attribute(number: int, *values: int) -> bytes:
    content = struct.pack(f"<{len(values)}I", *values)
    return struct.pack("<BBH", 4, number, len(content)) + content


def elf(sections: dict[str, bytes]) -> bytes:
    """An ELF file of 64 bits with these sections, and the one that names them."""
    names = b"\0"
    heads, content = [bytes(64)], b""
    for title, data in [*sections.items(), (".shstrtab", None)]:
        start = len(names)
        names += title.encode() + b"\0"
        data = names if data is None else data
        head = struct.pack("<IIQQQQ", start, 1, 0, 0, 64 + len(content), len(data))
        heads.append(head.ljust(64, b"\0"))
        content += data
    head = bytearray(64)
    struct.pack_into("<Q", head, 0x28, 64 + len(content))
    struct.pack_into("<HHH", head, 0x3A, 64, len(heads), len(heads) - 1)
    return bytes(head) + content + b"".join(heads)


def test_what_a_kernel_needs_is_read_from_its_file() -> None:
    made = elf(
        {
            ".nv.info": attribute(0x2F, 7, 168)
            + struct.pack("<BBH", 3, 0x1B, 255)  # one without a size
            + attribute(0x11, 9, 0)
            + attribute(0x11, 7, 1808),
            ".nv.info.mine": attribute(0x10, 384, 1, 1),
            ".nv.shared.mine": bytes(2048),
        }
    )
    code = compiled.read(made, (9, 0), "mine")
    assert (code.threads, code.registers, code.local, code.shared) == (
        *(384, 168, 1808),
        2048,
    )
    assert code.resident.blocks == 1


@ct.kernel
def scaled(x, factor, out, TILE: Constant):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=factor * ct.load(x, index=(i,), shape=(TILE,)))


def test_parameters_are_addresses_shapes_and_strides() -> None:
    x, out = torch.zeros(6, dtype=torch.float32), torch.zeros(6, dtype=torch.float32)
    raw = compiled.packed(scaled, (x, 2.0, out, 4)).raw
    found = struct.unpack("QiifQii", raw)  # with the gap before the second address
    assert found == (x.data_ptr(), 6, 1, 2.0, out.data_ptr(), 6, 1)


def test_a_launch_hands_its_parameters_to_the_driver(monkeypatch) -> None:
    """The driver is a stand-in, so no GPU is needed."""
    seen: list[Any] = []

    class Driver:
        def cuModuleLoadData(self, module: Any, cubin: bytes) -> int:
            seen.append(cubin)
            return 0

        def cuModuleGetFunction(self, handle: Any, module: Any, name: bytes) -> int:
            handle._obj.value = 77
            seen.append(name)
            return 0

    def driver_call(handle: int) -> Any:
        def call(grid: Any, threads: int, shared: int, extra: Any) -> None:
            size = ctypes.c_size_t.from_address(extra[3]).value
            seen.append((handle, grid, threads, ctypes.string_at(extra[1], size)))

        return call

    code = compiled.MachineCode(b"elf", (9, 0), "scaled", 128, 30, 0, 0)
    monkeypatch.setattr(compiled, "compiled", lambda *given: code)
    monkeypatch.setattr(compiled, "driver_call", driver_call)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver())
    x, out = torch.zeros(6), torch.zeros(6)
    compiled.launcher(scaled, (2,), x, 2.0, out, 4)()
    packed = compiled.packed(scaled, (x, 2.0, out, 4)).raw
    assert seen == [b"elf", b"scaled", (77, (2,), 128, packed)]


@ct.kernel
def product(a, b, c, TM: Constant, TN: Constant, TK: Constant):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        p = ct.load(a, (i, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        q = ct.load(b, (k, j), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(p, q, acc)
    ct.store(c, index=(i, j), tile=ct.astype(acc, c.dtype))


def checked(**more: Any) -> Any:
    return check(
        product,
        spec=lambda a, b: a.astype(np.float32) @ b.astype(np.float32),
        inputs=lambda rng, n: (
            rng.standard_normal((n, n)).astype(np.float16),
            rng.standard_normal((n, n)).astype(np.float16),
        ),
        sizes=[32],
        launch=lambda n: ((n // 16, n // 16), {"TM": 16, "TN": 16, "TK": 16}),
        unseen=False,
        tolerance=1e-2,
        **more,
    )


def test_without_tileiras_a_check_says_that_nothing_was_compiled(monkeypatch) -> None:
    monkeypatch.setattr(cutile, "no_compiler", lambda: "there is no tileiras here")
    verdict = checked(full_tiles={"TM": 128, "TN": 256, "TK": 64})
    assert verdict
    assert "not compiled: there is no tileiras here" in verdict.facts


def test_a_refusal_of_tileiras_is_worded(monkeypatch) -> None:
    def refuse(*given: Any) -> None:
        raise cutile.Refused("ran out of shared memory", ())

    monkeypatch.setattr(cutile, "no_compiler", lambda: "")
    monkeypatch.setattr(cutile, "machine_code", refuse)
    verdict = checked()
    assert verdict.kind == "program"
    assert "Ran out of shared memory" in str(verdict)


def test_tiles_that_spill_are_refused_at_full_size_alone(monkeypatch) -> None:
    code = compiled.MachineCode(b"", (9, 0), "product", 256, 255, 0, 1808)
    monkeypatch.setattr(cutile, "no_compiler", lambda: "")
    monkeypatch.setattr(compiled, "compiled", lambda *given: code)
    verdict = checked(full_tiles={"TM": 128, "TN": 256, "TK": 64})
    assert verdict.kind == "local"
    assert "TM = 128, TN = 256, TK = 64" in str(verdict)
    assert "1,808 bytes" in str(verdict)
    assert any("1,808 bytes of local memory" in fact for fact in checked().facts)


@needs_tileiras
def test_a_large_tile_spills_with_four_warps_and_not_with_eight() -> None:
    a = torch.empty(4096, 4096, dtype=torch.bfloat16, device="meta")
    given = a, a, a, 128, 256, 64
    assert compiled.compiled(product, *given).local > 0
    wide = product.replace_hints(num_worker_warps=8)
    assert compiled.compiled(wide, *given).local == 0


@ct.kernel
def softmax(x, out, WIDTH: Constant, LOAD: ct.Constant[bool], STORE: ct.Constant[bool]):
    at = (ct.bid(0), 0)
    low = ct.PaddingMode.NEG_INF
    row = ct.load(x, at, (1, WIDTH), padding_mode=low, allow_tma=LOAD)
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    total = ct.sum(power, axis=1, keepdims=True)
    ct.store(out, at, power / total, allow_tma=STORE)


@needs_tileiras
def test_of_a_softmax_only_the_store_goes_through_the_tma() -> None:
    """As the page of chapter 36 says: the hint changes nothing for the load."""
    x = torch.empty(8192, 4096, device="meta")

    def held(load: bool, store: bool) -> tuple[int, int, int]:
        code = compiled.compiled(softmax, x, x, 4096, load, store)
        return code.threads, code.registers, code.shared

    assert held(False, True) == held(True, True)
    assert held(True, False) == held(False, False)
    assert held(True, False)[0] == held(True, True)[0] // 2


@needs_tileiras
def test_the_recorded_table_is_what_tileiras_says() -> None:
    recorded = (ROOT / "chapters" / "36_tiles" / "resources.txt").read_text("utf-8")
    assert record().table() == recorded


def record() -> ModuleType:
    path = ROOT / "book" / "recordings" / "36_tiles" / "record.py"
    spec = importlib.util.spec_from_file_location("record_36", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
