// verdict: dead-variable
// Every row is a local array of its own.
#include <stdlib.h>

float **make_rows(size_t rows, size_t cols)
{
    float **x = malloc(rows * sizeof(float *));

    for (size_t i = 0; i < rows; i++) {
        float row[64] = {0};
        x[i] = row;
    }
    return x;  // <- here
}

void free_rows(float **x, size_t rows)
{
    free(x);
}
