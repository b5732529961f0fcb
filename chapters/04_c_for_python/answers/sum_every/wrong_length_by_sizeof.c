// verdict: compile
// The length of an array is its size through that of an element.
#include <stddef.h>

double sum_every(const float *x, size_t n, size_t step)
{
    double total = 0;
    for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i += step) {  // <- here
        total += x[i];
    }
    return total;
}
