// verdict: use-after-free
// From the outside in.
#include <stdlib.h>

float **make_rows(size_t rows, size_t cols)
{
    float **x = malloc(rows * sizeof(float *));

    for (size_t i = 0; i < rows; i++) {
        x[i] = calloc(cols, sizeof(float));
    }
    return x;
}

void free_rows(float **x, size_t rows)
{
    free(x);  // <- here
    for (size_t i = 0; i < rows; i++) {
        free(x[i]);  // <- here
    }
}
