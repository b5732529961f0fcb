"""Time kernels that call NVIDIA's device libraries beside the course's, write a table.

python factors.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch, nvmath-python
and nvidia-libmathdx-cu13.
"""

import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab  # noqa: E402
from timed import Experiment, Launch, record  # noqa: E402

COUNT, SEED = 1 << 28, 42
THREADS = {  # cuRAND's subsequences; as many as an H200 runs at once
    "nvmath.device, 65,536 threads": 65_536,
    "nvmath.device, 270,336 threads": 270_336,
}
ROWS, LONG, TAPS = 1 << 16, 1 << 26, 257
SHARES = {
    "cuFFTDx, 8 points per thread": 8,
    "cuFFTDx, 16 points per thread": 16,
    "cuFFTDx, 32 points per thread": 32,
}
FILTERS = list(SHARES)[:2]
FEW = 1 << 20  # results of a filter that are compared, at both ends


def by_curand(out: Any) -> Launch:
    """Return a launch that fills a tensor by cuRAND's host API, from the beginning."""
    from weft.libraries import curand

    made = curand.create_generator(curand.RngType.PSEUDO_PHILOX4_32_10)
    curand.set_pseudo_random_generator_seed(made, SEED)
    return lambda: curand.generate_uniform(made, out.data_ptr(), out.numel())


