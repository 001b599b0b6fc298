"""The protocol at work: a message is built, sent, read, refused and explained. (Leagues are yet to come.)"""

from __future__ import annotations

from datetime import UTC, datetime

from leaguekit.protocol.errors import InvalidMessage
from leaguekit.protocol.explain import explain
from leaguekit.protocol.messages import ChooseParityResponse, GameInvitation, envelope
from leaguekit.protocol.reading import decode, encode

now = datetime.now(UTC)
invitation = GameInvitation(
    **envelope("referee:REF01", now, "conv-r1m1-001"),
    auth_token="drv-…",
    league_id="demo",
    round_id=1,
    match_id="R1M1",
    game_type="even_odd",
    role_in_match="PLAYER_A",
    opponent_id="P02",
    player_id="P01",
)
wire = encode(invitation)
print(f"A referee sends:\n  {wire.decode()}\n")
print(f"A player reads:\n  {decode(wire)}\n")

broken = wire.replace(b'"round_id":1', b'"round_id":"1"').replace(b"PLAYER_A", b"WHITE")
try:
    decode(broken)
except InvalidMessage as refusal:
    print("With two fields spoilt it is refused, by path and with the requirement:")
    print("\n".join(f"  {violation.code} {violation}" for violation in refusal.violations), "\n")

choice = ChooseParityResponse(
    **envelope("player:P01", now, "conv-r1m1-001"), match_id="R1M1", player_id="P01", parity_choice="Even"
)
print("And `league explain` says of a wrong choice:")
for part in explain(encode(choice)):
    print(f"  {part.what}\n" + "\n".join(f"  {violation.code} {violation}" for violation in part.wrong))
