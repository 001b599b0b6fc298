"""The conformance kit: checks whether a player, a referee or a manager conforms to league.v2."""
