"""The player: registers, answers the referee's calls, and asks its strategy for moves.

player            Player, as an author uses it; ``definition`` is its name, strategy and games
running           runs a Player as a program
agent             the program's server side: PlayerAgent answers the manager and the referees
caller_checks     identifies the callers, and makes the tokens of the answers
move_chooser      asks the strategy, with a Context of ``context``; ``decisions`` replaces what is not a legal move
strategies        the built-in strategies; ``search`` looks ahead; ``strategy_loading`` finds a strategy by its name
llm               a language model as a strategy
history           the past matches and their files
relay             a player that is called through a gateway
keyed_random      repeatable random numbers
"""
