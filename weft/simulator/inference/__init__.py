"""Which types of numbers a kernel's expressions and variables have, as Numba infers."""
