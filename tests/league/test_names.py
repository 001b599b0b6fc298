"""Names: how they are kept, why some are refused, and which look like others."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from leaguekit.league import commands
from leaguekit.league.commands import Rejected
from leaguekit.league.events import decode
from leaguekit.league.fold import fold
from leaguekit.league.names import confusable_forms, find_fault, normalize
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.plain_text import INVISIBLE_CHARACTERS
from tests.league.play import Play
from tests.played import Log, audited

INVISIBLE = (
    *("\xad", "\u034f", "\u061c", "\u115f", "\u1160", "\u17b4", "\u180e", "\u200b", "\u200d", "\u202e", "\u2060"),
    *("\u2066", "\u2800", "\u3164", "\ufe00", "\ufeff", "\uffa0", "\ufffc", "\U000e0041", "\U000e0100", "\U0001d173"),
)


def alike(one: str, other: str) -> bool:
    return not set(confusable_forms(one)).isdisjoint(confusable_forms(other))


@pytest.mark.parametrize(
    "name",
    [
        *("Alice", "x", "Agent Alpha", "O'Neill – 2nd", "<b>", "=1+1", "../..", "CON", "50 %", "¿Qué?", "R2-D2", "🤖"),
        *("Zoë", "Nguyễn Văn Ánh", "Łukasz", "Алиса", "Ελένη", "李雷", "アリスBot", "김철수 3", "שלום", "שָׁלוֹם", "عليّ"),
        *("आलिस", "อลิซ", "Bot Алиса", "α-Agent", "Бот3000", "𠮷野家", "Alice李", "ᚠᚢᚦ", "😀👍🏽", "🇩🇪", "ʻOkina"),
        "A" * 50,
    ],
)
def test_a_name_that_can_be_read_is_taken_as_it_is(name: str) -> None:
    assert find_fault(name) is None
    assert normalize(name) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("e\u0301", "é"),
        ("\uff21\uff4c\uff49\uff43\uff45", "Alice"),
        ("𝓐𝕝𝔦𝖼𝚎", "Alice"),
        ("Ⓐⓛⓘⓒⓔ", "Alice"),
        ("ﬁve ½", "five 1⁄2"),
        ("  Al \u00a0 ice\u3000", "Al ice"),
        ("❤\ufe0f Bot", "❤ Bot"),
        ("1\ufe0f\u20e3", "1\u20e3"),
    ],
)
def test_a_name_is_shown_in_plain_letters_with_single_blanks(sent: str, shown: str) -> None:
    assert find_fault(sent) is None
    assert normalize(sent) == shown


RESERVED = "it looks like an id or a role of the protocol"


@pytest.mark.parametrize(
    "name",
    [
        *("P01", "p01", "P99", "P100", "P123456789", " P01 ", "REF01", "ref01", "REF100"),
        *("league_manager", "League Manager", "LEAGUE-MANAGER", "leaguemanager", "league_manager:x"),
        *("player:P01", "Player:P01", "player: P01", "player:alice", "referee:REF01", "referee:x"),
        # Drawn the same: full width, Cyrillic, other digits, letters like digits, accents.
        *("Ｐ０１", "Р01", "P٠١", "PO1", "P0l", "REF0I", "Ṕ01", "Ieague_manager", "pIayer:P01", "lеague_manager"),
    ],
)
def test_a_name_that_looks_like_an_id_or_a_role_is_refused(name: str) -> None:
    assert str(find_fault(name)).startswith(RESERVED) or "alphabets do not mix" in str(find_fault(name))
    play = Play(players=2, referees=1)
    for enter in (play.player, play.referee):
        with pytest.raises(Rejected) as refused:
            enter(9, meta={"display_name": name})
        assert "This display_name cannot be used: " in refused.value.reason


@pytest.mark.parametrize(
    "name",
    [
        *("Player P01", "P01 the Great", "Not P01", "P1", "P", "PIO", "POll", "Pool", "P01x", "XP01", "REF", "Referee"),
        *("Player", "Manager", "Player 1", "The league_manager's friend", "Referee REF01", "player", "P-01"),
    ],
)
def test_a_name_that_only_contains_an_id_or_a_role_is_taken(name: str) -> None:
    assert find_fault(name) is None


def test_an_agent_that_came_in_under_such_a_name_may_return_with_it() -> None:
    play = Play(players=1, referees=1)
    # As a release before this rule let them in.
    for text in play.log[1:]:
        event = decode(text)
        name = getattr(event, "player_id", "league_manager")
        play.do([structs.replace(event, meta=structs.replace(event.meta, display_name=name))])
    assert play.player(1, returning_id="P01", meta={"display_name": "P01"}) == "P01"
    assert play.referee(1, returning_id="REF01", meta={"display_name": "league_manager"}) == "REF01"
    with pytest.raises(Rejected, match=RESERVED):
        play.player(1, returning_id="P01", meta={"display_name": "P02"})


@pytest.mark.parametrize("sign", INVISIBLE, ids=ascii)
def test_what_cannot_be_seen_is_named_with_its_place(sign: str) -> None:
    wrong = find_fault(f"Al{sign}ice")
    assert wrong == f"U+{ord(sign):04X} {unicodedata.name(sign)} at character 3 is invisible"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("\x1b[31mred", "U+001B at character 1 is a control character"),
        ("Al\x9bice", "U+009B at character 3 is a control character"),
        ("Al\nice", "U+000A at character 3 is a control character"),
        ("Al\u2028ice", "U+2028 LINE SEPARATOR at character 3 is a line break"),
        ("Al\u2029ice", "U+2029 PARAGRAPH SEPARATOR at character 3 is a line break"),
        ("Al\u1680ice", "U+1680 OGHAM SPACE MARK at character 3 is an unusual blank"),
        ("Al\ue000ice", "U+E000 at character 3 is for private use"),
        ("Al\uffffice", "U+FFFF at character 3 is not assigned to anything"),
        ("Al\ud800ice", "U+D800 at character 3 is half a character"),
        ("   ", "it has no visible character"),
        ("\u3000\u00a0", "it has no visible character"),
        ("\ufe0f", "it has no visible character"),
        ("ﷺﷺﷺ", "written out (NFKC) it has 54 characters, which is too many"),
        (
            "q\u0323\u0324\u0325\u0308",
            "U+0308 COMBINING DIAERESIS at character 5 is a mark too many: "
            "there are at most 3 marks on a letter, and none without one",
        ),
        (
            "\u0301Al",
            "U+0301 COMBINING ACUTE ACCENT at character 1 is a mark too many: "
            "there are at most 3 marks on a letter, and none without one",
        ),
        (
            "A \u0301l",
            "U+0301 COMBINING ACUTE ACCENT at character 3 is a mark too many: "
            "there are at most 3 marks on a letter, and none without one",
        ),
        (
            "Аlice",
            "U+006C LATIN SMALL LETTER L at character 2 is in one word with U+0410 CYRILLIC CAPITAL LETTER A: "
            "alphabets do not mix",
        ),
        (
            "Bot Alicе",
            "U+0435 CYRILLIC SMALL LETTER IE at character 9 is in one word with U+0063 LATIN SMALL LETTER C: "
            "alphabets do not mix",
        ),
        (
            "πBot",
            "U+0042 LATIN CAPITAL LETTER B at character 2 is in one word with U+03C0 GREEK SMALL LETTER PI: "
            "alphabets do not mix",
        ),
    ],
    ids=ascii,
)
def test_a_name_is_refused_for_a_reason(name: str, wrong: str) -> None:
    assert find_fault(name) == wrong


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=50))
def test_whatever_is_taken_is_shown_without_anything_unseen_and_stays_the_same(name: str) -> None:
    if find_fault(name) is None:
        shown = normalize(name)
        assert 1 <= len(shown) <= 50
        assert not INVISIBLE_CHARACTERS.search(shown)
        assert shown == normalize(shown) == shown.strip()
        assert find_fault(shown) is None
        assert alike(name, shown)


def test_no_sign_that_is_taken_becomes_one_that_is_not() -> None:
    for code in range(0, sys.maxunicode + 1, 101):  # all of them take 20 seconds
        if find_fault(sent := f"-{chr(code)}-") is None:
            assert find_fault(normalize(sent)) is None, hex(code)


@pytest.mark.parametrize(
    "like",
    [
        *("Alice", "ALICE", "alice", "Alicé", "Älïçè", "AIice", "A1ice", "A|ice", "ᴀʟɪᴄᴇ", "Ａｌｉｃｅ", "𝒜lice"),
        *("🅰lice", "🇦lice", "Аlice", "Alicǝ", "Ąlıċe", "Alicе", " Alice ", "ꓮꓡꓲꓚꓰ", "A\ufe0flice"),
    ],
)
def test_names_that_look_like_alice_are_alike(like: str) -> None:
    assert alike("Alice", like)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ace", "Асе"),
        ("bob", "ВОВ"),
        ("BOB", "ΒΟΒ"),
        ("ην", "ΗΝ"),
        ("mike", "rnike"),
        ("ALICE", "ALlCE"),
        ("Modern", "Modem"),
        ("wow", "vvovv"),
        ("Bot 10", "Bot lO"),
        ("Bot 3", "Bot ٣"),
        ("Alice", "ᎪᏞiᏟᎬ"),
        ("huq", "հսզ"),
        ("Łukasz", "Lukasz"),
        ("Straße", "STRASSE"),
    ],
)
def test_names_that_only_careful_eyes_tell_apart_are_alike(one: str, other: str) -> None:
    assert alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ian", "Lan"),
        ("Ali", "All"),
        ("Bot 1", "Bot 2"),
        ("Bot 1", "Bot 11"),
        ("AliceBob", "Alice Bob"),
        ("Алиса", "Алина"),
        ("か", "が"),
        ("की", "का"),
        ("李雷", "李蕾"),
        ("🤖", "👾"),
        ("random 1", "random 10"),
    ],
)
def test_names_that_anybody_tells_apart_are_not_alike(one: str, other: str) -> None:
    assert not alike(one, other)


def test_a_letter_is_never_like_another_letter_of_the_alphabet() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    assert len({confusable_forms(letter)[0] for letter in letters}) == 26
    assert all(re.fullmatch("[a-z]+", confusable_forms(letter.upper())[0]) for letter in letters)


# At the league's door


@pytest.mark.parametrize("role", ["player", "referee"])
def test_a_name_that_cannot_be_used_is_rejected_with_the_character_and_its_place(role: str) -> None:
    play = Play()
    admit = commands.admit_player if role == "player" else commands.admit_referee
    with pytest.raises(Rejected) as caught:
        admit(play.league, getattr(play, f"{role}_applicant")(1, meta={"display_name": "Al\u202eice"}), play.now)
    assert (caught.value.code, caught.value.number) == ("E044", None)
    assert caught.value.reason == (
        "This display_name cannot be used: U+202E RIGHT-TO-LEFT OVERRIDE at character 3 is invisible"
    )


@pytest.mark.parametrize("role", ["player", "referee"])
def test_the_name_that_is_kept_and_shown_is_the_normal_one(role: str) -> None:
    play = Play()
    name, _ = play.enter(getattr(play, f"{role}_applicant")(1, meta={"display_name": " Ｚoe\u0308 "}))
    agent = play.league.agent(name)
    assert agent is not None
    assert agent.meta.display_name == "Zoë"


def test_a_repeat_is_known_although_its_name_was_normalised() -> None:
    play = Play()
    applicant = play.player_applicant(1, meta={"display_name": "Zoe\u0308"})
    assert play.enter(applicant)[0] == play.enter(applicant)[0]


def test_a_name_that_looks_like_anothers_is_taken() -> None:
    play = Play(players=1)
    with pytest.raises(ProtocolError) as caught:
        play.player(2, meta={"display_name": "Agent l"})
    assert caught.value.code == "E047"
    assert caught.value.data["display_name"] == "Agent l"
    assert caught.value.detail == "Another player is called 'Agent 1', and 'Agent l' looks like it."


def test_a_player_may_come_back_under_a_name_like_its_own_and_gives_the_old_one_up() -> None:
    play = Play(players=2)
    play.enter(play.player_applicant(1, returning_id="P01", meta={"display_name": "AGENT 1"}))
    play.enter(play.player_applicant(1, returning_id="P01", meta={"display_name": "Somebody"}))
    assert play.player(3, meta={"display_name": "Agent 1"}) == "P03"


def test_who_leaves_before_the_start_leaves_its_name() -> None:
    play = Play(players=2)
    play.do(commands.withdraw(play.league, "P01", "", play.now))
    assert play.player(3, meta={"display_name": "AGENT 1"}) == "P03"


def test_a_log_in_which_two_have_the_same_name_is_a_fault_and_can_be_folded() -> None:
    log = Log(Play(players=2).log)
    log.of("PlayerRegistered", 1)["meta"]["display_name"] = "agent 1"
    log.repeat("PlayerRegistered", 0, last=True)
    found = [str(finding) for finding in audited(log.lines()).findings if not finding.is_warning]
    assert found == [
        "event 3: expected a name of its own for P02, found 'agent 1', which is P01's",
        "event 4: expected a name of its own for P01, found 'Agent 1', which is P02's",
    ]
    league = fold(decode(line) for line in log.lines())
    assert list(league.players) == ["P01", "P02"]
