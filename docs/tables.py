"""The tables of protocol.md, checks.md, why.md and settings.md, made from the code, so that they cannot drift apart.

``python docs/tables.py`` rewrites each part between ``<!-- generated: NAME -->`` and ``<!-- end -->``. With
``--check`` it writes nothing, names what is stale, and exits with 1. NAME is a key of the page's table in ``PAGES``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from leaguekit.kit import manager, player, referee
from leaguekit.kit.checks import Area
from leaguekit.league.settings import CHANGEABLE, DECISION, LIMITS, Settings
from leaguekit.protocol.decoding import describe_schema, shorten_json
from leaguekit.protocol.errors import CATALOGUE, documented_number, rpc_number
from leaguekit.protocol.fields import REQUIREMENT
from leaguekit.protocol.messages import message_type
from leaguekit.protocol.methods import METHODS
from leaguekit.protocol.schemas import Schema, message_schemas

HERE = Path(__file__).parent
# The requirements are kept with the tests.
sys.path.insert(0, str(HERE.parent))

from tests.requirements import DOCUMENTS, OTHERWISE, counts  # noqa: E402

Rows = Iterator[tuple[str, ...]]
Tables = dict[str, Callable[[], str]]
SECTION = re.compile(r"(<!-- generated: (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
# Settings whose default is made for each league, or depends on another setting.
MADE = ("league_id", "retry_seconds", "seed_hex")
ENVELOPE = ("message_type", "protocol", "sender", "timestamp", "conversation_id", "auth_token")


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    lines = [list(heads), *([str(cell).replace("|", r"\|") for cell in row] for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def message(name: str) -> str:
    """The fields that a message has beside the envelope, or that mean something else in it."""
    root = message_schemas()[name]
    own = {key: field for key, field in root["properties"].items() if key not in ENVELOPE or "anyOf" in field}
    return table(("field", "value", "needed", "meaning", "source"), _rows(root, root | {"properties": own}, "", {}))


def _rows(root: Schema, schema: Schema, prefix: str, seen: dict[str, str]) -> Rows:
    needed = dict.fromkeys(schema.get("required", ()), "yes") | _conditions(schema)
    for name, field in schema["properties"].items():
        about = (needed.get(name, "no"), field.get("description", ""), field.get(REQUIREMENT, ""))
        yield from _field(root, field, f"{prefix}{name}", seen, *about)


def _field(root: Schema, field: Schema, path: str, seen: dict[str, str], *about: str) -> Rows:
    """A field, and its parts: in an object, in a list (``[]``), under the keys of a map (``{}``)."""
    names = [option["$ref"].rpartition("/")[2] for option in field.get("anyOf", [field]) if "$ref" in option]
    same = "".join(f", as `{seen[name]}`" for name in names if name in seen)
    most = f", at most {field['maxItems']}" if "maxItems" in field else ""
    keys = " with player ids as keys" if "propertyNames" in field else ""
    if any(about) or not names or same:
        yield f"`{path}`", f"{describe_schema(field)}{same}{most}{keys}", *about
    for name in names:
        if seen.setdefault(name, path) == path:
            yield from _rows(root, root["$defs"][name], f"{path}.", seen)
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if inner := field.get(key):
            yield from _field(root, inner, f"{path}{mark}", seen, "", "", "")


def _conditions(schema: Schema) -> dict[str, str]:
    """Fields that are needed because of another one: when it has a value, or when it is absent."""
    needed = {}
    for condition in schema.get("allOf", ()):
        when = ""
        if "if" in condition:
            ((field, value),) = condition["if"]["properties"].items()
            when = f" when `{field}` is {shorten_json(value['const'])}"
        then = condition.get("then", condition)
        names = [option["required"][0] for option in then.get("anyOf", [then])]
        for name in names:
            others = " or ".join(f"`{other}`" for other in names if other != name)
            needed[name] = f"{f'this or {others}' if others else 'yes,'}{when}"
    return needed


def envelope() -> str:
    request, answer = message_schemas()["LEAGUE_ERROR"], message_schemas()["GAME_OVER_ACK"]
    rows = []
    for name in ENVELOPE:
        field = request["properties"][name]
        value = "one of the message types below" if name == "message_type" else describe_schema(field)
        needed = ("yes" if name in schema["required"] else "no" for schema in (request, answer))
        rows.append((f"`{name}`", value, *needed, field.get("description", "What the message is")))
    return table(("field", "value", "in a request", "in an answer", "meaning"), rows)


def methods() -> str:
    rows = []
    for one in METHODS:
        others = ", ".join(f"`{name}`" for name in one.names if name != one.name)
        carried = (message_type(one.request), message_type(one.answer))
        rows.append((f"`{one.name}`", others, *carried, ", ".join(one.receivers), f"{one.seconds:g} s"))
    return table(("method", "also accepted", "params", "result", "receiver", "time limit"), rows)


def errors() -> str:
    rows = (
        (code, fault.name, fault.severity, "yes" if fault.retryable else "no", fault.sentence, fault.remedy)
        for code, fault in CATALOGUE.items()
    )
    return table(("code", "name", "severity", "retryable", "what is wrong", "what to do"), rows)


def numbers() -> str:
    """Malformed requests have the standard numbers under every method; other causes have document 001's."""
    rows: dict[tuple[int, str, str], list[str]] = {}
    for code, fault in CATALOGUE.items():
        if (row := rpc_number(None, code))[0] < 0:
            rows[*row, f"{code} {fault.name}"] = ["any"]
        for one in METHODS:
            if documented_number(one.name, code) is not None:
                rows.setdefault((*rpc_number(one.name, code), f"{code} {fault.name}"), []).append(f"`{one.name}`")
    return table(("number", "text", "cause", "methods"), ((*row, ", ".join(rows[row])) for row in sorted(rows)))