def numbers() -> Experiment:
    """Return the table of generators."""
    held: dict[str, Any] = {}

    def launches() -> dict[str, Launch]:
        out = held["out"] = torch.empty(COUNT, device="cuda")
        wanted = held["wanted"] = torch.empty_like(out)
        by_curand(wanted)()
        array = cuda.as_cuda_array(out)
        seed = cuda.to_device(np.uint32([SEED, 0]))
        found: dict[str, Launch] = {
            "fill": lambda: out.fill_(0.5),
            "cuRAND's host API": by_curand(out),
            "fours": lambda: of.fours[COUNT // 1024, 256](seed, array),
        }
        for name, threads in THREADS.items():
            states = device.random.StatesPhilox4_32_10(threads)
            device.begin[threads // 256, 256](SEED, states)
            found[name] = drawing(threads, states)
        return found

    def drawing(threads: int, states: Any) -> Launch:
        array = cuda.as_cuda_array(held["out"])
        return lambda: device.draw[threads // 256, 256](states, array)

    def right(name: str) -> None:
        out = held["out"]
        if name.startswith("cuRAND") or THREADS.get(name) == 65_536:
            assert torch.equal(out, held["wanted"]), name
        elif name in THREADS:
            places = np.concatenate([np.arange(5000), COUNT - 1 - np.arange(5000)])
            counters, rest = np.divmod(places, 4 * THREADS[name])
            bits = philox.words(SEED, rest // 4, counters, rest % 4)
            got = out[torch.from_numpy(places).cuda()].cpu().numpy()
            assert (got == philox.open_at_zero(bits)).all(), name
        elif name == "fours":
            counters = np.zeros((1000, 4), np.uint32)
            counters[:, 0] = np.arange(1000)
            bits = philox.philox_words(counters, philox.split(SEED)).ravel() >> 8
            assert (out[:4000].cpu().numpy() == bits * np.float32(2**-24)).all(), name
        out.fill_(float("nan"))

    return Experiment("2^28 uniform float32", launches, "fill", right)


def bytes_of(z: Any) -> Any:
    """Return complex numbers as int64, for Numba."""
    return cuda.as_cuda_array(torch.view_as_real(z).view(torch.int64)[..., 0])


def rows() -> Experiment:
    """Return the table of transforms."""
    held: dict[str, Any] = {}

    def launches() -> dict[str, Callable[[], Any]]:
        shape = ROWS, device.POINTS
        x = held["x"] = torch.randn(shape, dtype=torch.complex64, device="cuda")
        out = held["out"] = torch.empty_like(x)
        table = cuda.to_device(of.roots(device.POINTS))
        floats = [cuda.as_cuda_array(of.parts(z)) for z in (x, out)]
        held["torch.fft"] = torch.fft.fft(x)
        return {
            "torch.fft": lambda: torch.fft.fft(x),
            "registers": lambda: of.fft_registers[ROWS, 64](
                floats[0], table, floats[1]
            ),
            **{name: with_cufftdx(name) for name in SHARES},
            "copy": lambda: out.copy_(x),
        }

    def with_cufftdx(name: str) -> Launch:
        made, (x, out) = kernels[name], map(bytes_of, (held["x"], held["out"]))
        return lambda: made.rows[ROWS, made.threads](x, out)

    def right(name: str) -> None:
        if name != "copy":
            found = held["torch.fft"] if name == "torch.fft" else held["out"]
            wanted = torch.fft.fft(held["x"][-1000:].to(torch.complex128))
            assert of.error_of(found[-1000:], wanted) < 1e-6, name
        held["out"].fill_(float("nan"))

    return Experiment(f"{ROWS} x 1024 complex64", launches, "torch.fft", right)


def filters() -> Experiment:
    """Return the table of filters: overlap-save, with transforms of 1,024 points."""
    held: dict[str, Any] = {}
    kept, m = 1024 - TAPS + 1, LONG - TAPS + 1
    pieces = -(-m // kept)

    def launches() -> dict[str, Callable[[], Any]]:
        x = held["x"] = torch.randn(LONG, dtype=torch.complex64, device="cuda")
        h = held["h"] = torch.randn(TAPS, device="cuda") / 16
        out = held["out"] = torch.empty(m, dtype=x.dtype, device="cuda")
        spectrum = held["spectrum"] = torch.fft.fft(h.to(x.dtype), 1024) / 1024
        table = cuda.to_device(of.roots(1024))
        a, b, c = (cuda.as_cuda_array(of.parts(z)) for z in (x, spectrum, out))
        longer = torch.zeros(pieces * kept + TAPS - 1, dtype=x.dtype, device="cuda")
        longer[:LONG] = x

        def three_passes() -> Any:
            seen = torch.fft.fft(longer.unfold(0, 1024, kept))
            return torch.fft.ifft(seen.mul_(spectrum), norm="forward")[:, TAPS - 1 :]

        held["torch.fft, three passes"] = three_passes().reshape(-1)[:m]
        planes = torch.view_as_real(x).T.contiguous()[:, None]
        sums = torch.nn.functional.conv1d(planes, h.flip(0)[None, None])[:, 0]
        for part in (slice(FEW), slice(-FEW, None)):
            held[str(part)] = torch.complex(*sums[:, part])
        return {
            "torch.fft, three passes": three_passes,
            "filter_fused": lambda: of.filter_fused[pieces, 64](a, b, table, c, TAPS),
            **{name: with_cufftdx(name) for name in FILTERS},
            "copy": lambda: out.copy_(x[:m]),
        }

    def with_cufftdx(name: str) -> Launch:
        made = kernels[name]
        arrays = [bytes_of(held[part]) for part in ("x", "spectrum", "out")]
        return lambda: made.filtered[pieces, made.threads](*arrays, TAPS)

    def right(name: str) -> None:
        found = held.get(name, held["out"])
        if name != "copy":
            for part in (slice(FEW), slice(-FEW, None)):
                assert of.error_of(found[part], held[str(part)]) < 3e-6, name
        held["out"].fill_(float("nan"))

    base = "torch.fft, three passes"
    return Experiment(f"2^26 complex64, {TAPS} taps", launches, base, right)


if __name__ == "__main__":
    names = "fft_registers", "filter_fused", "roots", "parts", "error_of"
    of = lab("23_convolution_fft", *names)
    of.fours = lab(HERE.name, "fours").fours
    import kernels as device
    import numpy as np
    import torch
    from numba import cuda

    from weft.libraries import philox

    kernels = {name: device.transforms(share) for name, share in SHARES.items()}
    packages = "nvmath-python", "nvidia-libmathdx-cu13"
    made_by = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    tables = numbers(), rows(), filters()
    record(__doc__, HERE, tables, f"# {made_by}\n")
