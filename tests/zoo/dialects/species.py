"""The inhabitants: the ten that can be hosted together, one for each trait alone, and those whom nobody can host."""

from __future__ import annotations

from typing import NamedTuple

from tests.zoo.dialects.traits import FORMS, HOPELESS, HOSTABLE, REFUSALS, TRAITS


class Species(NamedTuple):
    """A kind of agent: its traits, and the id that it insists on if it has one of its own."""

    name: str
    traits: frozenset[str]
    wants: str = ""

    @property
    def game_type(self) -> str:
        return "tic_tac_toe" if "envelope" in self.traits else "even_odd"

    @property
    def notes(self) -> frozenset[str]:
        """The rules (traits.RULES) that a host should have noted once it played a whole match."""
        return frozenset(rule for trait in self.traits for rule in TRAITS[trait].notes) - self._excused

    @property
    def _excused(self) -> frozenset[str]:
        # An agent that knows 001's methods besides another form never has to be called in the other.
        return frozenset({"request-form"} if self.traits & {"rpc", "rpc-choose", "rpc-parity"} else ())


def _species(name: str, traits: str, wants: str = "") -> Species:
    return Species(name, frozenset(traits.split()), wants)


# The ten: together every hostable trait but the tic-tac-toe player's, and as often as the field has it.
TEN = {
    one.name: one
    for one in (
        _species(
            "heron",
            "rpc-choose own-id opens-late insists-integer-id insists-timestamp error-null refuses-404 sender-wrong "
            "joins-by-accepted no-arrival_timestamp times-milliseconds",
            "P31",
        ),
        _species(
            "ibis",
            "rpc-choose own-id opens-late wants-REGISTERED insists-integer-id other-ids refuses-500 refuses-in-text "
            "token-missing no-conversation_id knows-half-the-broadcasts",
            "P32",
        ),
        _species(
            "jackal",
            "rpc-choose registers-league_register registers-without-envelope insists-envelope insists-token "
            "writes-type refuses-error chooses-in-choice player_id-missing stuck-until-game-over times-microseconds",
        ),
        _species(
            "kestrel",
            "rpc-parity own-id opens-late insists-senders refuses-401 token-echoed refuses-second-invitation "
            "times-offset",
            "P34",
        ),
        _species(
            "lemur",
            "rpc type registers-type joins-later refuses-422 sender-missing exits-on-LEAGUE_COMPLETED",
        ),
        _species(
            "marten",
            "rpc type own-id opens-late joins-at-fixed-port stalls-without-8001 player_id-wrong",
            "P36",
        ),
        _species(
            "newt",
            "type registers-bare-meta opens-late answers-request joins-by-status insists-player_id "
            "insists-league-and-round refuses-unknown token-wrong knows-half-the-broadcasts",
        ),
        _species(
            "otter",
            "type never-registers own-id answers-bare joins-by-ack insists-conversation_id refuses-400 "
            "player_id-missing knows-half-the-broadcasts",
            "P38",
        ),
        _species(
            "puffin",
            "message type registers-message own-id answers-structured no-accept insists-nested sender-wrong "
            "times-compact knows-half-the-broadcasts",
            "P39",
        ),
        _species("quail", "tools registers-tools answers-text refuses-ok joins-by-accept-alone"),
    )
}


def _alone(trait: str) -> Species:
    """A proper agent but for one trait; how it refuses shows where the first form that is tried is not its own."""
    form = trait if trait in FORMS else "type" if trait in REFUSALS else "rpc"
    return Species(f"only-{trait}", frozenset({trait, form}), "P41" if trait == "own-id" else "")


# One for each trait; the first, only-rpc, has nothing wrong with it.
ALONE = {one.name: one for one in (_alone(trait) for trait in HOSTABLE if trait != "envelope")}

TIC_TAC_TOE = _species("raven", "envelope registers-envelope")
NOBODY_HOSTS = {one.name: one for one in (_alone(trait) for trait in HOPELESS)}

ZOO = TEN | ALONE | {TIC_TAC_TOE.name: TIC_TAC_TOE} | NOBODY_HOSTS
