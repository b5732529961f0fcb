// verdict: wrong-value
// One after the other, as in a, b = b, a.
void swap(int *a, int *b)
{
    *a = *b;
    *b = *a;
}
