"""The wording of verdicts on Triton programs."""

from weft.programs.wording import ProgramWords

words = ProgramWords(__file__)
