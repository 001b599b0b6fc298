"""The League Manager: registers agents, runs the league, records results, and answers queries."""
