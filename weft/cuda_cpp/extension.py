"""A learner's kernel and its launcher as a PyTorch extension, on a GPU."""

import hashlib
import re
from contextlib import suppress
from typing import Any

import numpy as np

from weft import device, doing
from weft.c import words
from weft.c.compiler import Complaint
from weft.c.source import Source
from weft.checking.values import judge_on_gpu
from weft.checking.verdict import Failed
from weft.cuda_cpp import compiler, hosted
from weft.cuda_cpp.exercise import CudaCppExercise
from weft.device import tools

NEEDED = "g++", "ninja", "nvcc"
_complaint = re.compile(
    r"^(?P<file>[^\n(:]+)\((?P<line>\d+)\): error:? (?P<text>.*)$", re.MULTILINE
)


def possible() -> bool:
    """Return whether this machine has a GPU and the tools to compile an extension."""
    return device.find().usable and not tools.absent(NEEDED)


def built(source: Source) -> Any:
    """Compile the cell with `load_inline`; return its function as an operator.

    Raises `Failed` with nvcc's errors if it does not compile.
    """
    import torch
    import torch.utils.cpp_extension as extensions

    load_inline: Any = extensions.load_inline
    digest = hashlib.sha256(source.text.encode()).hexdigest()[:12]
    name = f"weft_{source.name}_{digest}"
    doing.now(f"{source.name}: nvcc compiles it with PyTorch's headers")
    registered = (
        "#include <torch/library.h>\n"
        f"TORCH_LIBRARY({name}, m)\n{{\n"
        f'    m.def("{source.name}", &{source.name});\n}}\n'
    )
    numbered = f'#line 1 "{source.file}"\n{source.text}\n{registered}'
    if not hasattr(getattr(torch.ops, name), source.name):
        try:
            load_inline(
                name,
                cpp_sources="",
                cuda_sources=numbered,
                no_implicit_headers=True,
                is_python_module=False,
            )
        except RuntimeError as error:
            said = str(error)
            found = [
                Complaint(each["file"].strip(), int(each["line"]), True, each["text"])
                for each in _complaint.finditer(said)
            ]
            refused = words.refused(source, found, said, compiler.table, "nvcc")
            raise Failed(refused) from None
    return getattr(getattr(torch.ops, name), source.name)


def judged(exercise: CudaCppExercise, source: Source) -> list[str]:
    """Call the operator with tensors on the GPU, and check its results; return facts.

    Tries the exercise's last size and its `full` size, each with strided tensors too,
    and then arguments that the operator must refuse. Raises `Failed` if a result is
    wrong or such arguments are accepted.
    """
    import torch

    call = built(source)
    sizes = [exercise.sizes[-1], exercise.full]
    cases = [exercise.case(size) for size in sizes if size is not None]
    facts = []
    new_stream: Any = torch.cuda.Stream
    side = new_stream()
    for case in cases:
        for arrays in (case.inputs, tuple(map(_strided, case.inputs))):
            given = [_on_gpu(value) for value in arrays]
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                result = call(*given)
            side.synchronize()
            pairs = [(result.cpu().numpy(), case.expected[0])]
            why = "It was right in the check without a GPU."
            fact = judge_on_gpu(exercise, case.label, pairs, why)
        facts.append(fact)
    for each in hosted.calls(exercise, cases[:1]):
        if each.case is not None or max(each.devices) > 0:
            continue  # there may be no second GPU
        given = [
            torch.from_numpy(np.ascontiguousarray(value))
            if where < 0 and isinstance(value, np.ndarray)
            else _on_gpu(value)
            for value, where in zip(each.inputs, each.devices, strict=True)
        ]
        with suppress(RuntimeError, ValueError, TypeError, NotImplementedError):
            call(*given)
            found = hosted.words.verdict(source.name, each.refused, [], of=each.of)
            raise Failed(found.but(when=f"{each.when}, on the GPU"))
    return facts


def _strided(value: Any) -> Any:
    return hosted.strided(value) if isinstance(value, np.ndarray) else value


def _on_gpu(value: Any) -> Any:
    """Copy an array to a GPU tensor with its strides; return other values unchanged."""
    import torch

    if not isinstance(value, np.ndarray):
        return value
    strides = [stride // value.itemsize for stride in value.strides]
    made = torch.empty_strided(
        value.shape, strides, dtype=torch.from_numpy(value[:0]).dtype, device="cuda"
    )
    return made.copy_(torch.from_numpy(np.ascontiguousarray(value)))
