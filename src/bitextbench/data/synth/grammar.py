"""The shared part of the grammars; a class for each language adds morphology, agreement and word order."""

from functools import cache
from typing import Any

from bitextbench.data.synth.lexicon import cell, key, table
from bitextbench.data.synth.meaning import NP, City, Clause, Complex, Coord, Person, Pronoun, Question, Report, Time

NBSP = "\u00a0"
PEOPLE = {key(row["en"]) for row in table("nouns") if row["type"] == "p"}


class Language:
    """The cells of the lexicon, and the structure of complex sentences."""

    code = ""
    that = ""  # opens reported speech, with its comma
    before_sub = " "  # between a main clause and the conjunction
    and_, but = " {} ", ", {} "
    he, she = "", ""
    group, point = ",", "."  # of numbers
    group_from = 1000  # the first number that is grouped
    at = ""  # before a city
    comma = ","  # after a time that comes first
    # forms of times; `stem`: the month without its last letter; `twelve`, `half`: of the clock with am and pm
    date = month = year = clock = ""
    hour = ""  # of the clock without minutes, where that is another

    def __init__(self) -> None:
        column = ["en", "de", "fr", "es", "ru", "zh"].index(self.code)
        self.nouns = {key(row["en"]): cell(row[self.code]) for row in table("nouns")}
        self.locs = {key(row["en"]): row["loc"].split()[column] for row in table("nouns") if row["loc"]}
        self.adjectives = {key(row["en"]): cell(row[self.code]) for row in table("adjectives")}
        self.verbs = {key(row["en"]): cell(row[self.code]) for row in table("verbs")}
        self.cities = {row["en"]: row[self.code] for row in table("cities")}
        self.words = {(row["type"], row["key"]): row[self.code] for row in table("words")}
        for method in ("noun", "adj", "verb"):  # the same few forms are needed again and again
            if hasattr(self, method):
                setattr(self, method, cache(getattr(self, method)))

    def sentence(self, meaning: Any) -> str:
        """One sentence, with its capital and its full stop."""
        text = self.say(meaning)
        for wrong, right in ((" ,", ","), (",,", ",")):
            text = text.replace(wrong, right)
        return self.finish(text.strip(" ,"), isinstance(meaning, Question))

    def finish(self, text: str, question: bool) -> str:
        return text[0].upper() + text[1:] + ("?" if question else ".")

    def say(self, meaning: Any) -> str:
        match meaning:
            case Question(wh, clause):
                return self.question(self.words["wh", wh] if wh else "", clause)
            case Report(speaker, verb, tense, clause):
                return self.clause(Clause(speaker, verb, tense)) + self.that + self.sub(clause)
            case Complex(conj, main, sub, True):
                return f"{self.words['conj', conj]} {self.sub(sub)}, {self.after_sub(main)}"
            case Complex(conj, main, sub):
                return f"{self.clause(main)}{self.before_sub}{self.words['conj', conj]} {self.sub(sub)}"
            case Coord(conj, left, right):
                word = self.words["conj", conj]
                join = self.but if conj == "but" else self.and_
                return self.clause(left) + join.format(word) + self.clause(right)
        return self.clause(meaning)

    def np(self, x: Any) -> str:
        match x:
            case Person(first, last):
                return words(first, last)
            case Pronoun(gender):
                return self.he if gender == "m" else self.she
            case City(name):
                return self.cities[name]
        return self.phrase(x)

    def phrase(self, x: Any) -> str:
        """A noun phrase that is no name and no pronoun."""
        raise NotImplementedError

    def clause(self, c: Any) -> str:
        if not isinstance(c, Clause):
            return self.fact(c)
        text, when = self.event(c, self.np(c.obj if c.passive else c.subj)), self.time(c.time)
        return words(when + self.comma, text) if c.fronted else words(text, when)

    def relative(self, c: Clause) -> str:
        """A clause whose subject is the noun before it."""
        return words(self.event(c, ""), self.time(c.time))

    def fact(self, fact: Any) -> str:
        """A statement that is no event."""
        raise NotImplementedError

    def event(self, c: Clause, subj: str) -> str:
        """An event without its time."""
        raise NotImplementedError

    def place(self, place: Any) -> str:
        return f"{self.at if isinstance(place, City) else self.locs[place.noun]} {self.np(place)}"

    def sub(self, meaning: Any) -> str:
        return self.clause(meaning)

    def after_sub(self, meaning: Any) -> str:
        return self.clause(meaning)

    def question(self, wh: str, clause: Clause) -> str:
        raise NotImplementedError

    def number(self, value: int) -> str:
        return f"{value:,}".replace(",", self.group) if value >= self.group_from else str(value)

    def count(self, value: int) -> str:
        return self.words["number", str(value)] if value <= 10 else self.number(value)

    def percent(self, tenths: int) -> str:
        return f"{tenths // 10}{self.point}{tenths % 10}" if tenths % 10 else str(tenths // 10)

    def amount(self, value: int, million: str, millions: str) -> str:
        """A sum of money without its currency: 12,300 or 3.5 million. Sums from a million are whole tenths of one."""
        if value < 1_000_000:
            return self.number(value)
        return f"{self.percent(value // 100_000)} {millions if value >= 2_000_000 else million}"

    def time(self, time: Time | None) -> str:
        if time is None:
            return ""
        if isinstance(time.value, str):
            return self.words[time.kind, time.value]
        match time.kind, time.value:
            case "date", (d, m, y):
                return self.date.format(d=self.day(d), month=self.words["month", str(m)], m=m, y=y)
            case "month", (m, y):
                name = self.words["month", str(m)]
                return self.month.format(month=name, stem=name[:-1], m=m, y=y)
            case "year", (y,):
                return self.year.format(y=y)
        h, m = time.value
        form = self.clock if m else self.hour or self.clock
        return form.format(h=h, m=m, twelve=h % 12 or 12, half="am" if h < 12 else "pm")

    def day(self, d: int) -> str:
        return str(d)

    def adverb(self, clause: Clause, kind: str) -> str:
        return self.words[clause.adv] if clause.adv and clause.adv[0] == kind else ""


def words(*parts: str) -> str:
    """The parts that are not empty, with spaces."""
    return " ".join(filter(None, parts))


def plural(np: Any) -> bool:
    return isinstance(np, NP) and np.plural


class Romance(Language):
    """Shared by French and Spanish: gender and number of the noun phrase, and what follows the verb."""

    to, of, by = "", "", ""  # prepositions

    def gender(self, x: Any) -> str:
        return x.gender if isinstance(x, Person | Pronoun) else self.nouns[x.noun][0][0]

    def noun(self, noun: str, many: bool) -> str:
        _, one, *more = self.nouns[noun][0]
        return (more[0] if more else self.pluralise(one)) if many else one

    def pluralise(self, form: str) -> str:
        raise NotImplementedError

    def rest(self, c: Clause) -> str:
        return words(
            self.obj(c.obj) if c.obj and not c.passive else "",
            self.adverb(c, "manner"),
            f"{self.to} {self.np(c.recipient)}" if c.recipient else "",
            f"{self.of} {self.np(c.source)}" if c.source else "",
            f"{self.to} {self.np(c.goal)}" if c.goal else "",
            f"{self.by} {self.np(c.subj)}" if c.passive and c.subj else "",
            self.place(c.place) if c.place else "",
        )

    def obj(self, x: Any) -> str:
        return self.np(x)
