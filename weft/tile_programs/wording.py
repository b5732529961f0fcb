"""What is wrong with a tile kernel, in words."""

from weft.programs.wording import ProgramWords

words = ProgramWords(__file__)
