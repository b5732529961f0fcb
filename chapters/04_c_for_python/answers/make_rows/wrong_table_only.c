// verdict: null
// calloc clears it, so the rows are there.
#include <stdlib.h>

float **make_rows(size_t rows, size_t cols)
{
    float **x = calloc(rows, sizeof(float *));
    return x;  // <- here
}

void free_rows(float **x, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        free(x[i]);
    }
    free(x);
}
