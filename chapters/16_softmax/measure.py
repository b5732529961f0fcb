"""The measurements of chapter 16. Each function times, and returns a table.

Without a GPU, the tables show what the reference GPU measured.
"""

from numba import cuda

import weft
from weft import bench

from .cuda_cpp import CUDA_CPP
from .family import (
    LONG,
    SMS,
    TEAM,
    backward,
    launch_many,
    launch_teams,
    softmax,
)
from .kernels import softmax_online
from .long_rows import many_kernel
from .shapes import (
    as_words,
    cases,
    fits,
    is_short,
    name_of,
    sets_of,
    taking_turns,
    tuned,
)


def square(softmax_passes, guess=None):
    """Compare the learner's three passes with a copy and with PyTorch."""

    def square_candidates():
        import torch

        x = torch.randn(8192, 8192, device="cuda")
        out = torch.empty_like(x)
        d_x, d_out = map(cuda.as_cuda_array, (x, out))
        return {
            "copy": lambda: out.copy_(x),
            "torch.softmax": lambda: torch.softmax(x, 1),
            "three passes": lambda: softmax_passes[8192, 256](d_x, d_out),
        }

    return bench.compare(
        "three passes, 8192 x 8192 float32",
        square_candidates,
        baseline="torch.softmax",
        bytes=2 * 4 * 8192 * 8192,
        ceiling="copy",
        guess=guess,
    )


def rungs(softmax_passes, softmax_warp, softmax_block, guess=None):
    """Compare the learner's kernels for two shapes; return a table for each.

    guess: of each table, by its number of columns.
    """
    guess = guess or {}
    if weft.GPU:
        import cuda.core as core

        if not hasattr(core, "Program"):  # older versions keep it elsewhere
            import cuda.core.experimental as core

        gpu = core.Device()
        gpu.set_current()
        options = core.ProgramOptions(arch=weft.device.find().sm)  # sm_90, say
        program = core.Program(CUDA_CPP, code_type="c++", options=options)
        cpp_kernel = program.compile("cubin").get_kernel("softmax_block")

        def cpp_softmax(x, out):
            config = core.LaunchConfig(grid=len(x), block=256)
            pointers = x.data_ptr(), out.data_ptr()
            core.launch(gpu.default_stream, config, cpp_kernel, *pointers)

    def rung_candidates(rows, cols):
        def build():
            import torch

            x = torch.randn(rows, cols, device="cuda")
            out = torch.empty_like(x)
            d_x, d_out = map(cuda.as_cuda_array, (x, out))
            by_warp = rows // 4, (32, 4)
            one_read = {
                1024: lambda: softmax_warp[by_warp](d_x, d_out),
                4096: lambda: softmax_block[rows, 256](d_x, d_out),
            }
            candidates = {
                "copy": lambda: out.copy_(x),
                "torch.softmax": lambda: torch.softmax(x, 1),
                "three passes": lambda: softmax_passes[rows, 256](d_x, d_out),
                "two passes": lambda: softmax_online[rows, 256](d_x, d_out),
                "one read": one_read[cols],
            }
            if cols == 4096:
                candidates["CUDA C++"] = lambda: cpp_softmax(x, out)
                cpp_softmax(x, out)
                aim = torch.softmax(x, 1)
                assert (out - aim).norm() < 1e-5 * aim.norm()
            return candidates

        return build

    rungs = {
        cols: bench.compare(
            f"rungs, {rows} x {cols} float32",
            rung_candidates(rows, cols),
            baseline="torch.softmax",
            bytes=2 * 4 * rows * cols,
            ceiling="copy",
            guess=guess.get(cols),
        )
        for rows, cols in ((16384, 1024), (4096, 4096))
    }
    return rungs


