"""Detects questions to which yes is the bad answer ("Is the reply rude?"), by their words. A guess,
in English and Russian; good for a warning.

Only wording that leaves little doubt counts. A word for something bad after a negation ("not
rude"), after a preposition ("polite to a rude customer") or next to a word for dealing with it
("declines harmful requests") does not.
"""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"[^.?!]+[.?!]*")
_WORD = re.compile(r"[\w'’-]+|[,;:(]")
_BAD = """
abus* aggressive* arrogan* bias biased biases bigot* bogus bully bullying cheat* condescend*
confus* contempt* contradict* corrupt* crime* criminal* cruel* curse* cursing cynical danger*
deceitful* deceiv* decepti* defam* degrad* demean* derogatory discourteous* discriminat*
dishonest* disrespect* error errors evasive* exaggerat* exclusionary fabricat* false falsehood*
fake* faulty flatter* forbidden frustrat* garbled gibberish hallucinat* harass* harm harms harmed
harmful* hate hateful* hatred hostil* humiliat* hurt hurts hurtful* ignores illegal* illogical*
immoral* impolite* inaccura* inappropriate* incoheren* incomplete* inconsisten* incorrect*
indecent* insensitiv* insult* intimidat* irrelevan* jailbreak* lying leak leaks leaked malicious*
manipulat* mislead* misinform* misquot* mistake* mistaken misunderst* mock mocks mocking
monotonous* nonsense* obscen* off-topic offend* offensive* overconfident* outdated partisan
patroni* pii plagiari* prejudice* profan* racis* redundan* repetiti* rude* sarcas* scam*
self-contradict* self-harm sexis* sexual* slander* slur slurs sloppy spam* speculat* stereotyp*
stigmatiz* swear* sycophan* threat* toxic* ugly unclear* unethical* unfair* unfriendly unhelpful*
unkind* unprofessional* unreadable unreliable unsafe* unsupported untrue* untruthful* vague*
verbose* violat* violen* vulgar* wrong*
агрессив* бессвяз* бессмысл* бесполезн* бесполезен вреден вредн* вредит враждебн* бран* вред вреда
выдум* вымыс* высокомерн* галлюцин* груб* дискримин* домысл* жесток* заблужд* заносчив* запутан*
затянут* злоупотреб* издева* искаж* клевет* лжёт лжет лжив* лесть льст* ложн* ложь манипул*
мошенн* насили* нарушает нарушен* нападк* насмеш* невежлив* неверн* невразумит* недостовер*
неискрен* некоррект* ненавис* необъектив* неполн* неполон непонятн* непонятен неправд* неправильн*
непристойн* непрофессионал* неразборчив* неэтич* неточ* неуважит* неуместн* неуместен нецензур*
неясн* неясен обман* опасен опасн* оскорб* ошиб* пошл* предвзят* пренебреж* преступ* противореч*
расис* ругат* самоповрежд* саркаст* сексис* сексуальн* спам* токсич* травл* угрож* угроз* унижа*
уничижит* устарел* утечк* хам хамит хамск* хамств* шовинис* экстремис*
"""
_DENIES = """
no not never none nothing neither nor without cannot free avoid* lack* n't isn't aren't doesn't
don't didn't wasn't weren't hasn't haven't can't won't refrain* absen* devoid rid fewer less least
resist* reject* declin* refus* prevent* warn* correct corrects corrected fix* detect* flag*
identif* recogni* spot* report* point* mention* explain* describe* acknowledg* admit* apologi*
discourag* condemn* oppos* handle* handling deal deals dealing remov* delet* block* filter*
mitigat* respond* react* cover* tolerat* unless rather instead protect* withstand* escap*
не нет ни без никогда ничего никаких отсутств* избег* отказ* отклон* отверг* предупрежд* предотвр*
исправ* обнаруж* выявл* распозна* замеч* указыва* упомина* объясн* описыва* призна* извин* осужда*
удал* блокир* фильтр* лишен* лишён* свобод* защищ* справл* реагир* сообща* сообщи* отвеча* меньше
"""
_PREPOSITIONS = """
against among at because behind beyond despite during for from if into of on over regarding since
than that to toward towards under until when where whether which while who whom whose with about
after before as , ; : (
для если из из-за как когда который которая которое которые которых которой кому к ко на над о об
от перед по под после при про ради с со среди хотя чем что чтобы
"""


def find_bad_word(question: str) -> str | None:
    """Return the word that makes yes the bad answer, or None if that cannot be told.

    If a text has questions, only the first one counts; else its first sentence.

    >>> find_bad_word("Is the reply rude?")
    'rude'
    """
    words = _WORD.findall(_first_question(question).casefold().replace("’", "'"))
    for place, word in enumerate(words):
        is_noun = place > 0 and words[place - 1] in _ARTICLES  # "Is the warning rude?"
        # Anything after such a word may be meant the other way round.
        if (word in _DENYING and not is_noun) or word in _SUBORDINATING or word.endswith("n't"):
            return None
        if word in _NEGATIVE:
            is_dealt_with = any(later in _DENYING for later in words[place + 1 :])
            return None if is_dealt_with else word
    return None


def _first_question(text: str) -> str:
    sentences = _SENTENCE.findall(text)
    return next(
        (sentence for sentence in sentences if sentence.endswith("?")),
        sentences[0] if sentences else "",
    )


class _Words:
    """Whole words, and stems (with a star) that may end in anything but "less"."""

    # Not one pattern: compiling it takes 0.02 s, more than most modules take to load.
    def __init__(self, words: str) -> None:
        stems = {word[:-1] for word in words.split() if word.endswith("*")}
        self._whole = frozenset(words.split()) | stems
        self._stems = tuple(stems)

    def __contains__(self, word: str) -> bool:
        return word in self._whole or (
            word.startswith(self._stems)
            and any(
                _ENDING.fullmatch(word, len(stem)) for stem in self._stems if word.startswith(stem)
            )
        )


_ENDING = re.compile(r"(?!\w*less)\w*")
_NEGATIVE, _DENYING = _Words(_BAD), _Words(_DENIES)
_ARTICLES = frozenset(("a", "an", "the", "this", "its"))
_SUBORDINATING = frozenset(_PREPOSITIONS.split())
