"""Finds the sentences of an answer in which a model states its move, such as "I play e4." or "Final answer: e4".

A move that is only mentioned does not count: models name many moves before they choose. A sentence with a condition, a
negation, an alternative, a question, or the words of somebody else does not count either. If in doubt, a sentence does
not count, because the model can be asked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from leaguekit.player.llm.spellings import Spellings

# In a longer sentence no statement is searched for.
MAX_SENTENCE = 400


class Statement(NamedTuple):
    """A place where a move is stated. ``moves`` has no move if it is not legal, or not one of the legal moves alone.

    ``is_later``: it states a move of a later turn.
    """

    start: int
    end: int
    moves: list[Any]
    is_final: bool = False
    is_later: bool = False


# What may stand between the verb and the move.
_FILLER = (
    r"(?:\s|:|：|\b(?:my|the|a|an|it|this|disc|disk|piece|mark|token|stone|cell|square|position|spot|field|column|col"
    r"|slot|move|number|x|in|into|at|on|with|for|to|now|here|there|den|das|die|der|Feld|Spalte|auf|le|la|les|"
    r"case|colonne|coup|en|el|casilla|columna|una|un|o|casa|coluna|vak|kolom|op|de|het|"
    r"第)\b)*"
)
_VERBS = (
    r"play|use|choose|pick|select|take|throw|go with|go for|drop|place|put|mark|opt for|settle on|start with|"
    r"begin with|bid|answer"
)
_GERUNDS = r"playing|choosing|picking|selecting|taking|throwing|going with|going for|dropping|placing|opting for"
_ADVERBS = r"(?:\s+(?:therefore|thus|hence|now|hereby|simply|just|also|will|shall|(?:have )?decided? to))*"
_I = rf"\bI(?:(?:'ll)?{_ADVERBS}\s+(?:{_VERBS})|(?:'m| am){_ADVERBS}\s+(?:going to (?:{_VERBS})|{_GERUNDS}))\b"
_LET_US = rf"\b(?:let's|let us|let me|I will|I'll) (?:{_VERBS})\b"
_ICH = r"\bich (?:spiele|wähle|nehme|setze|ziehe|werfe|lege)\b"
_JE = r"\bje (?:joue|choisis|prends|place|lance|opte pour|vais jouer|vais choisir)\b"
_YO = r"\b(?:yo )?(?:juego|elijo|escojo|tomo|coloco|muevo|voy con|lanzo)\b"
_EU = r"\b(?:eu )?(?:jogo|escolho|coloco|movo|vou jogar|vou de|vou com)\b"
_IK = r"\bik (?:speel|kies|neem|ga voor)\b"
_CHINESE = r"我(?:选择|選擇|选|出|下|走)"
_HEBREW = r"\bאני (?:בוחר|בוחרת|משחק|משחקת)\b"
_STATED = rf"{_I}|{_LET_US}|{_ICH}|{_JE}|{_YO}|{_EU}|{_IK}|{_CHINESE}|{_HEBREW}"

_NOUNS = (
    r"move|answer|choice|decision|action|play|pick|selection|response|throw|coup|정답|选择|선택|"
    r"मेरी चाल"
)
_OWN = r"my|the|our|here(?: is|'s) my|mein|mon|ma|mi|meu|我的|私の"
_RANKS = r"best|real|actual|true|current|intended|chosen|selected|optimal|recommended|next|own|legal"
_FINAL = r"final|finale|definitiva|definitivo|最终"
_LABEL = (
    rf"(?:(?:{_OWN})\s*)?(?:(?P<final>{_FINAL})\s+|(?:{_RANKS})\s+)*(?:{_NOUNS})"
    rf"(?:\s+(?P<final_after>{_FINAL}))?"
    r"(?: I (?:choose|play|make|pick))?"
    rf"(?: (?:for|in|on) (?:this|the current|the) (?:round|turn|match|game|move))?"
    r"\s*(?::|：|=|->|→|\b(?:is|ist|est|es)\b|是|は)"
)
# A label, an instruction, or a statement without a pronoun counts only at the beginning of a clause.
_CLAUSE = (
    r"(?:^|(?<=[,;:—–，；：(])|(?<= - ))\s*"
    r"(?:(?:so|and so|therefore|thus|hence|ok|okay|well|now|finally|here|instead|"
    r"also|but|donc|así que|portanto|dus|所以)\b[\s,]*)*"
)
_IMPERATIVE = (
    rf"^\s*(?:(?:so|therefore|thus|hence|ok|okay|finally|conclusion)\b[\s,:]*)?(?:(?:{_VERBS})|(?:{_GERUNDS}))\b"
)
_CONCLUSION = r"^\s*(?:so|therefore|thus|hence|conclusion|verdict)(?=:)"
# A verb after the move.
_AFTER = (
    r"\s*(?:it is$|を選びます|を選択します|にします|を指します|です$|"
    r"(?:을|를)?\s*(?:선택합니다|선택하겠습니다|두겠습니다|내겠습니다)|"
    r"(?:'\S{1,3})?\s+(?:seçiyorum|oynuyorum)|\s*चुनत[ाी] हूँ)"
)

# With one of these words before a move, a sentence does not state that the move is made.
_CONDITIONS = re.compile(
    r"\b(?:if|when|whenever|unless|suppos\w+|assum\w+|imagine|pretend|after|before|"
    r"once (?:I|he|she|it|they|the)|until|whether|example|e\.g|"
    r"format|says?|said|saying|tells?|told|claims?|claimed|wants?|wanted|asks?|asked|orders?|ordered|writes?|wrote|"
    r"thinks|believes|expects|hopes|predicts?|false|untrue|true|pretends|name|named|reads?|wish|why|instead of|"
    r"how many|suggests?|recommends?|try|trying|evaluate|rather than|such as|like|"
    r"(?:match|round|turn|game)\s+\d+(?=\s*[:—–-])|option|plan|scenario|variation|line|idea|candidates?|alternative\w*|consider|lie|myth|joke|mistake|"
    r"blunder|bad|worst|wrong|losing|that$|that\s+$|opponent's|his|her|their|your|"
    r"wenn|falls|würde|sagt|si|se|quand|cuando|quando|"
    r"als|eğer|(?:do|does|can|must|shall)(?=\s+$)|"
    r"(?:he|she|they|it|opponent|white|black|you|who) (?:plays?|moves?|responds?|replies|answers?))\b|"
    r"如果|若|假如|もし|만약|\bإذا|\bאם\b|अगर",
    re.IGNORECASE,
)
_NEGATIONS = re.compile(
    r"n't\b|\b(?:not|never|no|cannot|nor|neither|without|avoid|avoiding|refuse|hardly|rarely|would|could|might|may|"
    r"should|perhaps|maybe|probably|possibly|almost|nearly|tempted|then|later|next|last|previous|previously|usually|"
    r"always|often|nicht|keine?n?|nie|niemals|vielleicht|ne|pas|jamais|non|não|nunca|jamás|talvez|quizás|"
    r"niet|geen|nooit|misschien|nie)\b|n'|不|没|别|ない|않|못|"
    r"\b(?:لا|لن|ليس)\b|\b(?:לא|אל|אולי)\b|नहीं|मत",
    re.IGNORECASE,
)
# The other player as a subject.
_OTHER_SIDE = r"(?:he|she|they|(?:(?:my|the) )?opponent|white|black|[XO])"
# With one of these words after a move, a sentence does not state that this move is made, or names another one, too.
_DOUBTS = re.compile(
    r"\b(?:or|if|unless|but|except|would|could|might|although|though|however|only when|next (?:turn|time|move|round)|"
    r"perhaps|maybe|probably|as a (?:fallback|backup|last resort|decoy|bluff|joke)|"
    r"for (?:(?:my|the|an|your) (?:opponent|enemy|rival)|him|her|them|you|white|black|[XO])|"
    r"oder|wenn|falls|aber|ou|mais|si|pero|mas|se|ma|als|maar|"
    r"is (?:not|wrong|bad|a mistake|illegal|false)|loses|lost|fails|was|(?:and|to) (?:see|check|verify))\b|"
    rf"[,;]\s+(?:and |then )?{_OTHER_SIDE} \w|"
    r"或|还是|但|または|か、|하지만|또는|\bאו\b|\bאבל\b|\bأو\b",
    re.IGNORECASE,
)
# Words after a move in its clause, by which it is a habit, or the past or the future.
_HABITS = re.compile(
    r"\b(?:later|last|always|usually|normally|sometimes|often|every|previous\w*|next|again|immer|oft|toujours|siempre|"
    r"sempre|altijd)\b",
    re.IGNORECASE,
)
# A move may be followed by these. With another word it may be part of something else: "I take 2 steps".
_FOLLOWED_BY = re.compile(
    r"\s*(?:$|[.,;:!)\]。，；：！、)]|[—–(]|- |\b(?:because|since|as (?:it|this|that|they|he|she|I|we|there)|so|"
    r"to(?! (?:\d|be\b))|for(?! granted| the (?:analysis|sake))|over|which|and|in order|here|now|"
    r"this (?:turn|time|round)|with|where|ponder|square|cell|column|spot|weil|denn|da|um|car|parce|pour|afin|porque|"
    r"para|ya que|pois|want|omdat|om te|çünkü)\b|"
    r"因为|以|来|，|لأن|כי)",
    re.IGNORECASE,
)
# The same for a move that is a verb itself: "I check the board", "I cooperate with your request".
_VERB_FOLLOWED_BY = re.compile(
    r"\s*(?:$|[.,;:!)\]。，；：！、)]|[—–(]|- |\b(?:because|since|now|here|this (?:turn|time|round)|in order)\b)",
    re.IGNORECASE,
)
# Before or after an object, words that say that it is not the answer to this question.
_ABOUT_ANOTHER = re.compile(
    rf"\b(?:examples?|previous(?:ly)?|earlier|last (?:move|answer|choice|response)|opponent's|"
    rf"{_OTHER_SIDE} (?:will |would |may |might )?(?:plays?|answers?|sends?|chooses?|says?))\b[^:.,;!]*[:,(]?$",
    re.IGNORECASE,
)
_PREDICATE = re.compile(r"[ \t`*,)]*(?:is|was|has|had|would|could|might|may|will|loses|fails)\b", re.IGNORECASE)
_FENCE_START = re.compile(r"```\w*\s*$")
_CONTINUED = re.compile(r"[ \t`*]*[^\W\d_]")
_LINK = r"\s*(?:[,;/&]|->|→|\b(?:and|then|and then|und|et|y|e|en)\b|和)?\s*"
# By these words the text after a statement takes it back.
_REPLY = re.compile(
    rf"(?:^|[.!\n])\s*(?:then |and |but )?{_OTHER_SIDE} (?:then |will |can |could |would )?"
    r"(?:plays?|repl(?:y|ies)|responds?|answers?|takes?|blocks?|wins?|drops?|places?)\b|\bI lose\b|"
    r"\b(?:that|this|it) (?:then )?(?:loses|fails)\b",
    re.IGNORECASE,
)
_REVISIONS = re.compile(
    r"\b(?:wait|actually|on second thoughts?|second thoughts?|hmm+|scratch that|correction|nope|sorry|"
    r"chang(?:e|ed|ing) my mind|instead|reconsider\w*|never ?mind|kidding|joking|jk|lie|lied|lying|mistake|mistaken|"
    r"oops|whoops|disregard|ignore (?:that|this|it|the above|my)|take (?:that|it) back|rather|hold on|edit|"
    r"not (?:legal|possible|allowed|available|my|really|what|the)|illegal|taken|occupied|full|cannot|can't|impossible|"
    r"wrong|strike that|I mean|p\.\s?s|revis\w+|retract\w*|false|not true|opposite|unless|"
    r"warte|doch|falsch|moment|attends|attendez|pardon|espera|perdón|mejor|espere|aspetta|anzi|wacht|"
    r"подожди|стоп|нет|хотя|czekaj|vänta)\b|\b(?:no|non|nein|nee)\s*[,.!:;—–-]|,\s*(?:er|erm|uh|um)\s*,|(?m:^\W*not\W*$)|"
    r"等等|不对|やっぱり|待って|아니|\bרגע\b|\bבעצם\b|\bلا\b|انتظر",
    re.IGNORECASE,
)
# A further token with a digit is another move, or a part of this one.
_NEXT_TOKEN = re.compile(rf"{_LINK}[^\W\d_]{{0,2}}\d")
_CHOICE = re.compile(r"\b(?:moves?|choices?|options?|choose|chooses|pick|picks|play|plays)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:[^\n.!?。！？।]|[.!?](?!\s|$|[\"')\]*]))+[.!?。！？।]*")
_LATER = re.compile(
    r"\b(?:then|next|later|afterwards|dann|danach|ensuite|puis|después|luego|depois|dan|daarna)\b",
    re.IGNORECASE,
)
_CLAUSE_ENDS = re.compile(r"[,;:—–，；：]|\s-\s")
_QUOTED = re.compile(
    r"\"([^\"\n]{0,300})\"|“([^”\n]{0,300})”|„([^“”\n]{0,300})[“”]|«\s*([^»\n]{0,300}?)\s*»|「([^」\n]{0,300})」|『([^』\n]{0,300})』"
)
_MARKED_FINAL = re.compile(
    r"\\boxed\{(?:\\text\{)?([^{}]*)\}?\}|<(answer|move|final_answer|final)>([^<>]*)</\2>", re.IGNORECASE
)
_BULLET = re.compile(r"\s*(?:[-*+•·]|\d+[.)])\s")
_EMOJI = "\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d"
_SYMBOLS = re.compile(r"^[\s*_`'\"#]+|[\s*_`'\".!:。！।]+$")
_DECORATION = " \t*_`'\"“”„«»「」.!。！~#:"
_PLACE = r"(?:(?:cell|square|position|spot|column|col|field|Spalte|Feld|colonne|columna|coluna|kolom|move)\s+)?"


def is_revised(text: str) -> bool:
    """Whether a text that follows a statement takes it back."""
    return _REVISIONS.search(text) is not None


def is_mentioned(before: str, after: str) -> bool:
    """Whether a text speaks about what is between these two parts, rather than answers with it."""
    sentence = re.split(r"\n|(?<=[.!?])\s", _FENCE_START.sub("", before).rstrip())[-1]
    line = re.split(r"\n|(?<=[.!?])\s", before)[-1]
    return (
        not is_said_by_model(line)
        or re.search(rf"\b{_OTHER_SIDE}\b", _CLAUSE_ENDS.split(line)[-1], re.IGNORECASE) is not None
        or _ABOUT_ANOTHER.search(sentence) is not None
        or (_CONTINUED.match(after) is not None and _FOLLOWED_BY.match(after) is None)
        or _PREDICATE.match(after) is not None
    )


def is_answered(text: str) -> bool:
    """Whether a text that follows a statement goes on with the reply of the other player, as in a line of thought."""
    return _REPLY.search(text) is not None


def is_said_by_model(before: str) -> bool:
    """Whether what follows this beginning of a sentence is the model's own, and neither negated nor a condition."""
    return not _CONDITIONS.search(before) and not _NEGATIONS.search(_CLAUSE_ENDS.split(before)[-1])