def checks(areas: Iterable[Area[Any]]) -> str:
    """The checks of one kind of agent, in the order in which they are made."""
    parts = []
    for area in areas:
        rows = []
        for check in area.checks:
            kind = f"{'required' if check.is_required else 'recommended'}{', with `--full`' if check.full else ''}"
            needs = ", ".join(f"`{need.id}`" for need in check.needs)
            rows.append((f"`{check.id}`", check.sentence, kind, needs, ", ".join(check.requirements)))
        heads = ("check", "sentence", "kind", "rests on", "source")
        parts.append(f"### {area.title}\n\n{table(heads, rows)}")
    return "\n".join(parts)


def requirements() -> str:
    """How many requirements of each document are in each state."""
    rows = [(document.number, *counts(document)) for document in DOCUMENTS]
    rows.append(("all", *(sum(numbers) for numbers in zip(*(row[1:] for row in rows), strict=True))))
    return table(("document", "proven", "settled otherwise", "still to come"), rows)


def otherwise() -> str:
    """The requirements that are settled otherwise, by decision."""
    rows: dict[int, list[str]] = {}
    for name, row in OTHERWISE.items():
        rows.setdefault(row.decision or 0, []).append(name)
    return table(("decision", "settled otherwise"), ((number, ", ".join(rows[number])) for number in sorted(rows)))


def settings() -> str:
    """Every setting of a league: its key in league.toml, and in the column before the last whether it may change."""
    schema = msgspec.json.schema(Settings)["$defs"]["Settings"]
    rows = []
    for name, field in schema["properties"].items():
        default = f"`{json.dumps(field['default'])}`" if "default" in field and name not in MADE else ""
        value = describe_schema(field)
        if name in LIMITS:
            low, high = LIMITS[name]
            value = f"{value.partition(' of ')[0]} from {low:g} to {high:,}"
        if "items" in field:
            value = f"a list of {describe_schema(field.get('prefixItems', [field['items']])[0])}"
        may_change = "yes" if name in CHANGEABLE else "no"
        rows.append((f"`{name}`", value, default, field["description"], may_change, field.get(DECISION, "")))
    return table(("key", "value", "default", "meaning", "`league set`", "decision"), rows)


PROTOCOL: Tables = {made.__name__: made for made in (envelope, methods, errors, numbers)}
PROTOCOL |= {name: partial(message, name) for name in message_schemas()}
CHECKS: Tables = {
    "player": partial(checks, player.AREAS),
    "referee": partial(checks, referee.AREAS),
    "manager": partial(checks, manager.AREAS),
}
WHY: Tables = {"requirements": requirements, "otherwise": otherwise}
PAGES: dict[str, Tables] = {
    "protocol.md": PROTOCOL,
    "checks.md": CHECKS,
    "why.md": WHY,
    "settings.md": {"settings": settings},
}


def sections(text: str) -> dict[str, str]:
    """The text between each pair of markers."""
    return {found[2]: found[3] for found in SECTION.finditer(text)}


def render(text: str, tables: Tables) -> str:
    """The page with every table made again. Raises ValueError if a table is missing from it, or unknown."""
    if wrong := sections(text).keys() ^ tables.keys():
        raise ValueError(f"missing or unknown sections: {', '.join(sorted(wrong))}")
    return SECTION.sub(lambda found: found[1] + tables[found[2]]() + found[4], text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the tables of the reference from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a table is stale")
    check = parser.parse_args().check
    stale = []
    for name, tables in PAGES.items():
        path = HERE / name
        page = path.read_text(encoding="utf-8")
        fresh = render(page, tables)
        if not check:
            path.write_text(fresh, encoding="utf-8")
            continue
        made = sections(fresh)
        stale += [f"docs/{name}: section {part}" for part, content in sections(page).items() if content != made[part]]
    for one in stale:
        print(f"{one} is stale; run python docs/tables.py")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
