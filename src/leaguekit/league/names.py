"""What agents may call themselves, and which names cannot be told apart.

A name is kept and shown as ``normal`` has it. ``fault`` says why one is refused: there must be something to see,
nothing that cannot be seen, and no word of two alphabets; and it must not look like an id or a role. Two names are
alike if they have one of their ``confusable_forms`` in common: they differ in case or accents only, or are drawn with letters
that look the same.

The list of letters that look like Latin ones is short. The official table of everything that looks like something has
6,000 rows, but most of it is stopped by other means here: NFKC turns full-width, mathematical and circled letters into
plain ones, other Latin letters are known by their Unicode names, and alphabets do not mix within a word.
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
# How an emoji is to be drawn: which emoji it is, nobody needs this to know.
_PRESENTATION = {0xFE0E: None, 0xFE0F: None}
# Words of these are mixed with each other and with Latin letters everywhere they are at home.
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
# One stroke, one ring; two letters that run into one.
_STROKES = str.maketrans({"I": "l", "1": "l", "|": "l", "0": "O", "m": "rn", "w": "vv"})
# Ids, senders, and the manager: without case, and as they are drawn (see ``confusable_forms``).
_RESERVED = re.compile(r"(?:p|ref)[0-9]{2,9}|league[ _-]?manager|(?:player|referee|league_manager):.*")
_DRAWN_RESERVED = re.compile(r" (?:(?:P|REF)[Ol2-9]{2,9}|league[ _-]?rnanager|(?:player|referee|league_rnanager):.*)")


def normal(name: str) -> str:
    """A name as it is kept and shown: NFKC, with single blanks and none around it."""
    return " ".join(unicodedata.normalize("NFKC", name.translate(_PRESENTATION)).split())


def fault(name: str) -> str | None:
    """What is wrong with a name as an agent sent it; None if it may be called that."""
    for place, sign in enumerate(name, 1):
        if (kind := _refused(sign)) is not None:
            return f"{_told(sign)} at character {place} is {kind}"
    shown = normal(name)
    if not shown:
        return "it has no visible character"
    if not valid(DisplayName, shown):
        return f"written out (NFKC) it has {len(shown)} characters, which is too many"
    return _loose_mark(shown) or _mixed_word(shown) or _reserved(shown)


def confusable_forms(name: str) -> list[str]:
    """What other names must not share with this one."""
    base = _DIACRITICS.sub("", unicodedata.normalize("NFKD", normal(name)))
    drawn = _latin(base)
    # Only with case does an I look like an l: that kind is told from the others by a blank before it.
    found = (drawn.casefold(), _latin(base.casefold()).casefold(), f" {drawn.translate(_STROKES)}")
    return list(dict.fromkeys(found))


def _refused(sign: str) -> str | None:
    category = unicodedata.category(sign)
    if category == "Zs" and unicodedata.normalize("NFKC", sign) == " ":
        return None
    return _REFUSED.get(category) or ("invisible" if INVISIBLE_CHARACTERS.match(sign) else None)


def _told(sign: str) -> str:
    name = unicodedata.name(sign, "")
    return f"U+{ord(sign):04X} {name}".rstrip()


def _loose_mark(name: str) -> str | None:
    """A mark that has no letter to stand on, or too much company."""
    marks = MAX_MARKS
    for place, sign in enumerate(name, 1):
        if not unicodedata.category(sign).startswith("M"):
            marks = MAX_MARKS if sign == " " else 0
        elif marks == MAX_MARKS:
            why = f"there are at most {MAX_MARKS} marks on a letter, and none without one"
            return f"{_told(sign)} at character {place} is a mark too many: {why}"
        else:
            marks += 1
    return None


def _mixed_word(name: str) -> str | None:
    """A letter of another alphabet than one before it in the same word."""
    first = ""
    for place, sign in enumerate(name, 1):
        category = unicodedata.category(sign)
        if category[0] not in "LM":
            first = ""
        elif category in ("Lu", "Ll", "Lt", "Lo") and _alphabet(sign) not in _EAST_ASIAN:
            if first and _alphabet(sign) != _alphabet(first):
                return f"{_told(sign)} at character {place} is in one word with {_told(first)}: alphabets do not mix"
            first = sign
    return None


def _reserved(name: str) -> str | None:
    """A name that others may take for an id or a role. One of letters only is no id, however it is drawn."""
    *folded, drawn = confusable_forms(name)
    is_drawn = _DRAWN_RESERVED.fullmatch(drawn) and (":" in name or "_" in name or any(map(str.isdecimal, name)))
    if is_drawn or any(map(_RESERVED.fullmatch, folded)):
        return (
            "it looks like an id or a role of the protocol, such as P01, league_manager or player:P01; choose another"
        )
    return None


def _alphabet(sign: str) -> str:
    """The first word of a letter's name, such as LATIN; some rare ideographs have none."""
    return unicodedata.name(sign, "CJK").split(" ", 1)[0]


def _latin(text: str) -> str:
    """A text with Latin letters wherever there are some that look like them."""
    return text if text.isascii() else "".join(map(_latin_letter, text.translate(_LOOKS_LATIN)))


def _latin_letter(sign: str) -> str:
    if sign.isascii():
        return sign
    name = unicodedata.name(sign, "")
    if found := _LATIN.search(name):
        return found[1].lower() if "SMALL" in name else found[1]
    return str(unicodedata.decimal(sign, sign))
