// verdict: compile
// An array of arrays, and its address.
#include <stdlib.h>

float **make_rows(size_t rows, size_t cols)
{
    float *x[rows];

    for (size_t i = 0; i < rows; i++) {
        x[i] = calloc(cols, sizeof(float));
    }
    return x;  // <- here
}

void free_rows(float **x, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        free(x[i]);
    }
    free(x);
}
