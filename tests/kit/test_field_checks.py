"""Checks of fields cite the requirements that the Structs cite."""

from __future__ import annotations

import pytest

from leaguekit.kit.checks import Area, Evidence
from leaguekit.kit.field_checks import Field, add_field_check, envelope, named, recommended, requirement_of
from leaguekit.protocol import messages as m


@pytest.mark.parametrize(
    ("kind", "path", "requirement"),
    [
        (m.GameOver, "match_id", "000-L0699"),
        (m.GameOver, "game_result.status", "000-L0703"),
        (m.RoundAnnouncement, "matches[].referee_endpoint", "000-L0381"),
        (m.ChooseParityCall, "context.your_standings.wins", "000-L0785"),
    ],
)
def test_the_requirement_of_a_field_is_that_of_the_struct(kind: type[m.Message], path: str, requirement: str) -> None:
    assert requirement_of(kind, path) == requirement


def test_an_unknown_field_is_a_mistake_in_the_table() -> None:
    with pytest.raises(KeyError):
        requirement_of(m.GameOver, "game_result.stature")


async def _pass(_harness: None) -> Evidence:
    return Evidence()


def test_a_field_may_add_requirements_or_replace_the_one_of_the_struct() -> None:
    area: Area[None] = Area("over", "The end")
    fields = [
        *named("GAME_OVER", "match_id"),
        *recommended(Field("game_type", "It names the game.", also=("decision 1",))),
        Field("game_result.status", "It has a status.", instead=("decision 2",)),
    ]
    checks = [add_field_check(area, m.GameOver, field, [], _pass) for field in fields]
    assert [(check.id, check.sentence, check.requirements, check.is_required) for check in checks] == [
        ("over.match_id", "GAME_OVER names the match.", ("000-L0699",), True),
        ("over.game_type", "It names the game.", ("000-L0700", "decision 1"), False),
        ("over.game_result.status", "It has a status.", ("decision 2",), True),
    ]


def test_the_envelope_is_in_successive_lines_of_document_001() -> None:
    fields = {field.path: field.instead[0] for field in envelope(m.GameOver, "a referee", "001-L1211", has_token=True)}
    assert fields == {
        "message_type": "001-L1212",
        "protocol": "001-L1211",
        "sender": "001-L1213",
        "timestamp": "001-L1214",
        "conversation_id": "001-L1215",
        "auth_token": "001-L1216",
    }


def test_the_envelope_of_our_own_message_has_one_source() -> None:
    fields = envelope(m.MatchAssignment, "league_manager", "decision 22")
    assert {field.instead[0] for field in fields} == {"decision 22"}
    assert "auth_token" not in {field.path for field in fields}
