"""What can go wrong between ranks: raised by the model, worded by the room."""

from weft.places import Note


class RankFault(Exception):
    """Ends a run of the model.

    kind: a row of `weft.checking.kinds`. message, why: for the verdict. places: lines,
    each with the rank that is there.
    """

    def __init__(self, kind: str, message: str, why: str, places: list[Note]) -> None:
        super().__init__(message)
        self.kind, self.message, self.why, self.places = kind, message, why, places


class Stopped(BaseException):
    """Ends a rank's thread once the run has failed; no `except Exception` keeps it."""
