"""How the legal moves may be written in an answer, and which of them a text or a JSON value is."""

from __future__ import annotations

import json
import re
from typing import Any

# Words of which the case does not matter: "Rock", "RAISE 20". A letter alone and "bxc3" are not such words.
_WORDS = re.compile(r"[^\W\d_]{3,}(?:[\s_-]+\w+)*")
# Coordinates, such as d4, K10 and E2E4. A chess move that begins with the letter of a piece does not have this form.
_COORDINATES = re.compile(r"(?:[a-z]\d{1,2})+[qrbn]?", re.IGNORECASE)
# Chess moves may be written with or without the sign of a check.
_CHESS = re.compile(r"(?:[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](?:=[QRBN])?|O-O(?:-O)?|0-0(?:-0)?)[+#]?")
_BRACKETS = str.maketrans("()", "[]")
# A move ends here. The move 4 is not in 44, 4.5, 4-2, 4/2 or 4:1.
# Chinese, Japanese and Korean have no spaces between words.
_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_END = rf"(?!{_LETTER}|[=+#%]|[.,:/-]{_LETTER})"
_START = rf"(?<!{_LETTER})(?<![+#%./-])(?<!\d[,:])"


class Spellings:
    """The legal moves of one question.

    ``pattern`` finds any of them in a text, the longest first. ``move`` says which one was found.
    """

    def __init__(self, options: list[Any]) -> None:
        self._by_json: dict[str, Any] = {}
        self._by_text: dict[str, list[Any]] = {}
        texts = [option for option in options if isinstance(option, str)]
        # In chess, B5 is not b5: it may be a move of the bishop.
        self.is_chess = any(_CHESS.fullmatch(text) and text[0].isupper() for text in texts)
        for option in options:
            if self._by_json.setdefault(_as_json(option), option) is option:
                for spelling in {_exact(option), self._loose(option)}:
                    self._by_text.setdefault(spelling, []).append(option)
        written = sorted(filter(None, map(_exact, self._by_json.values())), key=len, reverse=True)
        patterns = [self._pattern(text) for text in written]
        self.pattern = rf"{_START}(?P<move>{'|'.join(patterns) or '(?!)'}){_END}"

    def move(self, value: Any) -> list[Any]:
        """The legal move that a value is, in a list; empty if there is none, or if two are written like this."""
        if (key := _as_json(value)) in self._by_json:
            return [self._by_json[key]]
        found = self._by_text.get(_exact(value)) or self._by_text.get(self._loose(value), [])
        return found if len(found) == 1 else []

    def _loose(self, value: Any) -> str:
        """A text in which case does not matter where it never does, and a chess move without the sign of a check."""
        text = _exact(value)
        if self._ignores_case(text):
            return " ".join(re.split(r"[\s_-]+", text.lower()))
        return text.rstrip("+#").replace("0", "O") if _CHESS.fullmatch(text) else text

    def _pattern(self, text: str) -> str:
        if re.fullmatch(r"\[[^\[\]]*\]", text):
            inner = r"\s*,\s*".join(map(re.escape, text[1:-1].split(",")))
            return rf"[\[(]\s*{inner}\s*[\])]"
        if self._ignores_case(text):
            words = map(re.escape, re.split(r"[\s_-]+", text))
            return "(?i:" + r"[ \t_-]+".join(words) + ")"
        if _CHESS.fullmatch(text):
            return re.escape(text.rstrip("+#")).replace("O", "[O0]") + "[+#]*"
        return re.escape(text).replace(r"\ ", r"[ \t]+")

    def _ignores_case(self, text: str) -> bool:
        return bool(_WORDS.fullmatch(text) or (not self.is_chess and _COORDINATES.fullmatch(text)))


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _exact(value: Any) -> str:
    """A value as a text. A list is written in brackets, without spaces and quotes."""
    if not isinstance(value, str | list):
        return _as_json(value)
    text = value.strip() if isinstance(value, str) else _as_json(value)
    if re.fullmatch(r"[\[(].*[\])]", text, re.DOTALL):
        return re.sub(r"[\s\"']", "", text.translate(_BRACKETS))
    return text
