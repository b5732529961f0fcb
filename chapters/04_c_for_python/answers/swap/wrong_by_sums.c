// verdict: signed-overflow
// No third variable is needed.
void swap(int *a, int *b)
{
    *a = *a + *b;  // <- here
    *b = *a - *b;
    *a = *a - *b;
}
