"""Data and specifications for the checks of lab 01."""

import math

import numpy as np

PARTS = {  # of the CPU's time: send, kernel, fetch
    "w": (0.2, 0.3, 0.2),  # the GPU is ahead
    "k": (0.3, 1.2, 0.3),  # it is behind: its kernel is slow
    "c": (0.8, 0.3, 0.8),  # both copies are
    "s": (0.8, 0.3, 0.2),  # one of them is
    "f": (0.2, 0.3, 0.8),
    "t": (0.25, 0.5, 0.25),  # a tie
}


def pageable(bench, celsius):
    """Provide what the function takes: the temperatures in ordinary memory."""
    return (bench.pageable(celsius),)


def races(rng):
    """Make tables of times, for as many sizes as there are letters of PARTS."""
    tables = []
    four = "kkww", "kcfw", "kcsw", "kwsw", "wwww", "kkwk"
    for letters in (*four, "kkkww", "wtw"):
        m = len(letters)
        sizes = 2 ** np.sort(rng.choice(np.arange(4, 14), m, replace=False))
        cpu = 4 * np.round(sizes * rng.uniform(0.8, 1.2, m) / 16)
        parts = np.array([PARTS[letter] for letter in letters]).T
        tables.append((sizes, cpu, *np.round(cpu * parts, 1)))
    return tables


def ticks(alone, shared, workers):
    """Return how long it takes: a step a tick, `shared` ones by all workers."""
    return alone + math.ceil(shared / workers)


def by_the_clock(serial, workers):
    """Share out a million steps for each worker, and compare two times."""
    alone, shared = serial * 1e6 * workers, (1 - serial) * 1e6 * workers
    return ticks(alone, shared, 1) / ticks(alone, shared, workers)


def in_an_hour(serial, workers):
    """Let workers work for a million ticks, and then one do the same work."""
    alone = serial * 1e6
    shared = (1 - serial) * 1e6 * workers
    return ticks(alone, shared, 1) / ticks(alone, shared, workers)


def one_by_one(latency, bandwidth, each):
    """Start a thread whenever memory has time for one; count to the answer."""
    pause = each / (bandwidth * 1e12) * 1e9  # ns between two threads
    return float(len(np.arange(0, latency, pause)))
