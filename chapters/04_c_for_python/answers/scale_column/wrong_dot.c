// verdict: compile
// A field is taken with a dot, as anywhere.
#include <stddef.h>

struct matrix {
    float *data;
    size_t rows, cols;
};

void scale_column(struct matrix *m, size_t col, float factor)
{
    for (size_t row = 0; row < m.rows; row++) {  // <- here
        m.data[row * m.cols + col] *= factor;
    }
}
