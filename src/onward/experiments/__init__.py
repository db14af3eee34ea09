"""The paper's experiments, one module for each figure: run, judge and draw them."""
