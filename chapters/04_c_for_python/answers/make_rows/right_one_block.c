// verdict: pass
// One block for all rows.
#include <stdlib.h>

float **make_rows(size_t rows, size_t cols)
{
    float **x = malloc(rows * sizeof *x);
    x[0] = calloc(rows * cols, sizeof **x);

    for (size_t i = 1; i < rows; i++) {
        x[i] = x[0] + i * cols;
    }
    return x;
}

void free_rows(float **x, size_t rows)
{
    free(x[0]);
    free(x);
}
