// verdict: heap-buffer-overflow
// Rows times rows.
#include <stdlib.h>

float **make_rows(size_t rows, size_t cols)
{
    float **x = calloc(rows, sizeof(float *));

    for (size_t i = 0; i < rows; i++) {
        x[i] = calloc(rows, sizeof(float));
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
