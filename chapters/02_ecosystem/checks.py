"""For the checks of lab 2: pairs whose relative error is known, and a slow bill."""

import math

import numpy as np


class Pair:
    """What a program got and what was wanted; `words` describe the pair."""

    def __init__(self, got, wanted, words="a pair"):
        self.got, self.wanted = np.asarray(got), np.asarray(wanted)
        self.words = words

    def __repr__(self):
        return self.words


PUT_IN = {}  # pair: its relative error  # pair: its relative error


def pairs(rng):
    """Return pairs whose relative error is known, since it was put in."""
    x = rng.uniform(-1, 1, (32, 10)).astype(np.float32)
    x[20, 7] = -2  # the largest magnitude is 2

    def moved(place, by, scale=1.0):
        y = x.copy()
        y[place] += by
        error = abs(float(y[place]) - float(x[place])) / 2
        return np.float32(scale) * y, np.float32(scale) * x, error

    up, down = moved((3, 3), 0.125), moved((5, 1), -0.25)
    far = moved((8, 8), 32.0)
    x[4, 4] = 2**-20
    small, tiny = moved((4, 4), 2**-8), moved((9, 0), 0.5, 2**-40)
    huge = moved((7, 7), 2**-12, 2**14)
    half = np.array([60000, 1, 2], np.float16)
    byte = np.array([3, 200, 9], np.uint8)
    lost, endless = x.copy(), x.copy()
    lost[31, 9], endless[3, 1] = np.nan, np.inf
    none = np.zeros_like(x)
    found = {
        Pair(x, x, "the same twice"): 0.0,
        Pair(*up[:2], "one element too large"): up[2],
        Pair(*down[:2], "one element too small"): down[2],
        Pair(*far[:2], "one element far too large"): far[2],
        Pair(*small[:2], "one small element slightly off"): small[2],
        Pair(*tiny[:2], "outputs of 1e-12, one far off"): tiny[2],
        Pair(*huge[:2], "outputs of 3e4, one a little off"): huge[2],
        Pair(half * np.float16([-1, 1, 1]), half, "float16, wrong sign"): 2.0,
        Pair(byte + np.uint8([2, 0, 0]), byte, "uint8, one too large"): 0.01,
        Pair(byte - np.uint8([2, 0, 0]), byte, "uint8, one too small"): 0.01,
        Pair(x.ravel(), x, "320 against 32 x 10"): math.inf,
        Pair(x[:, :1], x, "32 x 1 against 32 x 10"): math.inf,
        Pair(x.reshape(10, 32), x, "10 x 32 against 32 x 10"): math.inf,
        Pair(lost, x, "a NaN among them"): math.inf,
        Pair(lost, lost, "a NaN on both sides"): math.inf,
        Pair(endless, x, "an infinity among them"): math.inf,
        Pair(none, none, "zeros, as wanted"): 0.0,
        Pair(x, none, "zeros wanted, and others came"): math.inf,
    }
    PUT_IN.update(found)
    return [(pair,) for pair in found]


def put_in(pair):
    """Return the relative error that was put into a pair."""
    return PUT_IN[pair]


def clerk(steps, ms, busy, idle, gpus, price):
    """Return the bill in cents: rent by the hour until all is done."""
    waiting, work = idle * 60_000, steps * ms
    cents = 0

    while waiting > 0 or work > 0:  # another hour begins
        cents += gpus * price
        hour = 3_600_000
        waited = min(hour, waiting)
        waiting -= waited
        work -= (hour - waited) * busy // 100

    return cents
