"""The wording of verdicts on tile kernels."""

from weft.programs.wording import ProgramWords

words = ProgramWords(__file__)
