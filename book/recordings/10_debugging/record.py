"""Run the programs beside this file under the tools and write down what is said.

python record.py [--out FOLDER], on a machine with a GPU, Numba, nvcc, compute-sanitizer
and cuda-gdb. A recording begins with lines that say what made it. The folder's name is
cut from paths, and the tag that Numba appends to a kernel's name becomes […]; nothing
else is changed. The book keeps those that it shows. --shared records only what
initcheck says of shared memory, which it can watch from version 2025.4 on.
"""

import argparse
import datetime
import os
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = "memcheck", "racecheck", "initcheck", "synccheck"
PROGRAMS = (
    *("invert", "unpack", "swap_pairs", "differences", "block_max"),
    *("count_bins", "mirror 992", "mirror 1000", "mirror_once", "gather", "shares"),
)
HANGS = ("mirror 1000",)
HANG = 20  # s
ALONE = "block_max", "count_bins", "shares"  # what they say depends on what else runs
SHARED = "--tool", "initcheck", "--initcheck-address-space", "shared"
BRIEF = "--print-limit", "2", "--show-backtrace", "no", "--demangle", "simple"


def run(*command: str, limit: int = 60, **env: str) -> str:
    """Run a command for `limit` seconds at most; return all that it says."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command,
            cwd=HERE,
            env=os.environ | {"PYTHONUNBUFFERED": "1"} | env,
            stdout=said,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(limit)
            end = ""
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            end = f"[no end after {limit} s: stopped]\n"
        said.seek(0)
        return said.read() + end


def first(pattern: str, *command: str) -> str:
    match = re.search(pattern, run(*command))
    return match[1] if match else "unknown"


def facts() -> str:
    gpu = run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    name, driver = gpu.strip().splitlines()[0].split(", ")
    versions = [
        f"driver {driver}",
        "CUDA " + first(r"V(\d+\.\d+\.\d+)", "nvcc", "--version"),
        "compute-sanitizer "
        + first(r"ersion (\d[\d.]*)", "compute-sanitizer", "--version"),
        *(f"{p} {metadata.version(p)}" for p in ("numba", "numba-cuda")),
    ]
    today = datetime.date.today().isoformat()
    return f"# {name}, {today}\n# {', '.join(versions)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--shared", action="store_true")
    given = parser.parse_args()
    out = given.out
    out.mkdir(parents=True, exist_ok=True)
    built = Path(tempfile.mkdtemp())
    about = facts()
    python = Path(sys.executable).name

    def record(name: str, command: list[str], limit: int = 60, **env: str) -> str:
        said = run(*command, limit=limit, **env)
        shown = " ".join([*(f"{k}={v}" for k, v in env.items()), *command])
        text = f"$ {shown}\n{about}{said}"
        for folder in (str(HERE.resolve()), str(HERE), str(built)):
            text = text.replace(f"{folder}/", "")
        text = re.sub(r"\[abi:[^\]]*\]", "[…]", text)
        text = re.sub(r"\x1b\[[\d;]*m|\S*/site-packages/", "", text)
        lines = [line.rstrip() for line in text.splitlines()]
        (out / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return text

    def sanitize(name: str, program: list[str], tool: str, limit: int = 60) -> str:
        command = ["compute-sanitizer", "--tool", tool, *BRIEF, *program]
        return record(name, command, limit)

    def script(program: str) -> tuple[str, list[str], int]:
        name, *arguments = program.split()
        limit = HANG if program in HANGS else 60
        command = [python, f"{name}.py", *arguments]
        return program.replace(" ", "_"), command, limit

    if given.shared:
        command = ["compute-sanitizer", *SHARED, *BRIEF, python, "count_bins.py"]
        print(record("count_bins.shared", command))
        return

    for source in HERE.glob("*.cu"):
        target = str(built / source.stem)
        print(run("nvcc", "-g", "-G", "-arch=native", "-o", target, source.name))

    jobs: dict[tuple[str, str], Future[str]] = {}
    with ThreadPoolExecutor(8) as pool:
        differences = [str(built / "differences")]
        pool.submit(sanitize, "differences_cu.memcheck", differences, "memcheck")
        file = [python, "pool.py"]
        # PyTorch asks the driver for functions that it lacks, which is no bug.
        quiet = "--report-api-errors", "no"
        command = ["compute-sanitizer", "--tool", "memcheck", *quiet, *BRIEF, *file]
        pool.submit(record, "pool.memcheck", command)
        uncached = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
        pool.submit(record, "pool.uncached", command, **uncached)
        blocking = {"CUDA_LAUNCH_BLOCKING": "1"}
        pool.submit(record, "gather.blocking", [python, "gather.py"], **blocking)
        pool.submit(record, "gather_cu", [str(built / "gather")])
        pool.submit(record, "errors", [str(built / "errors")])
        for program in sorted((*PROGRAMS, "raises", "pool"), key=HANGS.__contains__):
            name, command, limit = script(program)
            if program not in ALONE:
                pool.submit(record, name, command, limit)
            for tool in TOOLS if program in PROGRAMS else ():
                args = f"{name}.{tool}", command, tool, limit
                jobs[program, tool] = pool.submit(sanitize, *args)
        search = [str(built / "find_place")]
        pool.submit(sanitize, "find_place_cu.memcheck", search, "memcheck", HANG)
    for program in ALONE:
        record(*script(program))
    for program in "gather", "find_place":
        command = ["cuda-gdb", "-q", "-batch", "-x", f"{program}.gdb"]
        record(f"{program}.gdb", [*command, str(built / program)])

    rows = [f"{'':<12}" + "".join(f"{tool:>12}" for tool in TOOLS)]
    for program in PROGRAMS:
        cells = []
        for tool in TOOLS:
            text = jobs[program, tool].result()
            # racecheck: "2 hazards displayed (100 errors, 500 warnings)"
            match = re.search(r"SUMMARY: (?:.*\()?(\d+) errors?\b", text)
            cells.append(f"{match[1] if match else 'no end':>12}")
        rows.append(f"{program:<12}" + "".join(cells))
    table = "\n".join(rows)
    (out / "tools.txt").write_text(f"{about}{table}\n", encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
