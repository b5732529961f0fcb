# verdict: rebuilt
# Everything depends on everything.
CFLAGS = -Wall -O2

report: main.o stats.o
    $(CC) main.o stats.o -o report

main.o: main.c stats.c stats.h  # <- here
    $(CC) $(CFLAGS) -c main.c

stats.o: main.c stats.c stats.h
    $(CC) $(CFLAGS) -c stats.c

.PHONY: clean
clean:
    rm -f report main.o stats.o
