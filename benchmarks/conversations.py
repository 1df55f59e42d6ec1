"""Do the checks of simulated users find planted mistakes, and do corrected pass rates hold?

``python benchmarks/conversations.py`` prints precision and recall per kind of mistake over scripted
conversations in two languages, and how often the 95 % interval of the corrected pass rate holds the
true one over simulated studies. Agent and user are scripts, so the truth is known by construction.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from adjudge.features.conversations.attribution import attribute
from adjudge.features.conversations.conversation import Conversation, End, Turn
from adjudge.features.conversations.outcome import outcome_of
from adjudge.features.conversations.rates import (
    LabelledFault,
    LabelledTrial,
    ScenarioTrial,
    labelled_faults,
    labelled_rate,
    rates_of,
)
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.conversations.user_checks import FaultKind, UserChecks
from adjudge.stats.estimate import Estimate

ACCEPTED: dict[str, frozenset[FaultKind]] = {
    "invented": frozenset({"invented fact", "unknown fact"}),
    "answers unknown": frozenset({"unknown fact", "invented fact"}),
    "wrong digit": frozenset({"contradiction", "invented fact"}),
    "all at once": frozenset({"goal at once"}),
    "leak": frozenset({"told too early"}),
    "secret": frozenset({"secret told"}),
    "withholds": frozenset({"withheld"}),
    "stops at question": frozenset({"stopped early"}),
    "stops at confirmation": frozenset({"stopped early"}),
    "repeats opening": frozenset({"repetition"}),
    "other language": frozenset({"language"}),
    "speaks as assistant": frozenset({"role reversal"}),
    "shows reasoning": frozenset({"instructions shown"}),
    "thanks forever": frozenset({"did not stop"}),
    "empty": frozenset({"broken output"}),
}
"""Planted mistake → the kinds that name it."""
ALSO: dict[str, frozenset[FaultKind]] = {
    "all at once": frozenset({"told too early"}),
    "wrong digit": frozenset({"withheld"}),
    "speaks as assistant": frozenset({"withheld"}),
    "shows reasoning": frozenset({"withheld"}),
    "repeats opening": frozenset({"withheld", "stopped early"}),
    "withholds": frozenset({"stopped early"}),
    "stops at question": frozenset(),
}
"""What a planted mistake brings along, rightly."""
CONTROLS = (
    "none",
    "paraphrase",
    "agent said it first",
    "corrected slip",
    "gives up",
    "anything else",
    "asked to repeat",
    "name in another script",
    "open question",
)
HELPS, CHANGES_NOTHING = ("leak", "all at once", "secret"), ("other language", "thanks forever")


@dataclass(frozen=True)
class Story:
    """One domain in one language: what both sides say."""

    language: str
    goal: str
    opening: tuple[str, ...]
    fields: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...]
    """Name, value with # for random digits, questions, answers with {}."""
    unknown: tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    """Name, questions, "I do not know", invented answers."""
    secret: tuple[str, str, tuple[str, ...]]
    confirm: tuple[str, ...]
    yes: tuple[str, ...]
    done: tuple[str, ...]
    failed: tuple[str, ...]
    thanks: tuple[str, ...]
    refusals: tuple[str, ...]
    foreign: tuple[str, ...]
    service: tuple[str, ...]
    reasoning: tuple[str, ...]
    invented: tuple[str, ...]
    loops: str


