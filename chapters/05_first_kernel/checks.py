"""What the checks of this lab say of likely mistakes."""


def last_block(n: int, threads: int, blocks: int) -> str:
    """Say which elements get no thread, or how many blocks have no element."""
    if type(blocks) is not int:
        return ""
    covered = blocks * threads
    have = f"{blocks:,} × {threads:,} = {covered:,} threads"
    if covered < n:
        return f"{have} leave elements without one. What if the last block is not full?"
    if covered - n >= threads:
        return f"{have}, but a block fewer is enough for {n:,} elements."
    return ""
