"""The player: registers, answers the referee's calls, and asks its strategy for moves."""
