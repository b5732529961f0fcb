"""Inputs, and the programs around the learner's cells, for the checks of lab 04."""

import numpy as np

from weft.c import Step

# Uses make_rows twice, and looks at how many bytes the second call allocates.
USE_ROWS = """
float **other = make_rows(rows, cols);
for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
        other[i][j] = 1;

size_t __sanitizer_get_current_allocated_bytes(void);
size_t before = __sanitizer_get_current_allocated_bytes();
float **x = make_rows(rows, cols);
size_t bytes = __sanitizer_get_current_allocated_bytes() - before;
size_t needed = rows * sizeof(float *) + rows * cols * sizeof(float);

for (size_t i = 0; i < rows; i++) {
    give_all(x[i], cols);
    for (size_t j = 0; j < cols; j++)
        x[i][j] = 1;
}
int modest = bytes <= needed + needed / 2 + 16;
give(modest);
if (!modest)
    printf("%zu bytes asked for, %zu needed", bytes, needed);
free_rows(x, rows);
free_rows(other, rows);
"""
MADE = ["main.o", "stats.o", "report"]
FILES = {
    "stats.h": "double mean(const double *x, int n);\n",
    "stats.c": """
        #ifndef __OPTIMIZE__
        #error "compiled without $(CFLAGS)"
        #endif
        #include "stats.h"
        double mean(const double *x, int n)
        {
            double total = 0;
            for (int i = 0; i < n; i++) total += x[i];
            return total / n;
        }
        """,
    "main.c": """
        #ifndef __OPTIMIZE__
        #error "compiled without $(CFLAGS)"
        #endif
        #include <stdio.h>
        #include "stats.h"
        int main(void)
        {
            double x[] = {1, 2, 6};
            printf("%g\\n", mean(x, 3));
            return 0;
        }
        """,
}
STEPS = [
    Step("make", makes=MADE),
    Step("make"),
    Step("make", touch="stats.c", makes=["stats.o", "report"]),
    Step("make", touch="main.c", makes=["main.o", "report"]),
    Step("make", touch="stats.h", makes=MADE),
    Step("make clean", removes=MADE),
    Step("make", makes=MADE),
    Step("make clean", touch="clean", removes=MADE),
]


def two_numbers(rng, n):
    """Return two numbers near n; which one is larger depends on n."""
    return tuple(
        np.int32(n - rng.integers(least, least + 4))
        for least in ((1, 5) if n % 2 else (5, 1))
    )


def numbers(rng, n, step):
    """Return n numbers; the first and the last to be added are large."""
    x = rng.random(n, np.float32)
    x[:1] += 2**26
    x[::step][-1:] -= 2**26  # they cancel; a double keeps the small digits
    return x, step
