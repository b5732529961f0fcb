// verdict: compile
// malloc is always there.
#include <stddef.h>

float **make_rows(size_t rows, size_t cols)
{
    float **x = malloc(rows * sizeof(float *));  // <- here

    for (size_t i = 0; i < rows; i++) {
        x[i] = calloc(cols, sizeof(float));
    }
    return x;
}

void free_rows(float **x, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        free(x[i]);
    }
    free(x);
}
