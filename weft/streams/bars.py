"""What a timeline is made of: copies and launches, each with its time."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """One copy or launch: on which engine, in which stream, from when to when, ms."""

    engine: str
    stream: int
    start: float
    end: float
