"""The error that a learner's mistake raises: its message is the whole explanation."""


class LearnerError(ValueError):
    """A call that cannot work, explained in the learner's terms.

    A notebook shows the message without the frames of this package, which would only
    push it off the screen.
    """

    def _render_traceback_(self, *_: object) -> list[str]:
        """Return what IPython shows for this error: only its message."""
        return [f"{type(self).__name__}: {self}"]
