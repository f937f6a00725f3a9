"""Studies made with the library: the paper rerun, comparisons, searches, benchmarks, costs."""
