"""Run the programs beside this file under the profilers and write down what is said.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters. A recording begins with lines that say what made it.
The tag that Numba appends to a kernel's name becomes […]; of ncu's page of details
the rows in SECTIONS are kept, and the advice of those in ADVICE, in shorter lines.
Nothing else is changed.
"""

import argparse
import csv
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from profiled import facts, said  # noqa: E402

BEFORE = "one_step", "speeds", "cube_roots", "column_sums"
AFTER = "all_steps", "field_speeds", "cube_roots32", "piece_sums"
SECTIONS = {  # section → the rows to keep
    "GPU Speed Of Light Throughput": (
        *("SM Frequency", "Duration", "Memory Throughput", "DRAM Throughput"),
        *("L1/TEX Cache Throughput", "L2 Cache Throughput", "Compute (SM) Throughput"),
    ),
    "Compute Workload Analysis": ("Executed Ipc Active", "Issue Slots Busy"),
    "Memory Workload Analysis Tables": (),
    "Scheduler Statistics": (
        *("No Eligible", "Active Warps Per Scheduler", "Eligible Warps Per Scheduler"),
    ),
    "Launch Statistics": ("Block Size", "Grid Size", "Threads", "Waves Per SM"),
    "Occupancy": ("Theoretical Occupancy", "Achieved Occupancy"),
    "Source Counters": (),
}
ADVICE = {  # kernel → sections whose advice is shown
    "speeds": ("Memory Workload Analysis Tables", "Source Counters"),
    "cube_roots": ("Compute Workload Analysis",),
    "column_sums": ("Launch Statistics",),
    "cube_roots32": ("Compute Workload Analysis",),
}
COUNTERS = {  # what the table calls it → ncu's name
    "Duration, us": "gpu__time_duration.sum",
    "DRAM Throughput, %": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "read from DRAM, MB": "dram__bytes_read.sum",
    "Compute (SM) Throughput, %": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "Issue Slots Busy, %": "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "Waves Per SM": "launch__waves_per_multiprocessor",
    "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
    "load requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
}
SCALES = {"ns": 1e-3, "ms": 1e3, "byte": 1e-6, "Kbyte": 1e-3, "Gbyte": 1e3}
PIPE = re.compile(r"sm__inst_executed_pipe_(\w+)\.avg\.pct_of_peak_sustained_elapsed")
STALL = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"
ALL = "smsp__average_warp_latency_per_inst_issued.ratio"  # cycles of a warp per issue
SMI = "utilization.gpu,utilization.memory,power.draw,clocks.sm"

run = partial(said, at=HERE, errors=True)