EN = Story(
    "en",
    "Change the delivery of a parcel to another day.",
    (
        "Hello, my parcel should come on another day.",
        "Hi there. I need to move a delivery, I won't be at home.",
        "Good morning, can a delivery be moved to later in the week?",
    ),
    (
        (
            "tracking number",
            "PX####7",
            (
                "What is the tracking number?",
                "Could you give me the tracking number of the parcel?",
            ),
            ("It is {}.", "{}", "Sure, the tracking number is {}."),
        ),
        (
            "postcode",
            "8####",
            ("And the postcode, please?", "Which postcode is it going to?"),
            ("{}.", "The postcode here is {}.", "That would be {}"),
        ),
        (
            "new day",
            "2026-12-0@",
            ("Which new day suits you?", "For which new day should I plan it?"),
            ("{}", "Make it {}, if that works.", "{} would be good."),
        ),
    ),
    (
        "customer number",
        ("Do you have a customer number?", "Please tell me your customer number."),
        ("I don't know that one, sorry.", "No idea, I never got any.", "I do not have that."),
        ("It's 77####1.", "Yes: 60###4.", "My customer number is 5#####."),
    ),
    ("gate code", "G##9K", ("By the way, the gate code is {}.", "You can enter with {}.")),
    ("Shall I move the delivery to that day?", "So I move it to the new day. Is that right?"),
    ("Yes.", "Yes, go ahead.", "That's right.", "Please do."),
    (
        "The delivery is moved. Anything else?",
        "Done, it comes on the new day. Is there anything else I can do?",
    ),
    ("I am afraid the parcel is on its way already.", "That did not work, the parcel left today."),
    ("Thanks a lot!", "Great, thank you.", "Thank you, bye.", "You too, goodbye!"),
    (
        "I'd rather not say.",
        "That is none of your business.",
        "Just move it, will you?",
        "Why would you need that?",
    ),
    (
        "Ich habe das Paket leider nicht bekommen und möchte es später haben.",
        "Я не могу сейчас это найти, подождите минуту.",
        "Je ne suis pas à la maison, c'est pour ça que je vous écris.",
    ),
    (
        "I understand. Could you please provide your tracking number so that I can look it up?",
        "Thank you for reaching out! I'd be happy to help you with that.",
        "I have updated your delivery. Is there anything else I can assist you with?",
        "How can I assist you today?",
    ),
    (
        "<think>The agent wants the number, I should reply shortly.</think> ok",
        "According to my instructions I should only tell this later.",
        "As the user, I now have to wait for the assistant's answer.",
        "My persona says that I am impatient, so: hurry up!",
    ),
    (
        "I paid 49.9# euros for the express service, by the way.",
        "My colleague ordered it under 31##88.",
        "The driver called from 0171 5550#### yesterday.",
    ),
    "Sorry, I did not get that. Please tell me more about it.",
)
RU = Story(
    "ru",
    "Перенести доставку посылки на другой день.",
    (
        "Здравствуйте, посылку надо бы привезти в другой день.",
        "Добрый день! Меня не будет дома, можно перенести доставку?",
        "Привет, хочу сдвинуть доставку на конец недели.",
    ),
    (
        (
            "номер отправления",
            "PX####7",
            ("Назовите номер отправления.", "Какой у посылки номер отправления?"),
            ("{}", "Вот он: {}.", "Номер отправления {}."),
        ),
        (
            "индекс",
            "1####5",
            ("А какой индекс?", "Укажите, пожалуйста, индекс."),
            ("{}.", "Индекс у нас {}.", "{}"),
        ),
        (
            "новый день",
            "2026-12-0@",
            ("На какой новый день перенести?", "Какой новый день вам удобен?"),
            ("{}", "Давайте {}.", "Лучше всего {}."),
        ),
    ),
    (
        "номер клиента",
        ("У вас есть номер клиента?", "Сообщите номер клиента."),
        ("Не знаю такого.", "Не помню, к сожалению.", "Понятия не имею."),
        ("77####1.", "Да, 60###4.", "Номер клиента 5#####."),
    ),
    ("код калитки", "G##9K", ("Кстати, калитка открывается кодом {}.", "Войти можно по {}.")),
    ("Перенести доставку на этот день?", "Переношу на новый день, всё верно?"),
    ("Да.", "Да, переносите.", "Всё верно.", "Да, так и сделайте."),
    ("Доставка перенесена. Что-нибудь ещё?", "Готово, привезут в новый день. Чем ещё помочь?"),
    ("К сожалению, посылка уже в пути.", "Не получилось: посылка сегодня уехала."),
    ("Спасибо большое!", "Отлично, благодарю.", "Спасибо, до свидания.", "И вам хорошего дня!"),
    ("Не скажу.", "Вас это не касается.", "Просто перенесите, и всё.", "А зачем вам это?"),
    (
        "Sorry, I can not find it right now, please wait for a minute.",
        "I will be at home only on the weekend, so that is why I ask.",
    ),
    (
        "Спасибо за обращение! Чем я могу вам помочь?",
        "Понимаю вас. Назовите, пожалуйста, номер отправления, и я проверю.",
        "Я проверил ваш заказ. Могу ли я ещё чем-то помочь?",
    ),
    (
        "<think>Ассистент просит номер, надо ответить коротко.</think> ок",
        "По сценарию я должен назвать это позже.",
        "Моя роль — нетерпеливый клиент, поэтому: быстрее!",
    ),
    (
        "Я, между прочим, заплатил 49,9# за срочность.",
        "Заказывал коллега, у него 31##88.",
        "Курьер вчера звонил с 8 900 555 ## ##.",
    ),
    "Простите, не понял. Расскажите подробнее.",
)
STORIES = (EN, RU)


