"""The referee: registers, plays the matches that it is assigned, and reports their results."""
