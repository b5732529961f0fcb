// verdict: stack-buffer-overflow
// No element is larger than 64 bytes.
#include <stddef.h>
#include <string.h>

void reverse(void *base, size_t count, size_t size)
{
    unsigned char *bytes = base;
    unsigned char kept[64];

    for (size_t i = 0; i < count / 2; i++) {
        unsigned char *low = bytes + i * size;
        unsigned char *high = bytes + (count - 1 - i) * size;
        memcpy(kept, low, size);  // <- here
        memcpy(low, high, size);
        memcpy(high, kept, size);
    }
}
