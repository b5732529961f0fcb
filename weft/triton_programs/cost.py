"""Stage 4: how many bytes a program loads and stores, against what it has to."""

from weft.checking.verdict import Failed, Verdict
from weft.places import Note, Place
from weft.simulator.trace.trace import READ, WRITE
from weft.triton_programs.exercise import ProgramExercise
from weft.triton_programs.run import Done


def cost(exercise: ProgramExercise, done: Done) -> list[str]:
    """Count the bytes of the last run. Gives facts; raises `Failed` over a limit."""
    facts = []
    for key, operation, arrays in (("loaded", READ, True), ("stored", WRITE, False)):
        moved = bytes_by_line(done, operation)
        regions = [r for r in done.launch.arena.regions if r.readonly == arrays]
        least = sum(region.data.nbytes for region in regions)
        total = sum(moved.values())
        if not total or not least:
            continue
        what = "the inputs" if arrays else "the outputs"
        if total > exercise.limits.get(key, total / least) * least * (1 + 1e-9):
            raise Failed(too_many(exercise, done, key, moved, least))
        facts.append(f"{key} {total / least:.3g} × the bytes of {what}")
    return facts


def bytes_by_line(done: Done, operation: int) -> dict[Place, int]:
    """The bytes that each line asks for. What a mask leaves out does not count."""
    trace = done.trace
    found: dict[Place, int] = {}
    owners = done.launch.arena.firsts.searchsorted(trace.cell, "right") - 1
    sizes = done.launch.arena.sizes[owners]
    for number in sorted(set(trace.call[trace.operation == operation].tolist())):
        place = trace.calls[number].place
        part = int(sizes[trace.call == number].sum())
        found[place] = found.get(place, 0) + part
    return found


def too_many(
    exercise: ProgramExercise, done: Done, key: str, moved: dict[Place, int], least: int
) -> Verdict:
    """The verdict on a program that loads or stores too much."""
    total, what = sum(moved.values()), "inputs" if key == "loaded" else "outputs"
    notes: list[Note] = [(p, f"{n:,} bytes {key}") for p, n in moved.items()]
    return Verdict(
        exercise.name,
        "reloads",
        f"{total:,} bytes are {key}, and the {what} have {least:,}: "
        f"{total / least:.3g} times as many, where {exercise.limits[key]:g} would do.",
        "Memory is what this program waits for. What it has loaded stays in registers "
        "for as long as the program runs. Which bytes move more than once?",
        notes,
        when=done.launch.when,
    )
