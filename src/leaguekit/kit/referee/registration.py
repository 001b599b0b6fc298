"""How the referee registers, and whether it can be reached where it says it listens."""

from __future__ import annotations

from leaguekit.kit.agent_harness import PING_SECONDS
from leaguekit.kit.answer_checks import came_in_time
from leaguekit.kit.checks import Area, Evidence, Failed
from leaguekit.kit.incoming import Beginning, Came, Part, envelope, evidence, judged
from leaguekit.kit.referee.harness import GAME, RefereeScene
from leaguekit.kit.rpc_checks import letter
from leaguekit.protocol import messages as m
from leaguekit.protocol.methods import PING

REGISTER: Area[RefereeScene] = Area("register", "Registration")
REACH: Area[RefereeScene] = Area("reach", "Reaching the referee")
RPC: Area[RefereeScene] = Area("rpc", "JSON-RPC 2.0")


@REGISTER.required(
    "comes",
    "The referee registers: it posts REFEREE_REGISTER_REQUEST to the manager's /mcp.",
    "000-L0087",
    "001-L0098",
    "001-L0008",
)
async def comes(scene: RefereeScene) -> Evidence:
    expected = f"REFEREE_REGISTER_REQUEST posted to {scene.here} within {scene.terms.patience:g} s"
    arrived = await scene.registered()
    if arrived is None:
        raise scene.desk.nobody(expected)
    scene.told["registration"] = [
        Came(arrived, {"message_type": "REFEREE_REGISTER_REQUEST", "sender": Beginning("referee:")})
    ]
    return evidence(arrived, expected)


_fields = judged(
    REGISTER,
    "registration",
    m.RefereeRegisterRequest,
    [
        *envelope(
            m.RefereeRegisterRequest,
            "referee: and a name",
            ("001-L0106", "001-L0105", "001-L0107", "001-L0108", "001-L0109"),
        ),
        Part("referee_meta.display_name", "The referee gives its name, of 1 to 50 characters.", ("000-L0110",)),
        Part("referee_meta.version", "The referee states its version, three numbers with dots.", ("000-L0115",)),
        Part("referee_meta.game_types", "The referee lists the games that it can judge.", ("000-L0119",)),
        Part("referee_meta.contact_endpoint", "The referee says at which URL it listens.", ("000-L0124",)),
        Part(
            "referee_meta.max_concurrent_matches",
            "The referee says how many matches it plays at once, from 1 to 10.",
            ("000-L0129", "001-L0116", "decision 17"),
            is_required=False,
        ),
        Part(
            "referee_meta.protocol_version",
            "The referee declares its protocol version.",
            ("003-L0270a", "decision 8"),
            is_required=False,
        ),
    ],
    needs=[comes],
    methods=("001-L0097",),
)


_endpoint = next(one for one in _fields if one.id.endswith("contact_endpoint"))


@REGISTER.required("even_odd", "The referee's games include even_odd.", "000-L0145", "decision 16", needs=[comes])
async def even_odd(scene: RefereeScene) -> Evidence:
    games = scene.stated(scene.registration, "game_types")
    expected = f"{GAME} in referee_meta.game_types"
    # What is no list has a check of its own.
    if isinstance(games, list) and GAME not in games:
        raise Failed(evidence(scene.registration, expected))
    return evidence(scene.registration, expected)


@REACH.required(
    "ping",
    "The referee answers where it says it listens: any HTTP answer within 2 seconds.",
    "000-L0126",
    "000-L0146",
    "decision 20",
    needs=[_endpoint],
)
async def ping(scene: RefereeScene) -> Evidence:
    return came_in_time(await scene.line.call(scene.url, PING, {}, PING_SECONDS))


letter(RPC, "The referee", [ping], is_strict=False)
