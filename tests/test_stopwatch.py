"""The experiment that tells whether the stopwatch is clean, where no GPU is needed."""

import subprocess
import sys
from itertools import chain

import weft  # noqa: F401  before Numba

import numpy as np  # isort: skip
import pytest

from verification import stopwatch
from verification.stopwatch import COUNTED, OURS, READS, SIZES, WAYS, Row

MIB = 1 << 20


def rows(**ours):
    """What a GPU with a clean stopwatch would give, apart from `ours`."""
    found = []
    for way in WAYS:
        for name, (reads, _) in SIZES.items():
            row = {"ms": 0.24, "spread": 0.001, "read": reads, "written": 1000}
            if way == OURS and name == "read 64 MiB":
                row |= ours
            found.append(Row(way, name, **row))
    return found


def test_a_clean_stopwatch_has_nothing_said_of_it():
    assert stopwatch.judged(rows()) == []


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        ({"written": 2 * MIB}, "read 64 MiB: 2.10 MB were written to memory meanwhile"),
        ({"read": 50 * MIB}, "only 78 % came from memory"),
        ({"ms": 0.25}, "takes 0.250 ms, but 0.240 ms after reading 4 times the cache"),
    ],
)
def test_what_is_wrong_with_a_stopwatch_is_said(ours, words):
    (said,) = stopwatch.judged(rows(**ours))
    assert words in said


def test_without_counters_the_times_are_compared():
    uncounted = {"read": None, "written": None}
    assert stopwatch.judged(rows(**uncounted)) == []
    assert len(stopwatch.judged(rows(**uncounted, ms=0.3))) == 1


def test_launches_are_paired_with_the_plan_by_their_order():
    kinds = len(WAYS) * len(SIZES)
    launches = [
        [{"dram__bytes_read": k + shift, "dram__bytes_write": 0} for shift in (0, 9, 1)]
        for k in range(0, 100 * kinds, 100)
    ]
    assert COUNTED == 3
    found, why = stopwatch.paired(list(chain(*launches)))
    assert why == ""
    assert found["none", "read 1 GiB"] == {"read": 1, "written": 0}
    assert found[OURS, "copy 512 MiB"]["read"] == 100 * (kinds - 1) + 1
    found, why = stopwatch.paired(launches[0])
    assert not found
    assert "3 launches" in why


def test_the_table_has_a_line_for_every_row():
    text = stopwatch.table(rows())
    assert len(text.splitlines()) == len(WAYS) * len(SIZES) + 2
    assert f"read {READS[-1]}x" in text


def test_the_kernels_do_what_they_are_named_for():
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)
    stopwatch.timed_read[1, 8](x, out)
    assert not out.any()
    stopwatch.timed_copy[1, 8](x, out)
    assert np.array_equal(out, x)
    stopwatch.timed_write[1, 8](x, out)
    assert (out == 1).all()


def test_without_a_gpu_it_says_so():
    run = subprocess.run(
        [sys.executable, "-m", "verification.stopwatch"],
        env={"WEFT_SIMULATOR": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    assert "WEFT_SIMULATOR is set" in run.stderr
