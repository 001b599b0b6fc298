"""OpenSpiel's games for two players that load by their names alone: whether each can be played here, or why not."""

from __future__ import annotations

# Checked in a second or two each.
FAST = (
    "amazons", "antichess", "backgammon", "banqi", "bargaining", "battleship", "blotto", "breakthrough",
    "capture_the_flag", "checkers", "chess", "clobber", "coin_game", "connect_four", "coop_box_pushing",
    "coordinated_mp", "crazy_eights", "cribbage", "cursor_go", "dark_hex", "dark_hex_ir", "dots_and_boxes",
    "einstein_wurfelt_nicht", "first_sealed_auction", "go_fish", "goofspiel", "hanabi", "hex", "kuhn_poker",
    "latent_ttt", "leduc_poker", "lewis_signaling", "liars_dice", "liars_dice_ir", "lines_of_action", "maedn",
    "mancala", "markov_soccer", "matrix_bos", "matrix_brps", "matrix_cd", "matrix_coordination", "matrix_mp",
    "matrix_pd", "matrix_rps", "matrix_rpsw", "matrix_sh", "matrix_shapleys_game", "nim", "nine_mens_morris",
    "oshi_zumo", "othello", "oware", "pentago", "phantom_ttt", "phantom_ttt_ir", "pig", "repeated_leduc_poker",
    "sheriff", "snake", "tic_tac_toe", "tiny_bridge_2p", "tiny_hanabi", "trade_comm", "twixt",
    "ultimate_tic_tac_toe", "universal_poker", "xiangqi", "y",
)  # fmt: skip
# Long games with many moves: `make games` checks them.
SLOW = (
    "chinese_checkers", "crazyhouse", "dark_chess", "gin_rummy", "go", "gomoku", "havannah", "hive", "kriegspiel",
    "laser_tag", "mnk", "phantom_go", "quoridor", "rbc", "shogi", "yacht",
)  # fmt: skip
# The games that cannot be played, with the reason that a user is given.
REFUSED = {
    "bridge_uncontested_bidding": "draws by itself, so that nobody can check what it drew",
    "negotiation": "draws by itself, so that nobody can check what it drew",
    "pathfinding": "would have 1 players, and a match has two",
}
PLAYED = (*FAST, *SLOW)
# The twenty games whose ends are compared with OpenSpiel's: perfect, hidden, with chance, and at once.
COMPARED = (
    "backgammon", "battleship", "blotto", "breakthrough", "clobber", "coin_game", "connect_four", "go(board_size=5)",
    "goofspiel", "kuhn_poker", "leduc_poker", "liars_dice", "mancala", "matrix_rps", "nim", "oshi_zumo", "othello",
    "phantom_ttt", "pig", "tic_tac_toe",
)  # fmt: skip
