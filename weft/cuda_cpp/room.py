"""Checks of kernels in CUDA C++: which objects can be checked, and the stages."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from weft import device
from weft.c import words
from weft.c.source import Source
from weft.checking.cases import Case
from weft.checking.room import Facts
from weft.checking.source import begin
from weft.checking.verdict import Failed, Verdict, right_before
from weft.cuda_cpp import compiler, extension, hosted, on_gpu, running
from weft.cuda_cpp.exercise import CudaCppExercise
from weft.cuda_cpp.judging import Judge
from weft.cuda_cpp.runs import Runs


class CudaCpp:
    """Checks kernels in CUDA C++: on the CPU, with NVRTC, and on a GPU."""

    what = "a kernel in CUDA C++"
    exercise = CudaCppExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        return "prototype" in asked

    def stages(self, exercise: CudaCppExercise) -> Iterator[Facts]:
        """Check a cell on the CPU, with NVRTC and on a GPU; yield the stages' facts."""
        source = exercise.written_by_learner
        if not isinstance(source, Source):
            name = str(getattr(source, "__name__", type(source).__name__))
            raise Failed(words.verdict(name, "type"))
        if source.is_stub:
            raise Failed(begin(source.name, source.comment))
        nvrtc = on_gpu.has_nvrtc() and not exercise.host
        told = f"NVRTC compiles it for {on_gpu.arch()}"
        if compiler.find() is None:
            if nvrtc:
                on_gpu.compiled(source)
            raise Failed(without_compiler(source.name, [told] * nvrtc))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            yield on_cpu(exercise, source, folder)
            if exercise.host:
                cases = list(exercise.cases(source.seed))
                yield [hosted.judged(exercise, source, cases, folder)]
        if exercise.host and extension.possible():
            yield extension.judged(exercise, source)
        if nvrtc:
            code = on_gpu.compiled(source)
            yield [told]
            if exercise.full is not None and device.find().usable:
                yield on_gpu.full_size(exercise, code)


ROOM = CudaCpp()


def without_compiler(name: str, facts: list[str]) -> Verdict:
    """Return the verdict for machines without a C++ compiler, with the facts so far."""
    verdict = words.verdict(name, "no-compiler", install=compiler.install())
    message = (
        "There is no C++ compiler on this machine, so the kernel has not been run."
    )
    return verdict.but(headline="no C++ compiler", message=message, facts=facts)


def on_cpu(exercise: CudaCppExercise, source: Source, folder: Path) -> Facts:
    """Run every case, thread by thread; return facts. Raises `Failed` if one fails."""
    cases = list(exercise.cases(source.seed))
    if exercise.host:  # such a function decides itself when there is nothing to launch
        cases = [c for c in cases if all(out.size for out in exercise.outputs(c))]
    first = exercise.call(*cases[0].inputs, *exercise.outputs(cases[0]))
    text = running.program(source.file, exercise.prototype, first)
    cell = hosted.prepared(source, folder) if exercise.host else source
    told = compiler.compiled(cell, exercise.prototype, folder)
    if not exercise.host or not hosted.built_with(exercise, source, text, folder):
        other = compiler.not_asked_for(cell, exercise.prototype)
        compiler.made(cell, text, folder, other)
    before = ""
    for case in cases:
        with right_before(before):
            launched(exercise, source, case, folder, told)
        before = case.written
    return [
        f"right on {len(cases)} cases, one thread after another on the CPU, under the "
        "address sanitizer and the one for undefined behaviour",
        *told,
    ]


def launched(
    exercise: CudaCppExercise,
    source: Source,
    case: Case,
    folder: Path,
    told: list[str],
) -> None:
    """Run one case, and check its results. Raises `Failed` if it fails."""
    launch = running.configured(exercise.launch(*case.size))
    runs = Runs(exercise, folder, launch)
    ran, wanted = runs.made(case)
    in_place = exercise.out is not None

    def depends(name: str, index: int) -> str:
        return runs.dependence(case, name, index)

    found = Judge(source, ran, wanted, in_place, exercise.tolerance, depends).verdict()
    if found is not None:
        printed = ran.ran.printed.strip()
        said = [f"It printed: {printed[:200]}"] if printed else []
        raise Failed(found.but(when=case.label, facts=[*found.facts, *said, *told]))
