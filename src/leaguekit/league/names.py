"""Display names of agents: which names are allowed, and which names are confusable.

A name is stored and displayed in the form that ``normalize`` returns. ``find_fault`` says why a name is rejected. A
name must have a visible character and no invisible one, no word of it may mix two alphabets, and it must not look like
an id or a role. Two names are confusable if they have one of their ``confusable_forms`` in common: they differ only in
case or accents, or their letters look the same.

The list of letters that look like Latin ones is short. Unicode's table of confusable characters has 6,000 rows. Most of
them cannot occur here: NFKC turns full-width, mathematical and circled letters into plain ones, other Latin letters are
recognised by their Unicode names, and alphabets do not mix within a word.
"""

from __future__ import annotations

import re
import unicodedata

from leaguekit.protocol.fields import DisplayName
from leaguekit.protocol.patterns import valid
from leaguekit.protocol.plain_text import INVISIBLE_CHARACTERS

# Written Hebrew has three marks on a letter, and hardly anything has more.
MAX_MARKS = 3
_REFUSED = {
    "Cc": "a control character",
    "Cf": "invisible",
    "Cs": "half a character",
    "Co": "for private use",
    "Cn": "not assigned to anything",
    "Zs": "an unusual blank",
    "Zl": "a line break",
    "Zp": "a line break",
}
# These select the presentation of an emoji. They do not change which emoji it is.
_PRESENTATION = {0xFE0E: None, 0xFE0F: None}
# Words in these scripts are commonly mixed with each other and with Latin letters.
_EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC")
_DIACRITICS = re.compile(r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_LATIN = re.compile(r"(?:LATIN|REGIONAL INDICATOR) (?:.*? )?([A-Z])(?: WITH |$)")
_LOOKS_LATIN = str.maketrans(
    # Greek, Cyrillic, Armenian, Cherokee, Lisu
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳϲαγικνορυω"
    "АВЕЅІЈКМНОРСТУХЬҮҺԌԚԜӀавеѕіјкмнорстухьүһԁԍԛԝѵгп"
    "ՏՍՕԼհոսօցզ"
    "ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᎽᏀᏃᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏴᏻ"
    "ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ",
    "ABEZHIKMNOPTYXCjcayikvopuw"
    "ABESIJKMHOPCTYXbYhGQWIabesijkmhopctyxbyhdgqwvrn"
    "SUOLhnuogq"
    "DRTiAJEWMHYGZbRWSVSLCPKdBG"
    "BPDTGKJCZFMNLSRVHWXYAEIOU",
)
# Characters that look alike: one stroke, one ring, or two letters that look like one.
_STROKES = str.maketrans({"I": "l", "1": "l", "|": "l", "0": "O", "m": "rn", "w": "vv"})
# Ids, senders, and the manager: case-folded, and in the form that depends on shapes (see ``confusable_forms``).
_RESERVED = re.compile(r"(?:p|ref)[0-9]{2,9}|league[ _-]?manager|(?:player|referee|league_manager):.*")
_DRAWN_RESERVED = re.compile(r" (?:(?:P|REF)[Ol2-9]{2,9}|league[ _-]?rnanager|(?:player|referee|league_rnanager):.*)")


def normalize(name: str) -> str:
    """A name as it is stored and displayed: in NFKC, with single blanks and no blanks around it."""
    return " ".join(unicodedata.normalize("NFKC", name.translate(_PRESENTATION)).split())


def find_fault(name: str) -> str | None:
    """What is wrong with a name as an agent sent it; None if the name is allowed."""
    for position, character in enumerate(name, 1):
        if (kind := _forbidden_kind(character)) is not None:
            return f"{_describe(character)} at character {position} is {kind}"
    normal = normalize(name)
    if not normal:
        return "it has no visible character"
    if not valid(DisplayName, normal):
        return f"written out (NFKC) it has {len(normal)} characters, which is too many"
    return _misplaced_mark(normal) or _mixed_word(normal) or _reserved(normal)


def confusable_forms(name: str) -> list[str]:
    """The forms of a name that no other name may have in common with it."""
    base = _DIACRITICS.sub("", unicodedata.normalize("NFKD", normalize(name)))
    drawn = _latin(base)
    # An I looks like an l only if case is kept. A blank distinguishes that form from the case-folded ones.
    forms = (drawn.casefold(), _latin(base.casefold()).casefold(), f" {drawn.translate(_STROKES)}")
    return list(dict.fromkeys(forms))


def _forbidden_kind(character: str) -> str | None:
    category = unicodedata.category(character)
    if category == "Zs" and unicodedata.normalize("NFKC", character) == " ":
        return None
    return _REFUSED.get(category) or ("invisible" if INVISIBLE_CHARACTERS.match(character) else None)


def _describe(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X} {name}".rstrip()


def _misplaced_mark(name: str) -> str | None:
    """Why a combining mark is not allowed: it has no letter before it, or there are too many on one letter."""
    marks = MAX_MARKS
    for position, character in enumerate(name, 1):
        if not unicodedata.category(character).startswith("M"):
            marks = MAX_MARKS if character == " " else 0
        elif marks == MAX_MARKS:
            why = f"there are at most {MAX_MARKS} marks on a letter, and none without one"
            return f"{_describe(character)} at character {position} is a mark too many: {why}"
        else:
            marks += 1
    return None


def _mixed_word(name: str) -> str | None:
    """Why a word is not allowed: it has letters of two alphabets."""
    first = ""
    for position, character in enumerate(name, 1):
        category = unicodedata.category(character)
        if category[0] not in "LM":
            first = ""
        elif category in ("Lu", "Ll", "Lt", "Lo") and _alphabet(character) not in _EAST_ASIAN:
            if first and _alphabet(character) != _alphabet(first):
                both = f"{_describe(character)} at character {position} is in one word with {_describe(first)}"
                return f"{both}: alphabets do not mix"
            first = character
    return None


def _reserved(name: str) -> str | None:
    """Why a name is not allowed: it looks like an id or a role. A name of letters only does not look like an id."""
    *folded, drawn = confusable_forms(name)
    is_drawn = _DRAWN_RESERVED.fullmatch(drawn) and (":" in name or "_" in name or any(map(str.isdecimal, name)))
    if is_drawn or any(map(_RESERVED.fullmatch, folded)):
        return (
            "it looks like an id or a role of the protocol, such as P01, league_manager or player:P01; choose another"
        )
    return None


def _alphabet(character: str) -> str:
    """The first word of a letter's Unicode name, such as LATIN; some rare ideographs have no name."""
    return unicodedata.name(character, "CJK").split(" ", 1)[0]


def _latin(text: str) -> str:
    """A text in which letters that look like Latin ones are replaced by these."""
    return text if text.isascii() else "".join(map(_latin_letter, text.translate(_LOOKS_LATIN)))


def _latin_letter(character: str) -> str:
    if character.isascii():
        return character
    name = unicodedata.name(character, "")
    if found := _LATIN.search(name):
        return found[1].lower() if "SMALL" in name else found[1]
    return str(unicodedata.decimal(character, character))
