"""A launch of a translated kernel, for trying it out."""

import operator
from itertools import repeat
from typing import Any

import numpy as np

from weft import backend
from weft.simulator.arithmetic.numbers import NUMBERS
from weft.simulator.inference.outside import kind_of
from weft.simulator.limits import Dim3, configuration
from weft.simulator.memory.plain import Array, Memory, fresh
from weft.simulator.translation.host import lent
from weft.simulator.translation.numbers import conversion
from weft.simulator.translation.program import Program


class Size:
    pass


class Block:
    __slots__ = ("x", "y", "z", "dim", "grid", "size", "shared", "number")


class Thread:
    __slots__ = ("x", "y", "z", "gx", "gy", "gz", "lane", "rank", "block", "turns", "notes", "looped")


class Launch:
    def __init__(self, kernel: Any, config: Any, args: tuple, noting: bool = False, program=None):
        fn = backend.python_function(kernel)
        grid, block, _, self.dynamic = configuration(config)
        self.grid, self.block = Dim3(*grid), Dim3(*block)
        kinds, given, cont = [], [], []
        import inspect
        names = list(inspect.signature(fn).parameters)
        base = 0
        for a, n in zip(args, names, strict=True):
            kinds.append(kind_of(a))
            if isinstance(a, np.ndarray):
                given.append(lent(a, Memory(n, "global", base)))
                base += (a.nbytes + 255) // 256 * 256
                cont.append(a.flags.c_contiguous)
            else:
                given.append(a.item() if isinstance(a, np.generic) else a)
                cont.append(False)
        self.program = program or Program(fn, tuple(kinds), tuple(cont), noting)
        self.args = given
        self.noting = noting
        self.now = None
        run = {
            "__shared": self.shared, "__local": self.local, "__loop": self.loop,
            "__fence": lambda *a: None,
            "__pure_part": None,
        }
        for name in ("add", "sub", "max", "min", "exch", "cas", "and_", "or_", "xor", "inc", "dec"):
            run[f"__atomic_{name}"] = getattr(self, "atomic_" + name, None)
        self.call = self.program.bound(run)

    def loop(self, thread, items):
        thread.looped += len(items)
        return items

    def shared(self, thread, spot, shape, letter):
        arrays = thread.block.shared
        if spot not in arrays:
            name = self.program.spots[spot].array or "shared array"
            number = NUMBERS[letter]
            if shape == 0 or shape == (0,):
                sizes = (self.dynamic // (number.bits // 8),)
            else:
                sizes = shape if isinstance(shape, tuple) else (shape,)
            arrays[spot] = fresh(sizes, number, Memory(name, "shared", 1 << 20))
        return arrays[spot]

    def local(self, thread, spot, shape, letter):
        sizes = shape if isinstance(shape, tuple) else (shape,)
        name = self.program.spots[spot].array or "local array"
        return fresh(sizes, NUMBERS[letter], Memory(name, "local", 1 << 21))

    def _atomic(self, thread, spot, x, index, new):
        at = index if isinstance(index, tuple) else (index,)
        old = x.get(at)
        x.put(at, wrap(new(old), x.number))
        if self.noting:
            thread.notes[spot].append(x.element(at))
        return old

    def atomic_add(self, thread, spot, x, index, value):
        return self._atomic(thread, spot, x, index, lambda old: old + value)

    def atomic_sub(self, thread, spot, x, index, value):
        return self._atomic(thread, spot, x, index, lambda old: old - value)

    def atomic_max(self, thread, spot, x, index, value):
        return self._atomic(thread, spot, x, index, lambda old: max(old, value))

    def atomic_min(self, thread, spot, x, index, value):
        return self._atomic(thread, spot, x, index, lambda old: min(old, value))

    def atomic_exch(self, thread, spot, x, index, value):
        return self._atomic(thread, spot, x, index, lambda old: value)

    def atomic_cas(self, thread, spot, x, index, old, value):
        return self._atomic(thread, spot, x, index, lambda now: value if now == old else now)

    def execute(self):
        gx, gy, gz = self.grid
        bx, by, bz = self.block
        size = Dim3(gx * bx, gy * by, gz * bz)
        indices = [(x, y, z) for z in range(bz) for y in range(by) for x in range(bx)]
        call, waits = self.call, self.program.kernel.waits
        args = self.args
        self.blocks = []
        spots = len(self.program.spots)
        for number in range(gx * gy * gz):
            b = Block()
            b.x, b.y, b.z = number % gx, number // gx % gy, number // (gx * gy)
            b.dim, b.grid, b.size, b.shared, b.number = self.block, self.grid, size, {}, number
            threads = []
            for rank, (x, y, z) in enumerate(indices):
                t = Thread()
                t.x, t.y, t.z, t.rank, t.lane, t.block, t.turns, t.looped = x, y, z, rank, rank % 32, b, 0, 0
                t.gx, t.gy, t.gz = b.x * bx + x, b.y * by + y, b.z * bz + z
                if self.noting:
                    t.notes = [[] for _ in range(spots)]
                threads.append(t)
            if self.noting:
                self.blocks.append(threads)
            if not waits:
                for t in threads:
                    call(t, *args)
                continue
            self.rounds(b, threads, [call(t, *args) for t in threads])

    def rounds(self, block, threads, running):
        everyone = repeat(None)
        live = list(range(len(threads)))
        replies = None
        while live:
            got = []
            if replies is None:
                try:
                    got.extend(map(next, [running[i] for i in live], everyone))
                except StopIteration:
                    pass
            else:
                for i in live:
                    try:
                        got.append(running[i].send(replies.get(i)))
                    except StopIteration:
                        got.append(None)
            first = got[0]
            replies = None
            if type(first) is int and first >= 0 and got.count(first) == len(got):
                if self.noting:
                    self.cut(threads)
                continue
            if all(g is None for g in got):
                return
            pairs = [(i, g) for i, g in zip(live, got) if g is not None]
            if all(type(g) is int and g < 0 for _, g in pairs):
                live = [i for i, _ in pairs]
                continue
            replies = {}
            if all(type(g) is tuple for _, g in pairs):
                spot0 = pairs[0][1][0]
                name = self.program.spots[spot0 & 0xFFFF].name
                if name.startswith("syncthreads"):
                    decide = {"syncthreads_count": sum, "syncthreads_and": all, "syncthreads_or": any}[name]
                    r = int(decide([g[1] for _, g in pairs]))
                    replies = {i: r for i, _ in pairs}
                    if self.noting:
                        self.cut(threads)
                else:
                    from weft.simulator.running.warps import EXCHANGES
                    warps = {}
                    for i, g in pairs:
                        warps.setdefault((i // 32, g[0], g[1]), []).append((i, g))
                    for (w, spot, mask), group in warps.items():
                        ex = EXCHANGES[self.program.spots[spot].name]
                        res = ex.replies({i % 32: g[2:] for i, g in group})
                        for i, _ in group:
                            r = res[i % 32]
                            replies[i] = r.item() if isinstance(r, np.generic) else r
                live = [i for i, _ in pairs]
                continue
            raise NotImplementedError([g for _, g in pairs][:5])

    def cut(self, threads):
        for t in threads:
            list(map(len, t.notes))


def wrap(value, number):
    if number.kind in "iu":
        bits = number.bits
        value = int(value) & (1 << bits) - 1
        if number.kind == "i" and value >> bits - 1:
            value -= 1 << bits
    return value


def run(kernel, config, *args, noting=False):
    launch = Launch(kernel, config, args, noting)
    launch.execute()
    return launch
