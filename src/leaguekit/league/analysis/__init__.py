"""The analysis of a league: ratings, cycles, and how likely its results are by chance. Pure."""
