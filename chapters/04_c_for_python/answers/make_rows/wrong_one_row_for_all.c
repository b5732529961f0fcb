// verdict: wrong-value
// They are all zero, so one row will do.
#include <stdlib.h>

float **make_rows(size_t rows, size_t cols)
{
    float **x = malloc(rows * sizeof(float *));
    float *zeros = calloc(cols, sizeof(float));

    for (size_t i = 0; i < rows; i++) {
        x[i] = zeros;
    }
    return x;  // <- here
}

void free_rows(float **x, size_t rows)
{
    free(x[0]);
    free(x);
}
