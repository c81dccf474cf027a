"""The contents of documents: language-independent trees, drawn from typed concepts. Grammars turn them into text."""

import random
from bisect import bisect
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

from bitextbench.data.synth.lexicon import cell, key, table

Item = TypeVar("Item")
Gender = str  # "m", "f"; of nouns also "n"


class Person(NamedTuple):
    first: str
    last: str  # "" when only the first name is used
    gender: Gender


class Pronoun(NamedTuple):
    gender: Gender


class City(NamedTuple):
    name: str


class Time(NamedTuple):
    """`kind` and `value`: date (d, m, y), month (m, y), year (y), clock (h, min); or the kind and key of a word."""

    kind: str
    value: tuple[int, ...] | str


class Money(NamedTuple):
    amount: int
    currency: str


class NP(NamedTuple):
    noun: str
    det: str = "the"  # the, a, this, his, her
    plural: bool = False
    number: int = 0  # 0: no number; else `plural` is true
    adj: str = ""
    owner: Any = None  # Person or NP
    rel: Any = None  # a Clause whose subject is this NP


class Clause(NamedTuple):
    """An event. In the passive, `obj` is the patient and `subj` the agent, or None."""

    subj: Any
    verb: str
    tense: str = "past"  # past, pres, fut, can, must, want
    obj: Any = None
    recipient: Any = None
    source: City | None = None
    goal: City | None = None
    place: Any = None  # City or NP
    time: Time | None = None
    adv: tuple[str, str] | None = None  # (mid or manner, key)
    neg: bool = False
    passive: bool = False
    fronted: bool = False  # the time comes first


class Copula(NamedTuple):
    subj: Any
    adj: str
    past: bool = False
    than: Any = None


class Change(NamedTuple):
    what: NP
    up: bool
    tenths: int  # of a per cent
    time: Time


class Cost(NamedTuple):
    subj: NP
    price: Money


class Age(NamedTuple):
    subj: Person
    years: int


class Born(NamedTuple):
    subj: Person
    time: Time
    place: City


class There(NamedTuple):
    what: NP
    place: Any


class Question(NamedTuple):
    wh: str  # "", when, where, why
    clause: Clause


class Report(NamedTuple):
    speaker: Any
    verb: str
    tense: str
    clause: Any


class Complex(NamedTuple):
    conj: str  # because, although, when
    main: Any
    sub: Any
    sub_first: bool


class Coord(NamedTuple):
    conj: str  # and, but
    left: Any
    right: Any


class Frame(NamedTuple):
    """The typed arguments of a verb."""

    verb: str
    subj: str
    obj: str
    recipient: str
    passive: bool


class World:
    """The concepts of the lexicon by type, each list with Zipf weights."""

    def __init__(self) -> None:
        nouns = [(row["type"], key(row["en"]), bool(row["loc"])) for row in table("nouns")]
        self.types = {noun: kind for kind, noun, _ in nouns}
        self.nouns = {
            kind: [noun for k, noun, _ in nouns if k == kind] for kind in dict.fromkeys(k for k, _, _ in nouns)
        }
        self.nouns["P"] = sorted((n for _, n, place in nouns if place), key=lambda n: self.types[n] != "l")  # P: where
        adjectives = [(row["type"], key(row["en"])) for row in table("adjectives")]
        self.colours = [adj for kinds, adj in adjectives if "c" in kinds]
        self.adjectives = {kind: [adj for kinds, adj in adjectives if kind in kinds] for kind in self.nouns}
        frames = [self._frame(row) for row in table("verbs")]
        self.frames = [frame for frame in frames if frame.obj != "s"]
        self.says = [frame for frame in frames if frame.obj == "s"]
        self.names = {g: [row["latin"] for row in table("names") if row["type"] == g] for g in "mfl"}
        self.cities = [row["en"] for row in table("cities")]
        self.words: dict[str, list[str]] = {}
        for row in table("words"):
            self.words.setdefault(row["type"], []).append(row["key"])

    @staticmethod
    def _frame(row: dict[str, str]) -> Frame:
        subj, obj, recipient = [*row["args"].split(">"), ""][:3]
        return Frame(key(row["en"]), subj, obj, recipient, "@" not in row["ru"] and len(cell(row["ru"])[0]) == 6)


@cache
def world() -> World:
    return World()


@cache
def _zipf(size: int) -> list[float]:
    return list(accumulate(1 / (rank + 3) for rank in range(size)))


