# verdict: not-made
# Tidy up first.
CFLAGS = -Wall -O2

.PHONY: clean
clean:  # <- here
    rm -f report main.o stats.o

report: main.o stats.o
    $(CC) main.o stats.o -o report

main.o: main.c stats.h
    $(CC) $(CFLAGS) -c main.c

stats.o: stats.c stats.h
    $(CC) $(CFLAGS) -c stats.c
