"""Run solutions from top to bottom, and stamp them with the machine and the day."""

import ast
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import (
    CellExecutionError,
    CellTimeoutError,
    DeadKernelError,
)
from nbformat import NotebookNode

from weft import lesson

from . import PipelineError, measured, notebook
from .machine import environment, simulated
from .publishing import listed, lost, only_shown, publish

CELL_TIMEOUT = 300  # seconds
ANSI = re.compile(r"\x1b\[[0-9;]*m")
PROBES = {
    "cpu": """
def _stamp():
    from datetime import date
    from weft import versions
    from weft.device import cpu

    return {
        "device": cpu.name(),
        "versions": versions.installed() | cpu.versions(),
        "date": date.today().isoformat(),
    }
""",
    "gpu": """
def _stamp():
    from datetime import date
    from weft import device, versions

    gpu = device.find()
    return {
        "device": gpu.name,
        "capability": "{}.{}".format(*gpu.capability),
        "driver": device.driver_version(),
        "cuda": "{}.{}".format(*gpu.cuda),
        "versions": versions.installed(),
        "date": date.today().isoformat(),
    }
""",
}


@dataclass(frozen=True)
class Run:
    """The result of a notebook that ran to its end.

    complaints: what it wrote to stderr. failed, warned: claims about speed or chance
    that do not hold. shown: it measured nothing, and showed what another GPU measured.
    """

    seconds: float
    complaints: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    shown: bool = False

    @property
    def wrong(self) -> str:
        """What makes the run fail, in a few words; "" if nothing does."""
        found = []
        if self.complaints:
            found.append("wrote to stderr")
        if count := len(self.failed):
            found.append(f"{count} claim{'s' * (count > 1)} failed")
        return ", ".join(found)


def execute(
    root: Path,
    stem: str,
    out: Path,
    simulator: bool = False,
    timeout: int = CELL_TIMEOUT,
    fewer_rows: bool = False,
) -> Run:
    """Run chapters/NN/lab.py; return its result.

    The executed notebook goes to `out`/solutions, and what it measures to
    `out`/results, even if claims fail. In the simulator nothing is written, nor is the
    notebook of a lab that only showed what was measured elsewhere.

    timeout: in seconds for a cell. Raises PipelineError at the first cell that fails,
    and if the results would lose rows, unless `fewer_rows` allows that. Nothing is
    replaced then; if `out` is not `root`, the notebook so far is kept in `out`/failed.
    """
    nb = notebook.read_script(notebook.script(root, stem))
    with tempfile.TemporaryDirectory() as folder:
        claims, results = Path(folder, "claims.jsonl"), Path(folder, "results")
        results.mkdir()
        given = {
            "WEFT_DIGEST": measured.digest(root, stem, nb),
            "WEFT_CLAIMS": str(claims),
        }
        given |= simulated(simulator)
        if not simulator:
            given["WEFT_RESULTS"] = str(results)

        start = time.monotonic()
        try:
            stamp = _run(nb, root, stem, environment(root, **given), timeout)
            if not fewer_rows:
                _keep_rows(results, root)
        except PipelineError:
            if not simulator and out != root:
                publish(results, out / "failed")
                _keep(nb, out / "failed" / f"{stem}.ipynb")
            raise
        seconds = round(time.monotonic() - start, 1)
        found = claimed(claims)
        complaints = tuple(_take_stderr(nb))
        shown = only_shown(results, root / "results", stem)
        if not simulator and not shown:
            publish(results, out / "results")
            path = notebook.solution(out, stem)
            _write(nb, root, path, stamp, seconds, given["WEFT_DIGEST"])
    return Run(
        seconds,
        complaints,
        found["failed"],
        found["warned"],
        shown and not simulator,
    )


def _keep_rows(results: Path, root: Path) -> None:
    """Raise PipelineError with the rows of the record that this run lacks."""
    if gone := lost(results, root / "results"):
        raise PipelineError(
            "not published, since results/ would lose what the book may quote: "
            f"install what these rows need, or add --fewer-rows{listed(gone)}"
        )


def refresh(root: Path, stem: str, timeout: int = CELL_TIMEOUT) -> int:
    """Fill in missing outputs of solutions/NN.ipynb; return how many cells got one.

    The outputs come from a run in the simulator, whose tables show what the reference
    GPU measured. So text, checks and helpers may change without a GPU. A quiz that the
    lesson words differently by now needs no run. The stamp and all other outputs stay;
    the stamp notes the day. timeout: in seconds for a cell.
    """
    path, old = notebook.solution(root, stem), notebook.up_to_date(root, stem)
    waiting = [n for n, cell in enumerate(old.cells) if _waits(cell)]
    asked = _ask_again(old, stem)
    if not waiting and not asked:
        return 0
    if waiting:
        nb = notebook.read_script(notebook.script(root, stem))
        _run(nb, root, stem, environment(root, **simulated(True)), timeout)
        tuple(_take_stderr(nb))
        _scrub(nb, root)
        for number in waiting:
            old.cells[number].outputs = nb.cells[number].outputs
    code = (cell for cell in old.cells if cell.cell_type == "code")
    for count, cell in enumerate(code, 1):
        cell.execution_count = count
    stamp = dict(old.metadata.weft) | {"refreshed": date.today().isoformat()}
    notebook.write(notebook.canonical(old, stamp), path)
    return len(waiting) + asked


