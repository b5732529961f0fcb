"""An exporter of functions of arrays, in fewer than a hundred lines."""

import functools

import numpy as np


class Graph:
    """What is left of a function after export: operations, in order."""

    def __init__(self, function, example):
        self.nodes = []
        self.result = function(Traced(self, 0, example))

    def note(self, name, operation, parts, options):
        """Note an operation, and do it to the example."""
        example = operation(*map(example_of, parts), **options)
        self.nodes.append((name, operation, parts, options))
        return Traced(self, len(self.nodes), example)

    def __call__(self, x):
        """Do the operations to another array."""
        values = [x]

        def value(part):
            return values[part.place] if isinstance(part, Traced) else part

        for _, operation, parts, options in self.nodes:
            values.append(operation(*map(value, parts), **options))
        return value(self.result)

    def __repr__(self):
        lines = []
        for place, (name, _, parts, options) in enumerate(self.nodes, 1):
            said = [*map(repr, parts)]
            said += [f"{key}={value}" for key, value in options.items()]
            lines.append(f"%{place} = {name}({', '.join(said)})")
        return "\n".join([*lines, f"return {self.result!r}"])


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array while a function is exported."""

    def __init__(self, graph, place, example):
        self.graph, self.place, self.example = graph, place, example

    def __array_ufunc__(self, ufunc, method, *parts, out=None, **options):
        done = getattr(ufunc, method)  # x + y, np.maximum(x, y), …
        return self.graph.note(ufunc.__name__, done, parts, options)

    def __array_function__(self, function, types, parts, options):
        return self.graph.note(function.__name__, function, parts, options)

    def max(self, *axis, **options):
        return np.max(self, *axis, **options)

    def min(self, *axis, **options):
        return np.min(self, *axis, **options)

    def sum(self, *axis, **options):
        return np.sum(self, *axis, **options)

    def mean(self, *axis, **options):
        return np.mean(self, *axis, **options)

    # What Python itself wants to know, only the example can answer.
    def __bool__(self):
        return bool(self.example)

    def __float__(self):
        return float(self.example)

    def __len__(self):
        return len(self.example)

    @property
    def shape(self):
        return self.example.shape

    def __repr__(self):
        return f"%{self.place}" if self.place else "x"


def example_of(part):
    return part.example if isinstance(part, Traced) else part


def exported_with(example):
    """Make a function run as the graph that an export with `example` gives."""

    def replace(function):
        @functools.wraps(function)
        def run(x):
            run.graph = Graph(function, example)
            return run.graph(x)

        return run

    return replace
