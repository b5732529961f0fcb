"""Arrays and streams for a watched function, and the bars of its timeline."""

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Bar:
    """One copy or launch: its engine, its stream, and its start and end in ms."""

    engine: str
    stream: int
    start: float
    end: float


class Arrays:
    """Makes arrays and streams with `cuda`, either Numba's own or the model's."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda

    def pageable(self, data: Array) -> Any:
        """Copy an array to pageable memory."""
        return data.copy()

    def pinned(self, data: Array) -> Any:
        """Copy an array to pinned memory."""
        array = self._cuda.pinned_array_like(data)
        array[...] = data
        return array

    def pinned_like(self, data: Array) -> Any:
        return self._cuda.pinned_array_like(data)

    def device(self, shape: Any, dtype: Any) -> Any:
        return self._cuda.device_array(shape, dtype)

    def device_like(self, data: Array) -> Any:
        return self._cuda.device_array_like(data)

    def stream(self) -> Any:
        return self._cuda.stream()