def kernels(page: str) -> dict[str, str]:
    """Cut a page of ncu into the kernels it is about."""
    parts = re.split(r"^  (\w+)\[[^\n]*\n", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def wrapped(advice: str) -> str:
    """Break advice into lines that fit a page; its first line stands alone."""
    kind, *lines = advice.split()
    text = " ".join(lines)
    first = re.match(r"Est\. (?:Local )?Speedup: [\d.]+%", text)
    head = f"    {kind}   {first[0]}\n" if first else ""
    rest = text[first.end() :].strip() if first else text
    return head + textwrap.fill(
        rest,
        76,
        initial_indent="          " if first else f"    {kind}   ",
        subsequent_indent="          ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def trimmed(name: str, page: str) -> str:
    """Keep the rows and the advice that the book speaks of."""
    kept = []
    for section in re.split(r"^    (?=Section: )", page, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0].removeprefix("Section: ")
        table, *advice = re.split(r"^    (?=OPT|INF|WRN)", section, flags=re.MULTILINE)
        lines = [
            line
            for line in table.splitlines()
            if line.strip().startswith(tuple(f"{r} " for r in SECTIONS.get(title, ())))
        ]
        if title in ADVICE.get(name, ()):
            lines += [wrapped(a) for a in advice if a.startswith("OPT")]
        if lines:
            kept.append("\n".join([f"    Section: {title}", *lines]))
    return "\n\n".join(kept)


def number(text: str) -> float:
    return float(text.replace(",", ""))


def counters(path: str) -> dict[str, dict[str, str]]:
    """Read ncu's raw page: kernel → what the table calls it → value."""
    units, *rows = csv.DictReader(run(*path.split()).splitlines())
    found = {}
    for row in rows:
        name = row["Kernel Name"].partition("[")[0]
        values = {}
        for label, metric in COUNTERS.items():
            value = number(row[metric])
            value *= SCALES.get(units[metric], 1)
            values[label] = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
        pipes = {
            m[1]: number(v) for k, v in row.items() if (m := PIPE.fullmatch(k)) and v
        }
        busiest = max(pipes, key=pipes.__getitem__)
        values["stalled on a load, %"] = (
            f"{100 * number(row[STALL]) / number(row[ALL]):.0f}"
        )
        values["busiest pipeline, %"] = f"{busiest} {pipes[busiest]:.3g}"
        ratio = number(row[COUNTERS["load sectors"]])
        ratio /= number(row[COUNTERS["load requests"]])
        values["sectors per load request"] = f"{ratio:.3g}"
        found[name] = values
    return found


def opcodes(page: str) -> dict[str, Counter[str]]:
    """Count in ncu's source page how often warps executed each instruction."""
    parts = re.split(r'"Kernel Name","[^"\[]*?(\w+)\[[^\n]*\n', page)
    found = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        table = body[body.index('"Address"') :]
        found[name] = Counter[str]()
        for row in csv.DictReader(table.splitlines()):
            if match := re.match(r"\s*(?:@!?U?P\w+\s+)?([\w.]+)", row["Source"] or ""):
                operation, _, kind = match[1].partition(".")
                if operation == "MUFU":
                    operation = f"MUFU.{kind}"
                found[name][operation] += int(number(row["Instructions Executed"]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE)
    out = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    about = facts()

    def write(name: str, command: str, said: str) -> None:
        text = re.sub(r"\[(abi:)?v\d[^\]\n\"]*[\]\"]", "[…]", said)
        lines = [line.rstrip() for line in f"$ {command}\n{about}{text}".splitlines()]
        (out / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    write("smi", "nvidia-smi", run("nvidia-smi"))
    write("timeline", "python3 timeline.py", run("python3", "timeline.py"))
    run("python3", "timeline.py", str(out / "trace.json"))

    query = f"nvidia-smi --query-gpu={SMI} --format=csv,noheader"
    rows, dmon = [], ""
    for name in ("idle", *BEFORE):
        command = ["python3", "programs.py", name, "--seconds", "6"]
        work = None
        if name != "idle":
            work = subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE)
            work.stdout.readline()  # it has begun
            time.sleep(2.5)
        rows.append(f"{name:<13}{run(*query.split()).strip()}")
        if name == "speeds":
            dmon = run("nvidia-smi", "dmon", "-s", "pucm", "-c", "3")
        if work:
            work.wait()
    write("utilisation", query, f"# beside each program, {SMI}\n" + "\n".join(rows))
    write("dmon", "nvidia-smi dmon -s pucm -c 3", f"# beside speeds\n{dmon}")

    with tempfile.TemporaryDirectory() as folder:
        base = "ncu --set full --clock-control none --kernel-name-base function"
        names = "|".join((*BEFORE[1:], *AFTER))
        once = f"{base} -k regex:^({names}) -f -o {folder}/all python3 programs.py"
        run(*once.split(), *BEFORE[1:], *AFTER)
        first = f"{base} -k regex:^one_step -s 4 -c 1 -f -o {folder}/one"
        run(*first.split(), "python3", "programs.py", "one_step")
        pages, table, counts = {}, {}, {}
        for report in ("one", "all"):
            read = f"ncu --import {folder}/{report}.ncu-rep --page"
            pages |= kernels(run(*f"{read} details".split()))
            table |= counters(f"{read} raw --csv")
            counts |= opcodes(run(*f"{read} source --csv".split()))
    for name in (*BEFORE, *AFTER):
        shown = "ncu --set full --clock-control none python3 programs.py"
        write(f"{name}.ncu", shown, f"# {name}, trimmed\n{trimmed(name, pages[name])}")
    lines = []
    for group in (BEFORE, AFTER):
        lines += ["", f"{'':<28}" + "".join(f"{name:>14}" for name in group)]
        for label in table[group[0]]:
            cells = "".join(f"{table[name][label]:>14}" for name in group)
            lines.append(f"{label:<28}{cells}")
    shown = "ncu --set full --clock-control none python3 programs.py"
    write("counters", shown, "\n".join(lines[1:]))
    lines = []
    for name in "cube_roots", "cube_roots32":
        lines += ["", f"{name}, executed by warps, in millions:"]
        for operation, count in counts[name].most_common(8):
            lines.append(f"    {operation:<14}{count / 1e6:>8.1f}")
    write("opcodes", f"{shown}", "\n".join(lines[1:]))
    only = "ncu --clock-control none --nvtx --nvtx-include piece_sums/"
    only += " --section SpeedOfLight python3 programs.py"
    write("nvtx", only, run(*only.split()))


if __name__ == "__main__":
    sys.exit(main())
