"""Side-by-side measurements, one command: `make bench`."""
