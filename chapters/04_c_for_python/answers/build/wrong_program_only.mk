# verdict: not-made
# One line does it all.
CFLAGS = -Wall -O2

report: main.c stats.c stats.h
    $(CC) $(CFLAGS) main.c stats.c -o report

.PHONY: clean
clean:
    rm -f report main.o stats.o