def zipf(rng: random.Random, items: list[Item]) -> Item:
    """One of `items`: the r-th with a weight of 1 / (r + 3)."""
    weights = _zipf(len(items))
    return items[bisect(weights, rng.random() * weights[-1])]


FINAL = {"die", "disappear", "lose", "forget", "flee"}  # in the past and the future only
TENSES = {"past": 50, "pres": 18, "fut": 16, "can": 6, "must": 6, "want": 4}


class Writer:
    """Draws the sentences of one document, which share people, cities, things and a year."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.world = rng, world()
        self.people = [self.new_person(rng.choice("mf")) for _ in range(3)]
        self.cities = [zipf(rng, self.world.cities) for _ in range(3)]
        self.cast = {kind: [zipf(rng, nouns) for _ in range(3)] for kind, nouns in self.world.nouns.items()}
        self.year = rng.randint(1990, 2018)
        self.last: Person | None = None  # the person that a pronoun refers to

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def new_person(self, gender: Gender) -> Person:
        return Person(zipf(self.rng, self.world.names[gender]), zipf(self.rng, self.world.names["l"]), gender)

    def person(self) -> Person:
        person = self.rng.choice(self.people)
        return person if self.chance(0.6) else person._replace(last="")

    def city(self) -> City:
        return City(self.rng.choice(self.cities) if self.chance(0.7) else zipf(self.rng, self.world.cities))

    def noun(self, types: str) -> str:
        kind = self.rng.choice(types)
        return self.rng.choice(self.cast[kind]) if self.chance(0.6) else zipf(self.rng, self.world.nouns[kind])

    def adjective(self, noun: str) -> str:
        return self.rng.choice(self.world.adjectives[self.world.types[noun]])

    def count(self) -> int:
        """Mostly a small number; never one that ends in 1, which takes the singular in some languages."""
        low, high = self.rng.choices([(2, 10), (12, 99), (100, 999), (1000, 60000)], cum_weights=[60, 85, 95, 100])[0]
        number = self.rng.randint(low, high)
        return number + 1 if number % 10 == 1 else number

    def thing(self, types: str) -> NP:
        """A singular NP with a determiner, sometimes an adjective."""
        noun = self.noun(types)
        adj = self.adjective(noun) if self.chance(0.3) else ""
        return NP(noun, self.rng.choices(["the", "a", "this"], cum_weights=[6, 9, 10])[0], adj=adj)

    def np(self, types: str) -> NP:
        """Any NP: singular, plural, counted, with an owner or a relative clause."""
        np = self.thing(types)
        pick = self.rng.random()
        if pick < 0.2:
            return np._replace(plural=True, number=self.count())
        if pick < 0.35:
            return np._replace(plural=True)
        if pick < 0.5 and self.world.types[np.noun] not in "pnlb":
            owner = self.person()._replace(last="") if self.chance(0.5) else NP(self.noun("po"), adj="")
            return np._replace(det="the", owner=owner)
        return np

    def subject(self, types: str, simple: bool = True) -> Any:
        if "p" in types and self.chance(0.5):
            person = self.person()
            before, self.last = self.last, person
            return Pronoun(person.gender) if before == person and self.chance(0.5) else person
        np = self.np(types)._replace(owner=None)
        if not simple and self.world.types[np.noun] == "p" and not np.number and self.chance(0.12):
            clause = self.clause(tense="past", subj=np, simple=True)
            np = np._replace(det="the", rel=clause)
        return np

    def place(self) -> Any:
        return self.city() if self.chance(0.45) else NP(self.noun("P"), adj="")

    def date(self, year: int) -> Time:
        return Time("date", (self.rng.randint(1, 28), self.rng.randint(1, 12), year))

    def time(self, tense: str) -> Time | None:
        """A time that fits the tense."""
        if tense in ("can", "must", "want"):
            tense = "fut"
        pick = self.rng.random()
        if tense == "pres" or pick < 0.3:
            return Time(tense, self.rng.choice(self.world.words[tense]))
        year = self.year + self.rng.randint(-1, 1) if tense == "past" else self.rng.randint(2020, 2029)
        if pick < 0.55:
            return self.date(year)
        if pick < 0.65:
            return Time("month", (self.rng.randint(1, 12), year))
        if pick < 0.75:
            return Time("year", (year,))
        if pick < 0.88:
            return Time("weekday", str(self.rng.randint(1, 7)))
        return Time("clock", (self.rng.randint(7, 22), self.rng.choice([0, 15, 30, 45])))

    def clause(self, tense: str = "", subj: Any = None, simple: bool = False) -> Clause:
        """An event. `simple`: active, affirmative and short, as inside another sentence."""
        frame = zipf(self.rng, self.world.frames)
        while (subj and "p" not in frame.subj) or (simple and frame.verb in FINAL):
            frame = zipf(self.rng, self.world.frames)
        tense = tense or self.rng.choices(list(TENSES), TENSES.values())[0]  # type: ignore[arg-type]
        if frame.verb in FINAL and tense not in ("past", "fut"):
            tense = "past"
        passive = (
            frame.passive and not simple and not frame.recipient and tense not in ("pres", "want") and self.chance(0.3)
        )
        neg = not simple and tense != "must" and self.chance(0.15)
        if passive:
            agent = self.person() if self.chance(0.5) else self.thing(frame.subj)
            subj = agent if self.chance(0.6) else None
        else:
            subj = subj or self.subject(frame.subj, simple)
        obj = self.obj(frame.obj, subj, neg, passive)
        adv = None
        if tense == "pres" and not neg and self.chance(0.4):
            adv = ("mid", self.rng.choice(self.world.words["mid"]))
        elif obj and not neg and not simple and self.chance(0.15):
            adv = ("manner", self.rng.choice(self.world.words["manner"]))
        timed = not (adv and adv[0] == "mid") and self.chance(1.0 if frame.obj == "" else 0.35 if simple else 0.6)
        goal = self.city() if frame.obj == "g" else None
        source = self.city() if goal and self.chance(0.4) else None
        return Clause(
            subj,
            frame.verb,
            tense,
            obj,
            self.recipient(frame.recipient),
            source if source != goal else None,
            goal,
            place=self.place() if not goal and frame.verb != "visit" and self.chance(0.2 if simple else 0.4) else None,
            time=self.time(tense) if timed else None,
            adv=adv,
            neg=neg,
            passive=passive,
            fronted=timed and self.chance(0.35),
        )

    def obj(self, types: str, subj: Any, neg: bool, passive: bool) -> Any:
        if types in ("", "g"):
            return None
        if "p" in types and not passive and self.chance(0.4):
            person = self.person()
            if not isinstance(subj, Pronoun) and (not isinstance(subj, Person) or person.first != subj.first):
                return person
        np = self.np(types)
        if isinstance(subj, Person) and isinstance(np.owner, Person) and np.owner.first == subj.first:
            np = np._replace(owner=None)
        if neg and not np.number:
            return np._replace(det="the")
        if isinstance(subj, Person | Pronoun) and not passive and not (np.number or np.owner) and self.chance(0.25):
            return np._replace(det="his" if subj.gender == "m" else "her")
        return np

    def recipient(self, types: str) -> Any:
        if not types:
            return None
        return NP(self.noun(types), self.rng.choice(["the", "the", "a"]))

    def copula(self, past: bool = False, compared: bool = False) -> Copula:
        types = self.rng.choice("ptvbadefn")
        noun = self.noun(types)
        adj = self.rng.choice([adj for adj in self.world.adjectives[types] if adj not in self.world.colours])
        det = "this" if self.chance(0.3) else "the"
        others = [n for n in self.world.nouns[types] if n != noun]
        than = NP(zipf(self.rng, others), adj=self.rng.choice(["", "", "new", "old"]) if types in "tvb" else "")
        if than.adj == adj:
            than = than._replace(adj="")
        return Copula(NP(noun, det, plural=self.chance(0.2)), adj, past, than if compared else None)

    def fact(self) -> Any:
        """A statement of a number."""
        pick = self.rng.random()
        if pick < 0.3:
            what = self.thing("ftvdb")._replace(det="the")
            time = self.rng.choice([Time("past", self.rng.choice(self.world.words["past"])), self.date(self.year)])
            return Change(what, self.chance(0.6), self.rng.randint(5, 299), time)
        if pick < 0.55:
            subj = self.thing("tvbm")
            return Cost(subj._replace(det="this" if subj.det == "a" else subj.det), self.price())
        if pick < 0.7:
            return Age(self.person(), self.rng.randint(18, 89))
        if pick < 0.85:
            person = self.person()
            return Born(person, self.date(self.rng.randint(1930, 1999)), self.city())
        return There(self.thing("pntvm")._replace(det="a", plural=True, number=self.count()), NP(self.noun("P")))

    def price(self) -> Money:
        amount = self.rng.choice(
            [self.rng.randint(12, 999), self.rng.randint(10, 999) * 100, self.rng.randint(12, 99) * 100_000]
        )
        return Money(amount, zipf(self.rng, self.world.words["currency"]))

    def sentence(self) -> Any:
        pick = self.rng.random()
        if pick < 0.44:
            return self.clause()
        if pick < 0.56:
            return self.fact()
        if pick < 0.61:
            return self.copula(past=self.chance(0.4))
        if pick < 0.66:
            return self.copula(compared=True)
        if pick < 0.73:
            return self.question()
        if pick < 0.83:
            frame = zipf(self.rng, self.world.says)
            speaker = self.subject(frame.subj)
            reported = self.fact() if self.chance(0.2) else self.clause(simple=self.chance(0.5))
            return Report(speaker, frame.verb, "past" if self.chance(0.7) else "pres", reported)
        if pick < 0.93:
            conj = self.rng.choice(["because", "although", "when"])
            main = self.clause("past", simple=True)
            sub: Any = self.clause("past", simple=True)._replace(fronted=False)
            if conj != "when" and self.chance(0.4):
                sub = self.copula(past=True)
            return Complex(conj, main._replace(fronted=False), sub, self.chance(0.4))
        return Coord(
            self.rng.choice(["and", "but"]), self.clause("past", simple=True), self.clause("past", simple=True)
        )

    def question(self) -> Question:
        wh = self.rng.choice(["", "when", "where", "why"])
        clause = self.clause(self.rng.choice(["past", "fut", "can"]), simple=True)
        while isinstance(clause.subj, Pronoun) or (wh == "where" and clause.goal):
            clause = self.clause(self.rng.choice(["past", "fut", "can"]), simple=True)
        clause = clause._replace(adv=None, fronted=False)
        return Question(
            wh, clause._replace(time=None) if wh == "when" else clause._replace(place=None) if wh == "where" else clause
        )

    def other(self, fact: Any) -> Any:
        """Another fact of the same kind: name, city, date, number, price or colour. None for other nodes."""
        rng = self.rng
        match fact:
            case Person(gender=gender):
                return self.new_person(gender)._replace(**({} if fact.last else {"last": ""}))
            case City():
                return City(rng.choice(self.world.cities))
            case Time(kind="date", value=(_, month, year)):
                return Time("date", (rng.randint(1, 28), month, year))  # type: ignore[has-type]
            case Time(kind="month", value=(_, year)):
                return Time("month", (rng.randint(1, 12), year))  # type: ignore[has-type]
            case Time(kind="year", value=(year,)):
                return Time("year", (year + rng.choice([-2, -1, 1, 2]),))  # type: ignore[has-type]
            case Time(kind="weekday"):
                return Time("weekday", str(rng.randint(1, 7)))
            case Money():
                return self.price()._replace(currency=fact.currency)
            case NP(number=number) if number:
                return fact._replace(number=self.count())
            case NP(adj=adj) if adj in self.world.colours:
                kind = self.world.types[fact.noun]
                return fact._replace(
                    adj=rng.choice([adj for adj in self.world.adjectives[kind] if adj in self.world.colours])
                )
            case Change():
                return fact._replace(tenths=rng.randint(5, 299))
            case Age():
                return fact._replace(years=rng.randint(18, 89))
        return None


def paths(tree: Any, here: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The place of every node of a tree, as the field names that lead there."""
    yield here
    for name in getattr(tree, "_fields", ()):
        if hasattr(getattr(tree, name), "_fields"):
            yield from paths(getattr(tree, name), (*here, name))


def change_one_fact(tree: Any, writer: Writer) -> Any:
    """The same meaning with one fact changed, or None when it has no fact that can change."""
    places = list(paths(tree))
    writer.rng.shuffle(places)
    for place in places:
        nodes = [tree]
        for name in place:
            nodes.append(getattr(nodes[-1], name))
        new = writer.other(nodes[-1])
        if new is not None and new != nodes[-1]:
            for node, name in zip(reversed(nodes[:-1]), reversed(place), strict=True):
                new = node._replace(**{name: new})
            return new
    return None


def draw_document(rng: random.Random) -> list[Any]:
    """The meanings of the 6 to 20 sentences of a document; about one in six is another with one fact changed."""
    writer = Writer(rng)
    meanings: dict[Any, None] = {}
    length = rng.randint(6, 20)
    while len(meanings) < length:
        meaning = None
        if meanings and rng.random() < 0.17:
            meaning = change_one_fact(rng.choice(list(meanings)), writer)
        meanings[meaning or writer.sentence()] = None
    return list(meanings)
