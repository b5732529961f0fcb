"""What is wrong with a Triton program, in words."""

from weft.programs.wording import ProgramWords

words = ProgramWords(__file__)
