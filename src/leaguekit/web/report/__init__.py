"""The report of a league: one HTML page without further files, its charts and pictures."""
