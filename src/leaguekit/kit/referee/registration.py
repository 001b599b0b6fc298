"""The registration of the referee, and whether it can be reached at its endpoint."""

from __future__ import annotations

from leaguekit.kit.answer_checks import came_in_time
from leaguekit.kit.checks import Area, Evidence
from leaguekit.kit.documented_game import GAME
from leaguekit.kit.field_checks import Field, ReceivedMessage, StartsWith, add_request_checks, envelope, recommended
from leaguekit.kit.referee.harness import RefereeHarness
from leaguekit.kit.rpc_checks import add_rpc_checks
from leaguekit.protocol import messages as m

REGISTER: Area[RefereeHarness] = Area("register", "Registration")
REACH: Area[RefereeHarness] = Area("reach", "Reaching the referee")
RPC: Area[RefereeHarness] = Area("rpc", "JSON-RPC 2.0")


@REGISTER.required("000-L0087", "001-L0098", "001-L0008")
async def comes(harness: RefereeHarness) -> Evidence:
    """The referee registers: it posts REFEREE_REGISTER_REQUEST to the manager's /mcp."""
    found = await harness.wait_for_registration()
    harness.messages["registration"] = [ReceivedMessage(harness.registration, {"sender": StartsWith("referee:")})]
    return found


_fields = add_request_checks(
    REGISTER,
    "registration",
    m.RefereeRegisterRequest,
    [
        *envelope(m.RefereeRegisterRequest, "referee: and a name", "001-L0105"),
        Field("referee_meta.display_name", "The referee gives its name, of 1 to 50 characters."),
        Field("referee_meta.version", "The referee states its version, three numbers with dots."),
        Field("referee_meta.game_types", "The referee lists the games that it can judge."),
        Field("referee_meta.contact_endpoint", "The referee says at which URL it listens."),
        *recommended(
            Field(
                "referee_meta.max_concurrent_matches",
                "The referee says how many matches it plays at once, from 1 to 10.",
                also=("001-L0116", "decision 17"),
            ),
            Field(
                "referee_meta.protocol_version",
                "The referee declares its protocol version.",
                instead=("003-L0270a", "decision 8"),
            ),
        ),
    ],
    needs=[comes],
    methods=("001-L0097",),
)


_endpoint = next(one for one in _fields if one.id.endswith("contact_endpoint"))


@REGISTER.required("000-L0145", "decision 16", needs=[comes])
async def even_odd(harness: RefereeHarness) -> Evidence:
    """The referee's games include even_odd."""
    games = harness.meta_value(harness.registration, "game_types")
    expected = f"{GAME.name} in referee_meta.game_types"
    # Another check finds a value that is not a list.
    return harness.registration.fail_if(isinstance(games, list) and GAME.name not in games, expected)


@REACH.required("000-L0126", "000-L0146", "decision 20", needs=[_endpoint])
async def ping(harness: RefereeHarness) -> Evidence:
    """The referee answers where it says it listens: any HTTP answer within 2 seconds."""
    return came_in_time(await harness.ping())


add_rpc_checks(RPC, "The referee", [ping], is_strict=False)
