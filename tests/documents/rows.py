"""How a document's requirements are written down: one row a requirement.

A row's id is its document and line, ``000-L0110``; where one line asks for several things a letter follows,
``000-L0110b``. Field rows also carry the rule as a JSON Schema fragment, taken from the document alone and not
from our Structs: the two are written independently, so that each can catch the other's mistakes.

Paths: ``referee_meta.display_name`` (nested), ``matches[].match_id`` (in each element), ``score{}`` (each value of
a map whose keys are ids).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Rule = dict[str, Any]
Kind = Literal["field", "criterion", "rule", "error", "effect", "state", "limit"]

INT32 = 2**31 - 1


def text(minimum: int = 0, maximum: int | None = None) -> Rule:
    return {"type": "string", "minLength": minimum} | ({"maxLength": maximum} if maximum is not None else {})


def matching(pattern: str) -> Rule:
    return {"type": "string", "pattern": pattern}


def integer(minimum: int = -INT32 - 1, maximum: int = INT32) -> Rule:
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def number() -> Rule:
    return {"type": "number"}


def boolean() -> Rule:
    return {"type": "boolean"}


def one_of(*values: Any) -> Rule:
    return {"enum": list(values)}


def array(minimum: int = 0, maximum: int | None = None, of: Rule | None = None) -> Rule:
    return (
        {"type": "array", "minItems": minimum}
        | ({"maxItems": maximum} if maximum is not None else {})
        | ({"items": of} if of is not None else {})
    )


def obj() -> Rule:
    return {"type": "object"}


def nullable(rule: Rule) -> Rule:
    return {"anyOf": [rule, {"type": "null"}]}


TIMESTAMP = matching(r"^\d{4}-?\d{2}-?\d{2}T\d{2}:?\d{2}:?\d{2}(\.\d+)?(Z|\+00:00)$")
URL = matching(r"^https?://\S+$")
SEMVER = matching(r"^\d+\.\d+\.\d+")
MATCH_ID = matching(r"^R[1-9]\d*M[1-9]\d*$")
PLAYER_ID = matching(r"^P\d{2,}$")
REFEREE_ID = matching(r"^REF\d{2,}$")
SENDER = matching(r"^(league_manager|(league_manager|referee|player):.+)$")
ERROR_CODE = matching(r"^E\d{3}$")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing a document asks for. ``decision`` is the number in docs/why.md that settles a contradiction.

    ``is_otherwise``: by that decision we do something else than the sentence says.
    """

    id: str
    kind: Kind
    sentence: str
    decision: int | None = None
    is_otherwise: bool = False
    message: str | None = None
    path: str | None = None
    rule: Rule | None = None
    required: bool = False


class Document:
    """Collects the rows of one document, in the order of its lines."""

    def __init__(self, number: str) -> None:
        self.number = number
        self.rows: list[Requirement] = []

    def _id(self, line: int, letter: str) -> str:
        return f"{self.number}-L{line:04d}{letter}"

    def field(
        self,
        line: int,
        message: str,
        path: str,
        sentence: str,
        rule: Rule,
        *,
        required: bool = True,
        decision: int | None = None,
        otherwise: int | None = None,
        letter: str = "",
    ) -> None:
        """A field of a message: its type, range, allowed values, and whether it must be there.

        ``otherwise``: the number of the decision by which we do something else.
        """
        self.rows.append(
            Requirement(
                self._id(line, letter),
                "field",
                sentence,
                decision if otherwise is None else otherwise,
                otherwise is not None,
                message,
                path,
                rule,
                required,
            )
        )

    def _plain(
        self, kind: Kind, line: int, sentence: str, decision: int | None, otherwise: int | None, letter: str
    ) -> None:
        settled_by = decision if otherwise is None else otherwise
        self.rows.append(Requirement(self._id(line, letter), kind, sentence, settled_by, otherwise is not None))

    def criterion(
        self, line: int, sentence: str, *, decision: int | None = None, otherwise: int | None = None, letter: str = ""
    ) -> None:
        """An acceptance criterion that the document marks as one."""
        self._plain("criterion", line, sentence, decision, otherwise, letter)

    def rule(
        self, line: int, sentence: str, *, decision: int | None = None, otherwise: int | None = None, letter: str = ""
    ) -> None:
        """A rule of behaviour or of form that does not belong to a single field."""
        self._plain("rule", line, sentence, decision, otherwise, letter)

    def error(
        self, line: int, sentence: str, *, decision: int | None = None, otherwise: int | None = None, letter: str = ""
    ) -> None:
        """An error case: a cause and the code that answers it."""
        self._plain("error", line, sentence, decision, otherwise, letter)

    def effect(
        self, line: int, sentence: str, *, decision: int | None = None, otherwise: int | None = None, letter: str = ""
    ) -> None:
        """A side effect on either side."""
        self._plain("effect", line, sentence, decision, otherwise, letter)

    def state(
        self, line: int, sentence: str, *, decision: int | None = None, otherwise: int | None = None, letter: str = ""
    ) -> None:
        """A state or a transition."""
        self._plain("state", line, sentence, decision, otherwise, letter)

    def limit(
        self, line: int, sentence: str, *, decision: int | None = None, otherwise: int | None = None, letter: str = ""
    ) -> None:
        """A time limit, a retry policy, a size limit or a performance goal."""
        self._plain("limit", line, sentence, decision, otherwise, letter)