def forward_candidates(rows, cols, half):
    """Make a function that returns the candidates for one shape."""

    def build():
        import torch

        kind = torch.bfloat16 if half else torch.float32

        def make():
            x = torch.randn(rows, cols, device="cuda").to(kind)
            out = torch.empty_like(x)
            return x, out, as_words(x), as_words(out)

        sets = sets_of((rows, cols, half), 2, make)
        x, out, d_x, d_out = sets[0]
        softmax(d_x, d_out)
        aim = torch.softmax(x, 1)
        near = 1e-2 if half else 1e-5
        assert (out - aim).float().norm() < near * aim.float().norm()
        calls = {
            "copy": lambda x, out, d_x, d_out: out.copy_(x),
            "torch.softmax": lambda x, *_: torch.softmax(x, 1),
            "family": lambda x, out, d_x, d_out: softmax(d_x, d_out),
        }
        for name, call in tuned("forward", lambda x: torch.softmax(x, 1), x):
            calls[name] = lambda x, *_, call=call: call(x)
        return {name: taking_turns(sets, call) for name, call in calls.items()}

    return build


def forward(guess=None):
    """Compare the family with PyTorch for all shapes; return a table for each.

    guess: of the table for 1024 rows of 131,072 in float32.
    """
    forward = {
        case: bench.compare(
            f"softmax, {name_of(*case)}",
            forward_candidates(*case),
            baseline="torch.softmax",
            bytes=2 * case[0] * case[1] * (2 if case[2] else 4),
            ceiling="copy",
            guess=guess if case == (1024, 131072, False) else None,
            graph=is_short(case, 2),
        )
        for case in cases
        if fits(*case)
    }
    return forward


def compiled_candidates(rows, cols):
    """Make a function that returns what torch.compile makes of softmax in bfloat16."""

    def build():
        import torch

        torch._dynamo.reset()
        x = torch.randn(rows, cols, device="cuda").to(torch.bfloat16)
        out = torch.empty_like(x)
        calls = {"copy": lambda: out.copy_(x)}
        tuning = torch._inductor.list_mode_options("max-autotune-no-cudagraphs")
        for name, online in (("online", True), ("not online", False)):
            compiled = torch.compile(
                lambda x: torch.softmax(x, 1),
                options=tuning | {"online_softmax": online},
                dynamic=False,
            )
            compiled(x)
            calls[name] = lambda compiled=compiled: compiled(x)
        return calls

    return build


def compiled():
    """Compare compiled softmax with and without the online loop, for two widths."""
    return {
        cols: bench.compare(
            f"compiled softmax, {name_of(rows, cols, True)}",
            compiled_candidates(rows, cols),
            baseline="online",
            bytes=2 * 2 * rows * cols,
            ceiling="copy",
        )
        for rows, cols in ((8192, 8192), (16384, 16384))
    }


def long_candidates(rows, cols, half):
    """Make a function that returns the techniques for one shape."""

    def build():
        import torch

        kind = torch.bfloat16 if half else torch.float32

        def make():
            x = torch.randn(rows, cols, device="cuda").to(kind)
            out = torch.empty_like(x)
            return x, out, as_words(x), as_words(out)

        def many(how, in_step=False, ticket=False):
            return lambda x, out, *words: launch_many(
                many_kernel, how, in_step, ticket, *words
            )

        def teams(x, out, *words):
            launch_teams(TEAM, SMS * TEAM[3], *words)

        sets = sets_of((rows, cols, half), 2, make)
        calls = {"copy": lambda x, out, *_: out.copy_(x)}
        if not half:
            calls["registers"] = many((10, 0, *LONG[False][2:]), in_step=True)
            calls["both stores"] = many(LONG[False], in_step=True)
        calls["out of step"] = many(LONG[half])
        if not half:
            calls["with ticket"] = many(LONG[False], ticket=True)
        if LONG[half][1]:
            calls["teams"] = teams

        x, out, *_ = sets[0]
        aim, near = torch.softmax(x, 1), 1e-2 if half else 1e-5
        for name, call in calls.items():
            call(*sets[0])
            off = (out - aim).float().norm() / aim.float().norm()
            assert name == "copy" or off < near, name
        return {name: taking_turns(sets, call) for name, call in calls.items()}

    return build