def digits(chance: random.Random, text: str) -> str:
    """Fill # with digits, @ with a digit that a day may end in."""
    filled = "".join(chance.choice("0123456789") if one == "#" else one for one in text)
    return filled.replace("@", chance.choice("123456789"))


def scenario_of(story: Story, chance: random.Random, name: str) -> Scenario:
    """Draw the values of a scenario."""
    withheld = {field: digits(chance, value) for field, value, _, _ in story.fields}
    return Scenario.of(
        {
            "id": name,
            "goal": story.goal,
            "withheld": withheld,
            "secret": {story.secret[0]: digits(chance, story.secret[1])},
            "unknown": [story.unknown[0]],
            "language": story.language,
            "expect": {"state": {"moved": True}},
        }
    )


def wrong(chance: random.Random, value: str) -> str:
    """Change one digit."""
    places = [place for place, one in enumerate(value) if one.isdigit() and value[place - 1] != "-"]
    place = chance.choice(places[-3:])
    other = chance.choice([one for one in "123456789" if one != value[place]])
    return value[:place] + other + value[place + 1 :]


MONTHS = {"en": "December {}, 2026", "ru": "{} декабря 2026"}


def other_form(value: str, language: str) -> str:
    """Write a value in another way."""
    if value.startswith("2026-12-"):
        return MONTHS[language].format(int(value[-2:]))
    if value.isdigit():
        return value
    return f"{value[:2].lower()}-{value[2:]}"


