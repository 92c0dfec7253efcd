"""One attempt at one scenario: observe, infer, act, judge, record."""
