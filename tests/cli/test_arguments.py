"""Wrong arguments are reported by the command itself, with the nearest name that exists."""

from __future__ import annotations

import pytest

from leaguekit.cli import main
from leaguekit.cli.arguments import Parser


@pytest.mark.parametrize(
    ("arguments", "usage", "error"),
    [
        ("simulat", "usage: league [-h]", "there is no 'simulat'; did you mean simulate?"),
        ("xyz", "usage: league [-h]", "there is no 'xyz'; `league --help` lists the commands"),
        ("simulate --sedes 10", "usage: league simulate ", "there is no option --sedes; did you mean --seeds?"),
        ("simulate --sedes=10", "usage: league simulate ", "there is no option --sedes; did you mean --seeds?"),
        (
            "simulate --leagues 10",
            "usage: league simulate ",
            "there is no option --leagues; `league simulate --help` lists the options",
        ),
        (
            "simulate --game tictactoe",
            "usage: league simulate ",
            "no game 'tictactoe' here; did you mean 'tic_tac_toe'?",
        ),
        (
            "simulate --game go",
            "usage: league simulate ",
            "argument --game: There is no game 'go' here; the games ",
        ),
        (
            "simulate --strategies mine:a mine:b",
            "usage: league simulate ",
            "unrecognized arguments: mine:b; the names of a list are separated by commas",
        ),
        ("simulate --seeds 0", "usage: league simulate ", "argument --seeds: it must be at least 1, got 0"),
        ("simulate --seeds many", "usage: league simulate ", "argument --seeds: 'many' is not a whole number"),
        ("simulate --players 1", "usage: league simulate ", "argument --players: it must be at least 2, got 1"),
        ("run --players 1", "usage: league run ", "argument --players: it must be at least 2, got 1"),
        ("run --referees 0", "usage: league run ", "argument --referees: it must be at least 1, got 0"),
        ("standings --port 80", "usage: league standings ", "`league standings --help` lists the options"),
        ("verify league.db other.db", "usage: league verify ", "unrecognized arguments: other.db\n"),
        ("new Alice", "usage: league new ", "did you mean `league new player Alice`?"),
        ("check player --timeuot 3", "usage: league check player ", "did you mean --timeout?"),
    ],
)
def test_a_wrong_argument_shows_the_usage_of_its_command_and_what_is_near(
    capsys: pytest.CaptureFixture[str], arguments: str, usage: str, error: str
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments.split())
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert err.startswith(usage)
    assert error in err


def test_an_argument_may_come_after_the_options() -> None:
    parser = Parser()
    parser.add_argument("action", choices=["new", "list"])
    parser.add_argument("what", nargs="*")
    parser.add_argument("--manager")
    for words in ("new 5 7 --manager X", "new --manager X 5 7", "--manager X new 5 7"):
        assert vars(parser.parse_args(words.split())) == {"action": "new", "what": ["5", "7"], "manager": "X"}


def test_the_bare_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"]):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        out, err = capsys.readouterr()
        assert (end.value.code, err) == (0, "")
        assert "begin with:" in out


def test_a_number_may_be_written_as_the_output_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--strategies", "random", "--seeds", "1,000"]) == 0
    assert "1,000 leagues of even_odd (seeds 1 to 1000)" in capsys.readouterr().out


def test_blanks_between_the_names_of_a_list_do_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--strategies", "random, frequency", "--seeds", "2"]) == 0
    assert "frequency" in capsys.readouterr().out
