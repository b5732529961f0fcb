"""Mark a class: `python -m grading LAB submissions/*.ipynb`.

Of a submission only what defines an exercise is used: functions, classes, constants, C
cells, and what they refer to. Everything else, the checks above all, is the
instructor's copy of the lab. Each submission runs in a process of its own, in the
simulator, with limits on time and memory, and without a network where the system
allows that. `answers` takes a submission apart, `paper` is the instructor's copy,
`sitting` runs it, `worker` is what runs, `reports` writes marks and feedback, and
`course` is the same under nbgrader.
"""
