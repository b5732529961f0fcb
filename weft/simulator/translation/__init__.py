"""Translation of a learner's kernel into Python that uses plain numbers and memory."""