def long_rows(guess=None):
    """Compare the techniques for long rows; return a table for each shape.

    guess: of the first table. The second has other ratios, the third fewer rows.
    """
    long_rows = {
        (rows, half): bench.compare(
            f"long rows, {name_of(rows, cols, half)}",
            long_candidates(rows, cols, half),
            baseline="out of step" if half else "registers",
            bytes=2 * rows * cols * (2 if half else 4),
            ceiling="copy",
            guess=guess if rows == 1024 else None,
            graph=is_short((rows, cols, half), 2),
        )
        for rows, cols, half in (
            (1024, 131072, False),
            (128, 262144, False),
            (128, 262144, True),
        )
        if fits(rows, cols, half)
    }
    return long_rows


def backward_candidates(rows, cols, half):
    """Make a function that returns the candidates for one shape."""

    def build():
        import torch

        kind = torch.bfloat16 if half else torch.float32

        def make():
            y = torch.randn(rows, cols, device="cuda").softmax(1).to(kind)
            dy = torch.randn(rows, cols, device="cuda").to(kind)
            dx = torch.empty_like(y)
            half_of_it = 3 * rows * cols // 2  # copied: as many bytes move
            source = torch.empty(half_of_it, device="cuda", dtype=kind)
            target = torch.empty_like(source)
            return y, dy, dx, source, target, *map(as_words, (y, dy, dx))

        def formula(y, dy):
            product = y.float() * dy.float()
            inner = dy.float() - product.sum(1, keepdim=True)
            return (y.float() * inner).to(y.dtype)

        sets = sets_of((rows, cols, half), 3, make)
        y, dy, dx, _, _, *words = sets[0]
        backward(*words)
        aim = torch._softmax_backward_data(dy, y, 1, kind)
        near = 2e-2 if half else 1e-4
        assert (dx - aim).float().norm() < near * aim.float().norm()
        theirs = torch._softmax_backward_data
        calls = {
            "copy": lambda y, dy, dx, source, target, *_: target.copy_(source),
            "PyTorch": lambda y, dy, *_: theirs(dy, y, 1, kind),
            "family": lambda *args: backward(*args[5:]),
        }
        for name, call in tuned("backward", formula, y, dy):
            calls[name] = lambda y, dy, *_, call=call: call(y, dy)
        return {name: taking_turns(sets, call) for name, call in calls.items()}

    return build


def gradients_of():
    """Compare the backward passes for all shapes; return a table for each."""
    gradients_of = {
        case: bench.compare(
            f"backward, {name_of(*case)}",
            backward_candidates(*case),
            baseline="PyTorch",
            bytes=3 * case[0] * case[1] * (2 if case[2] else 4),
            ceiling="copy",
            graph=is_short(case, 3),
        )
        for case in cases
        if fits(*case)
    }
    return gradients_of


def in_triton(guess=None):
    """Compare a kernel in Triton with the family; return a table for each shape.

    guess: of each table, by its number of columns.
    """
    guess = guess or {}
    from .triton_softmax import has_triton

    if weft.GPU and has_triton:
        from .triton_softmax import triton, triton_softmax

    def triton_candidates(rows, cols):
        def build():
            import torch

            x = torch.randn(rows, cols, device="cuda")
            out = torch.empty_like(x)
            d_x, d_out = as_words(x), as_words(out)
            candidates = {
                "copy": lambda: out.copy_(x),
                "torch.softmax": lambda: torch.softmax(x, 1),
                "family": lambda: softmax(d_x, d_out),
            }
            if has_triton:
                width = triton.next_power_of_2(cols)
                warps = min(max(width // 1024, 4), 32)
                candidates["Triton"] = lambda: triton_softmax[(rows,)](
                    x, out, cols, WIDTH=width, num_warps=warps
                )
                candidates["Triton"]()
                aim = torch.softmax(x, 1)
                assert (out - aim).norm() < 1e-5 * aim.norm()
            return candidates

        return build

    in_triton = {
        cols: bench.compare(
            f"Triton, {rows} x {cols} float32",
            triton_candidates(rows, cols),
            baseline="torch.softmax",
            bytes=2 * 4 * rows * cols,
            ceiling="copy",
            guess=guess.get(cols),
        )
        for rows, cols in ((32768, 1024), (8192, 8192), (1024, 131072))
    }
    return in_triton
