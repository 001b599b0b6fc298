"""Comparisons of strategies: leagues and pairs of games without a server, and what follows from their results."""
