#include <stddef.h>

double sum_squares(const double *x, size_t n)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += x[i] * x[i];
    }
    return total;
}