class Talker:
    """Both sides of one conversation, with one mistake of the user at most."""

    def __init__(
        self, story: Story, scenario: Scenario, chance: random.Random, plant: str, able: bool
    ) -> None:
        self.story, self.scenario, self.chance, self.plant = story, scenario, chance, plant
        self.able = able
        self.turns: list[Turn] = []
        self.end: End = "user stopped"
        self.facts = {fact.name: fact.value for fact in scenario.known_facts}
        self.at = chance.randrange(len(story.fields))

    def add(self, speaker: str, text: str, moved: bool | None = None) -> None:
        state = None if moved is None else {"moved": moved}
        self.turns.append(
            Turn(number=len(self.turns) + 1, speaker=speaker, text=text, state=state)  # type: ignore[arg-type]
        )

    def pick(self, texts: Sequence[str]) -> str:
        return digits(self.chance, self.chance.choice(texts))

    def hold(self) -> Conversation:
        """Let both sides talk."""
        for _ in self._course():
            pass
        return Conversation(turns=tuple(self.turns), ended=self.end, user="scripted")

    def _course(self) -> Iterator[None]:
        story, plant = self.story, self.plant
        opening = self.pick(story.opening)
        if plant == "leak":
            fact = story.fields[self.at]
            opening += " " + self.pick(fact[3]).format(self.facts[fact[0]])
        elif plant == "all at once":
            opening += " " + ", ".join(f"{one[0]}: {self.facts[one[0]]}" for one in story.fields)
        elif plant == "invented":
            opening += " " + self.pick(story.invented)
        elif plant == "secret":
            opening += " " + self.pick(story.secret[2]).format(self.facts[story.secret[0]])
        self.add("user", opening)
        if plant == "gives up":
            yield from self._give_up()
            return
        if plant == "open question":
            self.add("agent", story.loops, False)
            told = "; ".join(f"{one[0]} {self.facts[one[0]]}" for one in story.fields)
            self.add("user", f"{told}.")
        else:
            stopped = yield from self._questions(opening)
            if stopped:
                return
        yield from self._ending()

    def _give_up(self) -> Iterator[None]:
        for _ in range(3):
            self.add("agent", self.story.loops, False)
            self.add("user", self.pick(self.story.opening))
            yield
        self.turns.pop()

    def _questions(self, opening: str) -> Generator[None, None, bool]:
        story, plant = self.story, self.plant
        for place, (name, _, questions, answers) in enumerate(story.fields):
            value, question = self.facts[name], self.pick(questions)
            if plant == "agent said it first" and place == self.at:
                self.add("agent", f"{name}: {value}. {self.pick(story.confirm)}", False)
                self.add("user", self.pick(story.yes))
                continue
            self.add("agent", question, False)
            is_here = place == self.at
            if plant == "stops at question" and is_here:
                return True
            if plant == "empty" and is_here:
                self.end = "user broken"
                return True
            answer = self.pick(answers).format(value)
            if is_here and plant in ("withholds", "repeats opening"):
                yield from self._stuck(question, opening)
                return True
            if is_here:
                answer = self._planted(answer, answers, value)
            self.add("user", answer)
            if is_here and plant == "asked to repeat":
                again = {"en": "Please repeat that.", "ru": "Повторите, пожалуйста."}
                self.add("agent", again[story.language], False)
                self.add("user", answer)
            if is_here and plant in ("speaks as assistant", "shows reasoning", "other language"):
                self.add("agent", question, False)
                self.add("user", self.pick(answers).format(value))
            yield
        name, questions, ignorance, inventions = story.unknown
        if self.plant == "answers unknown" or self.chance.random() < 0.5:
            self.add("agent", self.pick(questions), False)
            said = inventions if self.plant == "answers unknown" else ignorance
            self.add("user", self.pick(said))
        return False

    def _planted(self, answer: str, answers: Sequence[str], value: str) -> str:
        story, chance = self.story, self.chance
        slip = {"en": "{}, sorry, I meant {}.", "ru": "{}, простите, {}."}[story.language]
        name = {"en": "I am Иван Петров. ", "ru": "Это John Smith. "}[story.language]
        said = {
            "wrong digit": lambda: self.pick(answers).format(wrong(chance, value)),
            "paraphrase": lambda: self.pick(answers).format(other_form(value, story.language)),
            "corrected slip": lambda: slip.format(wrong(chance, value), value),
            "name in another script": lambda: name + answer,
            "other language": lambda: self.pick(story.foreign),
            "speaks as assistant": lambda: self.pick(story.service),
            "shows reasoning": lambda: self.pick(story.reasoning),
        }
        return said[self.plant]() if self.plant in said else answer

    def _stuck(self, question: str, opening: str) -> Iterator[None]:
        """A user who does not answer: the agent asks again, then gives up."""
        for time in range(2):
            said = opening if self.plant == "repeats opening" else self.pick(self.story.refusals)
            self.add("user", said)
            self.add("agent", question if time == 0 else self.pick(self.story.failed), False)
            yield

    def _ending(self) -> Iterator[None]:
        story = self.story
        self.add("agent", self.pick(story.confirm), False)
        if self.plant == "stops at confirmation":
            return
        self.add("user", self.pick(story.yes))
        broken = self.plant in ("invented", "answers unknown", "wrong digit", "shows reasoning")
        confused = broken or self.plant == "speaks as assistant"
        moved = self.able and not (confused and self.chance.random() < 0.7)
        moved = moved or (self.plant in HELPS and self.chance.random() < 0.3)
        self.add("agent", self.pick(story.done if moved else story.failed), moved)
        if self.plant == "thanks forever":
            for text in self.chance.sample(story.thanks, 3):
                self.add("user", text)
                self.add(
                    "agent", {"en": "You're welcome.", "ru": "Не за что."}[story.language], moved
                )
            self.end = "turn limit"
        elif self.chance.random() < 0.5 or self.plant == "anything else":
            self.add("user", self.pick(story.thanks))
            self.add("agent", {"en": "Bye.", "ru": "Всего доброго."}[story.language], moved)
        yield


@dataclass(frozen=True)
class Planted:
    """One conversation with its truth."""

    plant: str
    scenario: Scenario
    conversation: Conversation
    able: bool
    """True if it would have passed with a faultless user."""