_STATED_BY = re.compile(
    rf"{_STATED}|{_CLAUSE}(?:(?P<label>{_LABEL})|bestmove\b)|(?P<imperative>{_IMPERATIVE}|{_CONCLUSION})",
    re.IGNORECASE,
)
_DIRECT = re.compile(rf"\bI(?:'ll)?{_ADVERBS}(?=\s)", re.IGNORECASE)


class StatementFinder:
    """Finds statements of the legal moves of one question."""

    def __init__(self, spellings: Spellings) -> None:
        self._spellings = spellings
        move = spellings.pattern
        self._move = re.compile(move)
        self._object = re.compile(rf"(?i:{_FILLER}){move}")
        self._spaced = re.compile(rf"\s+{move}")
        # In chess: "1. e4".
        self._move_number = re.compile(r"(?<!\S)\d{1,3}\.\s?(?=[KQRBNOa-h])" if spellings.is_chess else "(?!)")
        self._after = re.compile(rf"(?:{_CLAUSE}|^\s*(?:私は|저는|मैं)\s*){move}{_AFTER}")
        self._bare = re.compile(rf"(?i:{_PLACE}){move}")
        self._next_move = re.compile(rf"{_LINK}{move}")

    def find(self, text: str) -> list[Statement]:
        """The statements in a text, from ``clean``, in their order."""
        found = [*self._marked(text)]
        heading = line = ""
        for sentence in _SENTENCE.finditer(text):
            if line.lower().startswith("how many"):
                line = ""
                continue
            is_new_line = text[sentence.start() - 1 : sentence.start()] in ("", "\n")
            # A line that is not a sentence may be the heading of the next one.
            heading = line if is_new_line and not _is_ended(line) else heading if not is_new_line else ""
            line = sentence[0].rstrip()
            # In chess, "!?" marks an interesting move.
            if len(line) <= MAX_SENTENCE and not line.removesuffix("!?").endswith(("?", "？")):
                found += self._in_sentence(line.rstrip(" .!?。！।"), sentence.start(), heading)
        return sorted([*found, *self._bare_lines(text)], key=lambda statement: statement.start)

    def clean(self, text: str) -> str:
        """A text without marks of emphasis, code fences, and what is quoted from somebody else."""
        text = re.sub(r"^[ \t]*```\w*[ \t]*$", "", text, flags=re.MULTILINE)
        text = text.replace("’", "'").replace("‘", "'")
        text = _QUOTED.sub(self._unquote, text)
        text = re.sub(rf"[{_EMOJI}]", "", text)
        text = re.sub(r"\*\*|__|`|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)", "", text)
        text = re.sub(r"\$(?=[\d\\])|(?<=\})\$|\\[()\[\]]", "", text)
        text = self._move_number.sub("", text)
        # A label may stand on a line of its own.
        return re.sub(r"([:：])[ \t]{0,9}\n{1,3}[ \t]{0,9}(?![-*+•]\s|\d+[.)]\s)", r"\1 ", text)

    def _unquote(self, quoted: re.Match[str]) -> str:
        content = next((group for group in quoted.groups() if group is not None), "").strip(" .!,`*")
        return content if self._move.fullmatch(content) else "…"

    def _marked(self, text: str) -> Iterator[Statement]:
        for found in _MARKED_FINAL.finditer(text):
            content = (found[1] or found[3] or "").strip(_DECORATION)
            yield Statement(found.start(), found.end(), self._spellings.move(content), is_final=True)

    def _in_sentence(self, sentence: str, offset: int, heading: str) -> Iterator[Statement]:
        found = [(one, self._object.match(sentence, one.end())) for one in _STATED_BY.finditer(sentence)]
        found += [(one, self._spaced.match(sentence, one.end())) for one in _DIRECT.finditer(sentence)]
        found += [(one, one) for one in self._after.finditer(sentence)]
        for beginning, move in found:
            is_verb = beginning.re is _DIRECT
            groups = beginning.groupdict()
            start, end = offset + beginning.start(), offset + (move or beginning).end()
            before = sentence[: beginning.start()]
            is_final = bool(groups.get("final") or groups.get("final_after"))
            if not is_said_by_model(before) or _CONDITIONS.search(heading):
                if move and _LATER.search(before):
                    yield Statement(start, end, [], is_later=True)
            elif (
                move
                and self._is_alone(sentence, move.end(), is_imperative=bool(groups.get("imperative")))
                and not (is_verb and not _VERB_FOLLOWED_BY.match(sentence, move.end()))
            ):
                yield Statement(start, end, self._spellings.move(move["move"]), is_final)
            elif groups.get("label") and (is_final or move):
                # A label with something else is a statement too, but not of one legal move.
                yield Statement(start, end, [], is_final)

    def _is_alone(self, sentence: str, end: int, *, is_imperative: bool) -> bool:
        """Whether the move that ends here is the only one, and nothing after it makes it doubtful."""
        rest = sentence[end:].lstrip("*`'\"_")
        if is_imperative and rest.strip(" .!"):
            return rest.lstrip().startswith(("because", "since")) and not _DOUBTS.search(rest)
        if (
            not _FOLLOWED_BY.match(rest)
            or _DOUBTS.search(rest)
            or self._next_move.match(rest)
            or _NEXT_TOKEN.match(rest)
        ):
            return False
        if _HABITS.search(_CLAUSE_ENDS.split(rest)[0]):
            return False
        in_brackets = re.match(r"\s*[(:](?!not\b)([^)]*)", rest)
        return in_brackets is None or not self._move.search(in_brackets[1])

    def _bare_lines(self, text: str) -> Iterator[Statement]:
        """The whole text, its first line or its last line, if that is only a move."""
        lines = [line for line in re.finditer(r"[^\n]+", text) if line[0].strip(_DECORATION)]
        for number, line in enumerate(lines):
            if len(line[0]) > MAX_SENTENCE:
                continue
            content = _SYMBOLS.sub("", line[0])
            found = self._bare.fullmatch(content) or self._bare.fullmatch(line[0].strip())
            if found is None or line[0].rstrip().endswith("?"):
                continue
            is_only, is_last = len(lines) == 1, number == len(lines) - 1
            if not is_only and (_BULLET.match(line[0]) or (number and not is_last)):
                # It is one of several, as in a list.
                yield Statement(line.start(), line.end(), [])
            elif is_only or (is_last and _is_complete(lines[number - 1][0])) or _is_new(lines, number):
                yield Statement(line.start(), line.end(), self._spellings.move(found["move"]))
            else:
                yield Statement(line.start(), line.end(), [])


def _is_ended(line: str) -> bool:
    return line.rstrip(" *_`").endswith((".", "!", "?", ")", "。", "！", "？"))


def _is_complete(line: str) -> bool:
    """Whether a line ends with its sentence, which does not say what the next line is."""
    sentence = _SENTENCE.findall(line.rstrip(" *_`"))[-1]
    is_about_moves = _CHOICE.search(sentence) and (_NEGATIONS.search(sentence) or "opponent" in sentence.lower())
    return _is_ended(line) and not line.rstrip().endswith("?") and not is_about_moves


def _is_new(lines: list[re.Match[str]], number: int) -> bool:
    """Whether the first line is followed by a new sentence."""
    return number == 0 and not lines[1][0].lstrip()[:1].islower()