def _ask_again(nb: NotebookNode, stem: str) -> int:
    """Replace quizzes that differ from the lesson's; return how many did."""
    shown = [
        output.data
        for cell in nb.cells
        if cell.source.strip() == "quiz()"
        for output in cell.get("outputs", ())
        if output.output_type == "execute_result"
    ]
    if not shown:
        return 0
    quiz = lesson.quiz(stem)
    now = {"text/html": quiz._repr_html_(), "text/plain": repr(quiz)}
    older = [data for data in shown if dict(data) != now]
    for data in older:
        data.update(now)
    return len(older)


def _waits(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and cell.get("execution_count") is None


def _write(
    nb: NotebookNode, root: Path, path: Path, stamp: dict, seconds: float, digest: str
) -> None:
    """Write an executed notebook with its stamp, and without this machine's paths."""
    stamp = stamp | {"seconds": seconds, "digest": digest}
    stamp |= notebook.runs_on(nb)
    _scrub(nb, root)
    notebook.write(notebook.canonical(nb, stamp), path)


def claimed(ledger: Path) -> dict[str, tuple[str, ...]]:
    """Return the claims that a run noted, by their result."""
    lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
    entries = [json.loads(line) for line in lines]
    return {
        state: tuple(e["text"] for e in entries if e["state"] == state)
        for state in ("failed", "warned")
    }


def _keep(nb: NotebookNode, path: Path) -> None:
    """Write a notebook that failed, so that its author can look at it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(nb, indent=1) + "\n", encoding="utf-8")


def _run(
    nb: NotebookNode, root: Path, stem: str, env: dict[str, str], timeout: int
) -> dict:
    """Execute every cell of `nb` in one kernel; return the stamp from that kernel."""
    # No kernel directories, so that the kernel is this very Python.
    specs = KernelSpecManager(kernel_dirs=[])
    client = NotebookClient(
        nb,
        km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs),
        timeout=timeout,
        record_timing=False,
        store_widget_state=False,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(root / "solutions")}},
    )
    index = 0
    with client.setup_kernel(cleanup_kc=True, env=env):
        try:
            for index, cell in enumerate(nb.cells):
                client.execute_cell(cell, index)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise PipelineError(_failure(root, stem, nb, index, error)) from None
        if "WEFT_RESULTS" not in env:
            return {}
        return _stamp(client, notebook.runs_on(nb).get("runs_on", "gpu"))


def _stamp(client: NotebookClient, where: str) -> dict:
    message = client.kc.execute(
        PROBES[where],
        silent=True,
        store_history=False,
        user_expressions={"stamp": "_stamp()"},
    )
    reply = client.wait_for_reply(message)
    value = reply["content"]["user_expressions"]["stamp"]
    if value["status"] != "ok":
        raise PipelineError(f"no stamp: {value['ename']}: {value['evalue']}")
    return ast.literal_eval(value["data"]["text/plain"])


def _failure(
    root: Path, stem: str, nb: NotebookNode, index: int, error: Exception
) -> str:
    cell = nb.cells[index]
    text = notebook.script(root, stem).read_text(encoding="utf-8")
    at = text.find(cell.source)
    line = f":{text[:at].count(chr(10)) + 1}" if at >= 0 else ""
    if isinstance(error, CellTimeoutError):
        what = "took longer than the time a cell has (--timeout)"
    elif isinstance(error, DeadKernelError):
        what = "killed its kernel: out of memory, or a crash outside Python"
    else:
        trace = ANSI.sub("", str(error.traceback)).strip().splitlines()
        what = "\n".join(["failed:", *trace[-30:]])
    shown = "\n".join(f"    {row}" for row in cell.source.splitlines())
    return f"chapters/{stem}/lab.py{line}: cell {index + 1}\n{shown}\n{what}"


def _take_stderr(nb: NotebookNode) -> Iterator[str]:
    """Remove what cells wrote to stderr, which readers should not see; yield it."""
    for index, cell in enumerate(nb.cells):
        for output in list(cell.get("outputs", [])):
            if output.output_type == "stream" and output.name == "stderr":
                cell.outputs.remove(output)
                yield f"cell {index + 1}: {ANSI.sub('', output.text).strip()}"


def _scrub(nb: NotebookNode, root: Path) -> None:
    """Replace what is particular to this machine: its paths, and objects' addresses."""
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            if "text" in output:
                output.text = _anonymous(output.text, root)
            for mime, value in output.get("data", {}).items():
                if isinstance(value, str) and mime.startswith(("text/", "image/svg")):
                    output.data[mime] = _anonymous(value, root)


def _anonymous(text: str, root: Path) -> str:
    text = re.sub(r"\S*/ipykernel_\d+/\d+\.py", "<cell>", text)
    text = text.replace(f"{root}{os.sep}", "").replace(str(root), ".")
    text = text.replace(sys.prefix, ".venv")
    if (home := Path.home()) != Path("/"):
        text = text.replace(str(home), "~")
    return re.sub(r"\bat 0x[0-9a-f]{6,}", "at 0x…", text)