def hold(plant: str, chance: random.Random, *, able: bool, name: str = "one") -> Planted:
    """Hold one conversation with a planted mistake, or a control."""
    story = chance.choice(STORIES)
    scenario = scenario_of(story, chance, name)
    talker = Talker(story, scenario, chance, plant, able)
    return Planted(plant, scenario, talker.hold(), able)


@dataclass
class Score:
    """How well one kind of mistake is found."""

    planted: int = 0
    found: int = 0
    false: int = 0

    @property
    def recall(self) -> float:
        return self.found / self.planted if self.planted else 1.0


def detection(count: int, seed: int) -> tuple[dict[str, Score], Counter[str], list[str]]:
    """Plant every mistake ``count`` times and every control as often; return how often each is
    found, how many flags are right and wrong, and examples of wrong ones.
    """
    chance = random.Random(seed)
    scores, flags, examples = {}, Counter[str](), []
    for plant in (*ACCEPTED, *CONTROLS):
        score = scores[plant] = Score()
        for _ in range(count):
            made = hold(plant, chance, able=chance.random() < 0.7)
            passed = outcome_of(made.scenario, made.conversation).passed
            faults = UserChecks(made.scenario, made.conversation, passed).faults()
            kinds = {one.kind for one in faults}
            accepted = ACCEPTED.get(plant, frozenset[FaultKind]())
            right = kinds & accepted
            wrong_kinds = kinds - accepted - ALSO.get(plant, frozenset[FaultKind]())
            score.planted += plant in ACCEPTED
            score.found += bool(right)
            score.false += bool(wrong_kinds)
            flags["right"] += len(right)
            flags["wrong"] += len(wrong_kinds)
            if wrong_kinds or (plant in ACCEPTED and not right):
                examples.append(f"{plant}: {sorted(kinds)}\n{made.conversation.text}")
    return scores, flags, examples


def attribution_scores(count: int, seed: int) -> tuple[float, float]:
    """Return precision and recall of "the user's fault" over conversations that failed."""
    chance = random.Random(seed)
    hinders = [one for one in ACCEPTED if one not in (*HELPS, *CHANGES_NOTHING)]
    right = said = true = 0
    for _ in range(count):
        plant = chance.choice(hinders) if chance.random() < 0.4 else "none"
        made = hold(plant, chance, able=chance.random() < 0.6)
        passed = outcome_of(made.scenario, made.conversation).passed
        if passed is not False:
            continue
        faults = UserChecks(made.scenario, made.conversation, passed).faults()
        is_said = attribute(made.conversation, passed, faults).fault == "user"
        said += is_said
        true += plant != "none"
        right += is_said and plant != "none"
    return right / said, right / true


def study(chance: random.Random, scenarios: int, trials: int) -> tuple[float, bool, bool, float]:
    """Hold one study; return the corrected rate, whether its interval and the raw one hold the true
    rate, and the width of the first. The agent's true rate and the user's rate of mistakes differ
    from scenario to scenario, and hard scenarios confuse the user more.
    """
    mean, found = 0.65, []
    kinds = list(ACCEPTED)
    for number in range(scenarios):
        rate = chance.betavariate(4 * mean, 4 * (1 - mean))
        spoil = min(0.6, chance.betavariate(1, 4) + 0.2 * (1 - rate))
        for _ in range(trials):
            plant = chance.choice(kinds) if chance.random() < spoil else chance.choice(CONTROLS[:2])
            made = hold(plant, chance, able=chance.random() < rate, name=str(number))
            passed = outcome_of(made.scenario, made.conversation).passed
            faults = UserChecks(made.scenario, made.conversation, passed).faults()
            cause = attribute(made.conversation, passed, faults)
            found.append(ScenarioTrial(str(number), passed, cause.validity))
    rates = rates_of(found)
    corrected, raw = rates.corrected_interval, rates.raw_interval
    middle = fmean(rates.corrected)
    if corrected is None or raw is None:
        raise RuntimeError("too few scenarios for an interval")
    return (
        middle,
        corrected.lower <= mean <= corrected.upper,
        raw.lower <= mean <= raw.upper,
        corrected.upper - corrected.lower,
    )


FAULT_RATE = 0.2
"""Share of conversations in which the user's mistake decides a labelled study's outcome."""


