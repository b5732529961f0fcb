"""Translation of a learner's kernel into Python on plain numbers and memory."""