def labelled_study(
    chance: random.Random, scenarios: int, trials: int, labels: int
) -> tuple[bool, bool, bool]:
    """Hold one study whose checks miss four in ten mistakes of the user and invent some, with
    labels of a random sample; return if the interval of the pass rate, that of the user's share of
    the blame, and the user's share by the checks (within .05) hold the true value.
    """
    mean, rates, faults = 0.65, [], []
    sample = set(chance.sample(range(scenarios * trials), labels))
    for number in range(scenarios):
        rate = chance.betavariate(4 * mean, 4 * (1 - mean))
        spoil = chance.betavariate(2, 8)  # 0.2 on average
        for _ in range(trials):
            able, is_spoiled = chance.random() < rate, chance.random() < spoil
            # a mistake that decides the outcome turns it around
            passed = able != is_spoiled
            true = "user" if is_spoiled else "nobody" if passed else "agent"
            judged = "user" if is_spoiled else "nobody" if passed else "agent"
            if chance.random() < (0.4 if is_spoiled else 0.05):
                judged = ("nobody" if passed else "agent") if is_spoiled else "user"
            is_labelled = len(rates) in sample
            rates.append(
                LabelledTrial(str(number), passed, judged == "user", able if is_labelled else None)
            )
            faults.append(LabelledFault(str(number), passed, judged, true if is_labelled else None))
    rate_estimate = labelled_rate(rates)
    fault_estimate = labelled_faults(faults, ["user"])["user"]
    by_checks = fmean(one.judged == "user" for one in faults)
    return (
        _holds(rate_estimate, mean),
        _holds(fault_estimate, FAULT_RATE),
        abs(by_checks - FAULT_RATE) < 0.05,
    )


def _holds(estimate: Estimate, value: float) -> bool:
    if estimate.lower is None or estimate.upper is None:
        raise RuntimeError("too few labels for an interval")
    return estimate.lower <= value <= estimate.upper


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=40, help="per kind of mistake")
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--scenarios", type=int, default=25)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--labels", type=int, default=100, help="of a labelled study")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", action="store_true", help="print what was missed")
    given = parser.parse_args()
    scores, flags, examples = detection(given.conversations, given.seed)
    print("mistake                planted  found  recall  with a wrong flag")
    for plant, score in scores.items():
        share = f"{score.recall:.3f}" if score.planted else "–"
        print(f"{plant:22} {score.planted:7} {score.found:6}  {share:>6}  {score.false:6}")
    planted = sum(one.planted for one in scores.values())
    found = sum(one.found for one in scores.values())
    right, wrong_flags = flags["right"], flags["wrong"]
    print(f"all: recall {found / planted:.3f}, precision {right / (right + wrong_flags):.3f}")
    precision, recall = attribution_scores(10 * given.conversations, given.seed)
    print(f"the user's fault, of failures: precision {precision:.3f}, recall {recall:.3f}")
    if given.examples:
        print("\n\n".join(examples))
    chance = random.Random(given.seed)
    results = [study(chance, given.scenarios, given.trials) for _ in range(given.studies)]
    if results:
        print(f"{len(results)} studies of {given.scenarios} scenarios, {given.trials} trials each")
        print(f"true rate 0.650, mean of corrected rates {fmean(one[0] for one in results):.3f}")
        print(f"corrected interval holds it: {fmean(one[1] for one in results):.3f}")
        print(f"raw interval holds it:       {fmean(one[2] for one in results):.3f}")
        print(f"mean width of the corrected interval: {fmean(one[3] for one in results):.3f}")
    chance = random.Random(given.seed)
    labelled = [labelled_study(chance, 50, 6, given.labels) for _ in range(given.studies)]
    if labelled:
        print(f"{len(labelled)} studies of 50 scenarios, 6 trials each, {given.labels} labels")
        print(
            f"interval of the pass rate by labels holds it: {fmean(one[0] for one in labelled):.3f}"
        )
        print(
            f"interval of the user's share holds it:        {fmean(one[1] for one in labelled):.3f}"
        )
        print(
            f"the user's share by the checks is within .05: {fmean(one[2] for one in labelled):.3f}"
        )


if __name__ == "__main__":
    main()
