"""Says a meaning in a language: one class a language, with its morphology, agreement and word order."""

import re
from functools import cache
from typing import Any

from bitextbench.synth.lexicon import cell, key, table
from bitextbench.synth.meaning import NP, Age, Born, Change, City, Clause, Complex, Coord, Copula, Cost, Person, Pronoun
from bitextbench.synth.meaning import Question, Report, There, Time

NBSP = "\u00a0"


class Language:
    """What the languages share: the lexicon's cells, and the shape of complex sentences."""

    code = ""
    that = ""  # opens reported speech, with its comma
    but = ", {} "
    group, point = ",", "."  # of numbers
    group_from = 1000  # the first number that is grouped

    def __init__(self) -> None:
        self.nouns = {key(row["en"]): cell(row[self.code]) for row in table("nouns")}
        self.locs = {key(row["en"]): row["loc"].split()[self.loc_column] for row in table("nouns") if row["loc"]}
        self.adjectives = {key(row["en"]): cell(row[self.code]) for row in table("adjectives")}
        self.verbs = {key(row["en"]): cell(row[self.code]) for row in table("verbs")}
        self.cities = {row["en"]: row[self.code] for row in table("cities")}
        self.words = {(row["type"], row["key"]): row[self.code] for row in table("words")}
        for method in ("noun", "adj", "verb"):  # the same few forms are asked for again and again
            if hasattr(self, method):
                setattr(self, method, cache(getattr(self, method)))

    @property
    def loc_column(self) -> int:
        return ["en", "de", "fr", "es", "ru", "zh"].index(self.code)

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
                return self.clause(left) + (self.but.format(word) if conj == "but" else self.and_.format(word)) + self.clause(right)
        return self.clause(meaning)

    before_sub = " "
    and_ = " {} "

    def clause(self, meaning: Any) -> str:
        raise NotImplementedError

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
        return getattr(self, time.kind)(*time.value)

    def month_name(self, month: int) -> str:
        return self.words["month", str(month)]

    def adverb(self, clause: Clause, kind: str) -> str:
        return self.words[clause.adv] if clause.adv and clause.adv[0] == kind else ""


def words(*parts: str) -> str:
    """The parts that are not empty, with spaces."""
    return " ".join(part for part in parts if part)


def plural(np: Any) -> bool:
    return isinstance(np, NP) and np.plural


class English(Language):
    code, that, and_ = "en", " that ", ", {} "

    def np(self, x: Any) -> str:
        match x:
            case Person(first, last):
                return words(first, last)
            case Pronoun(gender):
                return "he" if gender == "m" else "she"
            case City(name):
                return name
        noun = self.noun(x.noun, x.plural)
        det = f"{self.np(x.owner)}'s" if x.owner else "this" if x.det == "this" else x.det
        if x.plural:
            det = {"a": "", "this": "these"}.get(det, det)
        rest = words(" ".join(self.adjectives[x.adj][0][:1]) if x.adj else "", noun)
        if x.count:
            rest, det = f"{self.count(x.count)} {rest}", ""
        elif det == "a" and rest[0] in "aeiou" and not rest.startswith("uni"):
            det = "an"
        return words(det, rest, f"who {self.clause(x.rel, relative=True)}" if x.rel else "")

    def noun(self, noun: str, many: bool) -> str:
        forms = self.nouns[noun][0]
        if not many:
            return forms[0]
        return forms[1] if len(forms) > 1 else re.sub("([^aeiou])y$", r"\1ie", forms[0]) + ("es" if re.search("(s|x|ch|sh)$", noun) else "s")

    def verb(self, verb: str) -> tuple[str, str, str, str]:
        """Base, third person, past, participle."""
        forms = self.verbs[verb][0]
        base, _, particle = forms[0].partition(" ")
        third = re.sub("([^aeiou])y$", r"\1ie", base) + ("es" if re.search("(s|x|ch|sh)$", base) else "s")
        past = forms[1] if len(forms) > 1 else re.sub("([^aeiou])y$", r"\1ie", base).removesuffix("e") + "ed"
        participle = forms[2] if len(forms) > 2 else past
        return forms[0], words(third, particle), past, participle

    def vp(self, c: Clause, *, ask: bool = False) -> tuple[str, str]:
        """The auxiliary ("" for none) and the rest of the verb."""
        many = plural(c.obj if c.passive else c.subj)
        base, third, past, participle = self.verb(c.verb)
        modal = {"fut": "will", "can": "can", "must": "must"}.get(c.tense)
        if c.passive:
            return (modal, f"be {participle}") if modal else ("were" if many else "was", participle)
        if modal:
            return modal, base
        if c.tense == "want":
            base, third = f"want to {base}", f"wants to {base}"
        if c.neg or ask:
            return ("did" if c.tense == "past" else "do" if many else "does"), base
        return "", past if c.tense == "past" else base if many else third

    def clause(self, c: Any, relative: bool = False) -> str:
        match c:
            case Copula(subj, adj, past, than):
                forms = self.adjectives[adj][0]
                if than:
                    forms = [(f"more {adj}" if forms[1] == "more" else forms[1]) + f" than {self.np(than)}"]
                be = ("were" if past else "are") if plural(subj) else "was" if past else "is"
                return f"{self.np(subj)} {be} {forms[0]}"
            case Change(what, up, tenths, time):
                return f"the price of {self.np(what)} {'rose' if up else 'fell'} by {self.percent(tenths)}% {self.time(time)}"
            case Cost(subj, price):
                currency = self.words["currency", price.currency]
                return f"{self.np(subj)} costs {self.amount(price.amount, 'million', 'million')} {currency}"
            case Age(subj, years):
                return f"{self.np(subj)} is {self.number(years)} years old"
            case Born(subj, time, place):
                return f"{self.np(subj)} was born {self.time(time)} in {self.np(place)}"
            case There(what, place):
                return f"there are {self.np(what)} {self.place(place)}"
        aux, verb = self.vp(c)
        if c.neg:
            aux = "cannot" if aux == "can" else f"{aux} not"
        subj = "" if relative else self.np(c.obj if c.passive else c.subj)
        text = words(subj, aux, self.adverb(c, "mid"), verb, self.rest(c))
        time = self.time(c.time)
        return f"{time}, {text}" if c.fronted and not relative else words(text, time)

    def rest(self, c: Clause) -> str:
        return words(
            self.np(c.obj) if c.obj and not c.passive else "",
            f"to {self.np(c.recipient)}" if c.recipient else "",
            self.adverb(c, "manner"),
            f"from {self.np(c.source)}" if c.source else "",
            f"to {self.np(c.goal)}" if c.goal else "",
            f"by {self.np(c.subj)}" if c.passive and c.subj else "",
            self.place(c.place) if c.place else "",
        )

    def place(self, place: Any) -> str:
        return f"in {place.name}" if isinstance(place, City) else f"{self.locs[place.noun]} {self.np(place)}"

    def question(self, wh: str, c: Clause) -> str:
        aux, verb = self.vp(c, ask=True)
        return words(wh, aux, self.np(c.subj), verb, self.rest(c), self.time(c.time))

    def date(self, d: int, m: int, y: int) -> str:
        return f"on {self.month_name(m)} {d}, {y}"

    def month(self, m: int, y: int) -> str:
        return f"in {self.month_name(m)} {y}"

    def year(self, y: int) -> str:
        return f"in {y}"

    def clock(self, h: int, m: int) -> str:
        return f"at {h % 12 or 12}:{m:02} {'am' if h < 12 else 'pm'}"


class German(Language):
    code, that, before_sub, and_ = "de", ", dass ", ", ", " {} "
    group, point = ".", ","
    GENDERS = "mfnp"
    DEFINITE = {"nom": "der die das die", "acc": "den die das die", "dat": "dem der dem den", "gen": "des der des der"}
    THIS = {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en", "gen": "es er es er"}
    EIN = {"nom": " e  e", "acc": "en e  e", "dat": "em er em en", "gen": "es er es er"}  # ein, sein, ihr
    WEAK = {"nom": "e e e en", "acc": "en e e en", "dat": "en en en en", "gen": "en en en en"}
    MIXED = {"nom": "er e es en", "acc": "en e es en", "dat": "en en en en", "gen": "en en en en"}
    STRONG = {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en", "gen": "en er en er"}
    CONTRACTIONS = {"in dem": "im", "an dem": "am", "bei dem": "beim", "von dem": "vom"}

    def pick(self, endings: dict[str, str], case: str, gender: str) -> str:
        return endings[case].split(" ")[self.GENDERS.index(gender)]

    def gender(self, x: Any) -> str:
        return "p" if x.plural else self.nouns[x.noun][0][0]

    def np(self, x: Any, case: str = "nom") -> str:
        match x:
            case Person(first, last):
                return words(first, last)
            case Pronoun(gender):
                return "er" if gender == "m" else "sie"
            case City(name):
                return self.cities[name]
        gender = self.gender(x)
        if x.count:
            det, endings = self.count(x.count), self.STRONG
        elif x.det == "this":
            det, endings = "dies" + self.pick(self.THIS, case, gender), self.WEAK
        elif x.det == "the":
            det, endings = self.pick(self.DEFINITE, case, gender), self.WEAK
        elif x.det == "a" and x.plural:
            det, endings = "", self.STRONG
        else:
            det = {"a": "ein", "his": "sein", "her": "ihr"}[x.det] + self.pick(self.EIN, case, gender)
            endings = self.MIXED
        text = words(det, self.adj(x.adj, self.pick(endings, case, gender)) if x.adj else "", self.noun(x.noun, case, x.plural))
        if x.owner:
            text += f" von {self.np(x.owner)}" if isinstance(x.owner, Person) else f" {self.np(x.owner, 'gen')}"
        if x.rel:
            text += f", {self.pick(self.DEFINITE, 'nom', gender)} {self.sub(x.rel, relative=True)},"
        return text

    def noun(self, noun: str, case: str, many: bool) -> str:
        gender, one, more, *weak = self.nouns[noun][0]
        if many:
            return more + ("n" if case == "dat" and more[-1] not in "ns" else "")
        if weak and case != "nom":
            return more
        if case == "gen" and gender != "f":
            return one + ("es" if one[-1] in "sßxz" else "s")
        return one

    def adj(self, adj: str, ending: str) -> str:
        forms, special = self.adjectives[adj]
        return special.get("s", forms[0]) + ending

    def verb(self, verb: str, many: bool) -> tuple[str, str, str, str, str]:
        """Prefix, finite present, infinitive, participle, the perfect's auxiliary."""
        infinitive, third, participle, *marks = [form for form in self.verbs[verb][0] if form[0] != "@"]
        prefix, tilde, stem = infinitive.partition("~")
        stem = stem or prefix
        perfect = ("sind" if many else "ist") if marks else "haben" if many else "hat"
        return prefix if tilde else "", stem if many else third, infinitive.replace("~", ""), participle, perfect

    def parts(self, c: Any) -> tuple[str, str, list[str], str, str]:
        """Subject, finite verb, midfield, what ends a main clause, the same in a verb-final clause (without the finite)."""
        match c:
            case Copula(subj, adj, past, than):
                forms = self.adjectives[adj][0]
                mid = [f"{forms[1]} als {self.np(than)}" if than else forms[0]]
                return self.np(subj), ("waren" if past else "sind") if plural(subj) else "war" if past else "ist", mid, "", ""
            case Change(what, up, tenths, time):
                mid = [self.time(time), f"um {self.percent(tenths)} Prozent"]
                verb = "gestiegen" if up else "gefallen"
                return f"der Preis für {self.np(what, 'acc')}", "ist", mid, verb, verb
            case Cost(subj, price):
                amount = self.amount(price.amount, "Millionen", "Millionen")
                return self.np(subj), "kostet", [amount, self.words["currency", price.currency]], "", ""
            case Age(subj, years):
                return self.np(subj), "ist", [f"{self.number(years)} Jahre alt"], "", ""
            case Born(subj, time, place):
                return self.np(subj), "wurde", [self.time(time), f"in {self.np(place)}"], "geboren", "geboren"
            case There(what, place):
                return "es", "gibt", [self.place(place), self.np(what, "acc")], "", ""
        many = plural(c.obj if c.passive else c.subj)
        prefix, present, infinitive, participle, perfect = self.verb(c.verb, many)
        werden = "werden" if many else "wird"
        modal = {
            "fut": werden, "can": "können" if many else "kann", "must": "müssen" if many else "muss", "want": "wollen" if many else "will",
        }.get(c.tense)  # fmt: skip
        if c.passive:
            finite, final = (modal, f"{participle} werden") if modal else ("wurden" if many else "wurde", participle)
        elif modal:
            finite, final = modal, infinitive
        elif c.tense == "past":
            finite, final = perfect, participle
        else:
            return self.np(c.subj), present, self.midfield(c), prefix, prefix + "~"
        return self.np(c.obj if c.passive else c.subj), finite, self.midfield(c), final, final

    def midfield(self, c: Clause) -> list[str]:
        return [
            f"von {self.np(c.subj, 'dat')}" if c.passive and c.subj else "",
            self.adverb(c, "mid"),
            self.np(c.recipient, "dat") if c.recipient else "",
            self.obj(c) if c.obj and not c.passive else "",
            self.adverb(c, "manner"),
            "nicht" if c.neg else "",
            self.place(c.place) if c.place else "",
            f"von {self.np(c.source)}" if c.source else "",
            f"nach {self.np(c.goal)}" if c.goal else "",
        ]

    def obj(self, c: Clause) -> str:
        governs = next((form[1:] for form in self.verbs[c.verb][0] if form[0] == "@"), "acc")
        preposition, _, case = governs.rpartition("+")
        return words(preposition, self.np(c.obj, case))

    def place(self, place: Any) -> str:
        return f"in {self.np(place)}" if isinstance(place, City) else f"{self.locs[place.noun]} {self.np(place, 'dat')}"

    def clause(self, c: Any) -> str:
        subj, finite, mid, final, _ = self.parts(c)
        time = self.time(getattr(c, "time", None)) if isinstance(c, Clause) else ""
        if time and c.fronted:
            return words(time, finite, subj, *mid, final)
        return words(subj, finite, time, *mid, final)

    def sub(self, c: Any, relative: bool = False) -> str:
        """Verb-final order; a separated prefix goes back to its verb."""
        subj, finite, mid, _, final = self.parts(c)
        time = self.time(c.time) if isinstance(c, Clause) else ""
        end = final[:-1] + finite if final.endswith("~") else words(final, finite)
        return words("" if relative else subj, time, *mid, end)

    def after_sub(self, c: Any) -> str:
        return self.question("", c)

    def question(self, wh: str, c: Any) -> str:
        subj, finite, mid, final, _ = self.parts(c)
        return words(wh, finite, subj, self.time(c.time), *mid, final)

    def finish(self, text: str, question: bool) -> str:
        for apart, contracted in self.CONTRACTIONS.items():
            text = text.replace(f" {apart} ", f" {contracted} ")
        return super().finish(text, question)

    def date(self, d: int, m: int, y: int) -> str:
        return f"am {d}. {self.month_name(m)} {y}"

    def month(self, m: int, y: int) -> str:
        return f"im {self.month_name(m)} {y}"

    def year(self, y: int) -> str:
        return f"im Jahr {y}"

    def clock(self, h: int, m: int) -> str:
        return f"um {h}.{m:02} Uhr"


class Romance(Language):
    """What French and Spanish share: gender and number of the noun phrase, and subject, verb, object."""

    feminine_a = ""  # the feminine name of a person's participle is regular
    by = wh_is = ""

    def gender(self, x: Any) -> str:
        return x.gender if isinstance(x, Person | Pronoun) else self.nouns[x.noun][0][0]

    def noun(self, noun: str, many: bool) -> str:
        _, one, *more = self.nouns[noun][0]
        return (more[0] if more else self.pluralise(one)) if many else one

    def pluralise(self, form: str) -> str:
        raise NotImplementedError

    def agree(self, participle: str, x: Any) -> str:
        raise NotImplementedError


class French(Romance):
    code, that = "fr", " que "
    and_, before_sub = " {} ", " "
    group, point = NBSP, ","
    DET = {"the": "le la les", "a": "un une des", "this": "ce cette ces", "his": "son sa ses", "her": "son sa ses"}
    SOUND = "(?=[aàâeéèêioôuœhAEÉIOU](?!uit |nze ))"
    JOINS = tuple(
        (re.compile(pattern), by)
        for pattern, by in (
            (rf"\b([LlDdNn])[ea] {SOUND}", r"\1'"),
            (rf"\b([Qq]u)e {SOUND}", r"\1'"),
            (rf"\bce {SOUND}", "cet "),
            (rf"\bsa {SOUND}", "son "),
            (r"\bsi il", "s'il"),
            (r"\bde le ", "du "),
            (r"\bde les ", "des "),
            (r"\bà le ", "au "),
            (r"\bà les ", "aux "),
            (r"\bde des ", "de "),
        )
    )

    def np(self, x: Any) -> str:
        match x:
            case Person(first, last):
                return words(first, last)
            case Pronoun(gender):
                return "il" if gender == "m" else "elle"
            case City(name):
                return self.cities[name]
        gender = self.gender(x)
        noun = self.noun(x.noun, x.plural)
        det = self.count(x.count) if x.count else self.DET[x.det].split()["mf".index(gender) if not x.plural else 2]
        if x.adj:
            before = "<" in self.adjectives[x.adj][0]
            adj = self.adj(x.adj, gender, x.plural)
            if before and gender == "m" and not x.plural and re.match(self.SOUND, noun):
                adj = self.adjectives[x.adj][1].get("v", adj)
            if before and det == "des":
                det = "de"
            noun = f"{adj} {noun}" if before else f"{noun} {adj}"
        owner = f"de {self.np(x.owner)}" if x.owner else ""
        return words(det, noun, owner, f"qui {self.clause(x.rel, relative=True)}" if x.rel else "")

    def pluralise(self, form: str) -> str:
        if form[-1] in "sxz":
            return form
        return form[:-2] + "aux" if form.endswith("al") else form + ("x" if form.endswith("eau") else "s")

    def adj(self, adj: str, gender: str, many: bool) -> str:
        forms = [form for form in self.adjectives[adj][0] if form != "<"]
        form = forms[0]
        if gender == "f":
            form = forms[1] if len(forms) > 1 else self.feminine(form)
        return self.pluralise(form) if many else form

    @staticmethod
    def feminine(form: str) -> str:
        for end, other in (("eau", "elle"), ("er", "ère"), ("eux", "euse"), ("e", "e")):
            if form.endswith(end):
                return form.removesuffix(end) + other
        return form + "e"

    def agree(self, participle: str, x: Any) -> str:
        form = participle + ("e" if self.gender(x) == "f" else "")
        return form + "s" if plural(x) and form[-1] != "s" else form

    def verb(self, verb: str, many: bool) -> dict[str, str]:
        forms, special = self.verbs[verb]
        infinitive, third = forms[:2]
        future = special.get("fut", infinitive.removesuffix("e") + "a")
        return {
            "inf": infinitive,
            "pres": special.get("pl", third + "nt") if many else third,
            "fut": future[:-1] + "ont" if many else future,
            "part": special.get("pp", infinitive[:-2] + "é" if infinitive.endswith("er") else infinitive[:-1]),
            "aux": "e" if "e" in forms[2:] else "a",
        }

    def vp(self, c: Clause) -> tuple[str, str]:
        """The finite verb and what follows the negation."""
        done = c.obj if c.passive else c.subj
        many = plural(done)
        verb = self.verb(c.verb, many)
        participle = self.agree(verb["part"], done) if c.passive or verb["aux"] == "e" else verb["part"]
        have, modal = "ont" if many else "a", {"can": "peuvent peut", "must": "doivent doit", "want": "veulent veut"}.get(c.tense)
        infinitive = f"être {participle}" if c.passive else verb["inf"]
        if modal:
            return modal.split()[not many], infinitive
        if c.passive:
            return (have, f"été {participle}") if c.tense == "past" else ("seront" if many else "sera", participle)
        if c.tense == "past":
            return (("sont" if many else "est") if verb["aux"] == "e" else have), participle
        return verb[c.tense], ""

    def clause(self, c: Any, relative: bool = False) -> str:
        match c:
            case Copula(subj, adj, past, than):
                be = ("étaient" if past else "sont") if plural(subj) else "était" if past else "est"
                form = self.adj(adj, self.gender(subj), plural(subj))
                return f"{self.np(subj)} {be} " + (f"plus {form} que {self.np(than)}" if than else form)
            case Change(what, up, tenths, time):
                verb = "augmenté" if up else "baissé"
                return f"le prix de {self.np(what)} a {verb} de {self.percent(tenths)}{NBSP}% {self.time(time)}"
            case Cost(subj, price):
                currency = self.words["currency", price.currency]
                amount = self.amount(price.amount, "million de", "millions de")
                return f"{self.np(subj)} coûte {amount} {currency}"
            case Age(subj, years):
                return f"{self.np(subj)} a {self.number(years)} ans"
            case Born(subj, time, place):
                return f"{self.np(subj)} est {self.agree('né', subj)} {self.time(time)} à {self.np(place)}"
            case There(what, place):
                return f"il y a {self.np(what)} {self.place(place)}"
        finite, verb = self.vp(c)
        if c.neg:
            finite = f"ne {finite} pas"
        subj = "" if relative else self.np(c.obj if c.passive else c.subj)
        text = words(
            subj, finite, self.adverb(c, "mid"), verb,
            self.np(c.obj) if c.obj and not c.passive else "",
            self.adverb(c, "manner"),
            f"à {self.np(c.recipient)}" if c.recipient else "",
            f"de {self.np(c.source)}" if c.source else "",
            f"à {self.np(c.goal)}" if c.goal else "",
            f"par {self.np(c.subj)}" if c.passive and c.subj else "",
            self.place(c.place) if c.place else "",
        )  # fmt: skip
        time = self.time(c.time)
        return f"{time}, {text}" if c.fronted and not relative else words(text, time)

    def place(self, place: Any) -> str:
        return f"à {self.np(place)}" if isinstance(place, City) else f"{self.locs[place.noun]} {self.np(place)}"

    def question(self, wh: str, c: Clause) -> str:
        return words(wh, "est-ce que", self.clause(c))

    def finish(self, text: str, question: bool) -> str:
        for pattern, by in self.JOINS:
            text = pattern.sub(by, text)
        return text[0].upper() + text[1:] + (f"{NBSP}?" if question else ".")

    def date(self, d: int, m: int, y: int) -> str:
        return f"le {'1er' if d == 1 else d} {self.month_name(m)} {y}"

    def month(self, m: int, y: int) -> str:
        return f"en {self.month_name(m)} {y}"

    def year(self, y: int) -> str:
        return f"en {y}"

    def clock(self, h: int, m: int) -> str:
        return f"à {h} h {m:02}" if m else f"à {h} h"


class Spanish(Romance):
    code, that, but = "es", " que ", ", {} "
    group, point, group_from = ".", ",", 10_000
    DET = {"the": "el la los las", "a": "un una unos unas", "this": "este esta estos estas", "his": "su su sus sus", "her": "su su sus sus"}
    JOINS = tuple(
        (re.compile(pattern), by) for pattern, by in ((r"\ba el ", "al "), (r"\bde el ", "del "), (r"\by (?=[iI]|hi)", "e "))
    )

    def np(self, x: Any) -> str:
        match x:
            case Person(first, last):
                return words(first, last)
            case Pronoun():
                return ""  # the verb is enough
            case City(name):
                return self.cities[name]
        gender = self.gender(x)
        det = self.count(x.count) if x.count else self.DET[x.det].split(" ")["mf".index(gender) + 2 * x.plural]
        owner = f"de {self.np(x.owner)}" if x.owner else ""
        rel = f"que {self.clause(x.rel, relative=True)}" if x.rel else ""
        return words(det, self.noun(x.noun, x.plural), self.adj(x.adj, gender, x.plural) if x.adj else "", owner, rel)

    def pluralise(self, form: str) -> str:
        if form[-1] in "aeiouéó":
            return form + "s"
        stem = form[:-1] + "c" if form[-1] == "z" else form
        for accented, plain in (("ón", "on"), ("án", "an"), ("ín", "in"), ("és", "es"), ("ús", "us")):
            if stem.endswith(accented):
                stem = stem.removesuffix(accented) + plain
        return stem + "es"

    def adj(self, adj: str, gender: str, many: bool) -> str:
        forms = self.adjectives[adj][0]
        if many and len(forms) > 1:
            return forms[1]
        form = forms[0][:-1] + "a" if gender == "f" and forms[0][-1] == "o" else forms[0]
        return self.pluralise(form) if many else form

    def agree(self, participle: str, x: Any) -> str:
        form = participle[:-1] + "a" if self.gender(x) == "f" else participle
        return form + "s" if plural(x) else form

    def verb(self, verb: str, many: bool) -> dict[str, str]:
        forms, special = self.verbs[verb]
        infinitive, third = forms
        first = infinitive.endswith("ar")
        past = special.get("pret", f"{infinitive[:-2]}ó,{infinitive[:-2]}aron" if first else f"{infinitive[:-2]}ió,{infinitive[:-2]}ieron")
        return {
            "inf": infinitive,
            "pres": third + "n" if many else third,
            "past": past.split(",")[many],
            "fut": special.get("fut", infinitive + "á").removesuffix("á") + ("án" if many else "á"),
            "part": special.get("pp", infinitive[:-2] + ("ado" if first else "ido")),
        }

    def vp(self, c: Clause) -> str:
        done = c.obj if c.passive else c.subj
        many = plural(done)
        verb = self.verb(c.verb, many)
        participle = self.agree(verb["part"], done) if c.passive else ""
        modal = {"can": "puede", "must": "debe", "want": "quiere"}.get(c.tense)
        if modal:
            return words(modal + "n" * many, f"ser {participle}" if c.passive else verb["inf"])
        if c.passive:
            return words({"past": "fue fueron", "fut": "será serán"}[c.tense].split()[many], participle)
        return verb[c.tense]

    def clause(self, c: Any, relative: bool = False) -> str:
        match c:
            case Copula(subj, adj, past, than):
                be = ("eran" if past else "son") if plural(subj) else "era" if past else "es"
                if adj == "tired":
                    be = ("estaban" if past else "están") if plural(subj) else "estaba" if past else "está"
                form = self.adj(adj, self.gender(subj), plural(subj))
                return f"{self.np(subj)} {be} " + (f"más {form} que {self.np(than)}" if than else form)
            case Change(what, up, tenths, time):
                verb = "subió" if up else "bajó"
                return f"el precio de {self.np(what)} {verb} un {self.percent(tenths)}{NBSP}% {self.time(time)}"
            case Cost(subj, price):
                amount = self.amount(price.amount, "millones de", "millones de")
                return f"{self.np(subj)} cuesta {amount} {self.words['currency', price.currency]}"
            case Age(subj, years):
                return f"{self.np(subj)} tiene {self.number(years)} años"
            case Born(subj, time, place):
                return f"{self.np(subj)} nació {self.time(time)} en {self.np(place)}"
            case There(what, place):
                return f"hay {self.np(what)} {self.place(place)}"
        text = words(
            "" if relative else self.np(c.obj if c.passive else c.subj),
            "no" if c.neg else "", self.adverb(c, "mid"), self.vp(c), self.rest(c),
        )  # fmt: skip
        time = self.time(c.time)
        return f"{time}, {text}" if c.fronted and not relative else words(text, time)

    def rest(self, c: Clause) -> str:
        animate = isinstance(c.obj, Person) or (isinstance(c.obj, NP) and c.obj.noun in PEOPLE)
        return words(
            words("a" if animate else "", self.np(c.obj)) if c.obj and not c.passive else "",
            self.adverb(c, "manner"),
            f"a {self.np(c.recipient)}" if c.recipient else "",
            f"de {self.np(c.source)}" if c.source else "",
            f"a {self.np(c.goal)}" if c.goal else "",
            f"por {self.np(c.subj)}" if c.passive and c.subj else "",
            self.place(c.place) if c.place else "",
        )

    def place(self, place: Any) -> str:
        return f"{'en' if isinstance(place, City) else self.locs[place.noun]} {self.np(place)}"

    def question(self, wh: str, c: Clause) -> str:
        return words(wh, self.vp(c), self.np(c.subj), self.rest(c), self.time(c.time))

    def finish(self, text: str, question: bool) -> str:
        for pattern, by in self.JOINS:
            text = pattern.sub(by, text)
        text = text[0].upper() + text[1:]
        return f"¿{text}?" if question else f"{text}."

    def date(self, d: int, m: int, y: int) -> str:
        return f"el {d} de {self.month_name(m)} de {y}"

    def month(self, m: int, y: int) -> str:
        return f"en {self.month_name(m)} de {y}"

    def year(self, y: int) -> str:
        return f"en {y}"

    def clock(self, h: int, m: int) -> str:
        return f"a las {h}:{m:02}"


PEOPLE = {key(row["en"]) for row in table("nouns") if row["type"] == "p"}


def russian_spelling(form: str) -> str:
    """ы is not written after velars and hushers."""
    return re.sub("([гкхжшщч])ы", r"\1и", form)


def decline(marks: str, nominative: str, special: dict[str, str]) -> dict[str, str]:
    """The forms of a Russian noun: nom, gen, dat, acc, ins, loc; Nom, Gen, Dat, Acc are the plural's."""
    if "0" in marks:
        return dict.fromkeys(("nom", "gen", "dat", "acc", "ins", "loc"), nominative)
    last, stem = nominative[-1], special.get("s", nominative[:-1])
    husher = nominative[-2] in "жшщчц"
    if marks[0] == "f" and last == "ь":
        table_ = "и и ь ью и и ей"
    elif last == "ь":
        table_ = f"я ю * {'ём' if '!' in marks else 'ем'} е и ей"
    elif last == "й":
        table_ = f"я ю * ем {'и' if nominative.endswith('ий') else 'е'} и ев"
    elif last == "а":
        table_ = f"ы е у {'ей' if husher else 'ой'} е ы -"
    elif last == "я":
        table_ = "и и ю ей и и й" if nominative.endswith("ия") else "и е ю ей е и ь"
    elif last == "о":
        table_ = "а у о ом е а -"
    elif last == "е":
        table_ = "я ю е ем и я й" if nominative.endswith("ие") else "я ю е ем е я й"
    else:
        stem, hush = special.get("s", nominative), last in "жшщчц"
        ending = "ей" if last in "жшщч" else "ев" if last == "ц" and "!" not in marks else "ов"
        table_ = f"а у * {'ем' if hush and '!' not in marks else 'ом'} е ы {ending}"
    gen, dat, acc, ins, loc, Nom, Gen = (stem + ending.strip("-") for ending in table_.split())
    forms = {"nom": nominative, "gen": gen, "dat": dat, "ins": ins, "loc": special.get("l", loc)}
    forms |= {"Nom": special.get("p", Nom), "Gen": special.get("gp", Gen)}
    animate = "a" in marks
    forms["acc"] = (forms["gen"] if animate else nominative) if acc.endswith("*") else acc
    if marks[0] == "f" and last == "ь":
        forms["acc"] = nominative
    forms["Acc"] = forms["Gen" if animate else "Nom"]
    forms["Dat"] = forms["Nom"][:-1] + ("ам" if re.search("([аы]|[гкхжшщч]и)$", forms["Nom"]) else "ям")
    return {case: russian_spelling(special.get(case, form)) for case, form in forms.items()}


class Russian(Language):
    code, that, before_sub, and_, but = "ru", ", что ", ", ", ", {} ", ", {} "
    group, point, group_from = NBSP, ",", 10_000
    CASES = ("nom", "gen", "dat", "acc", "ins", "loc")
    HARD = {"m": "ый ого ому * ым ом", "f": "ая ой ой ую ой ой", "n": "ое ого ому ое ым ом", "p": "ые ых ым * ыми ых"}
    SOFT = {"m": "ий его ему * им ем", "f": "яя ей ей юю ей ей", "n": "ее его ему ее им ем", "p": "ие их им * ими их"}
    THIS = {"m": "этот этого этому * этим этом", "f": "эта этой этой эту этой этой", "n": "это этого этому это этим этом", "p": "эти этих этим * этими этих"}
    OWN = {"m": "свой своего своему * своим своём", "f": "своя своей своей свою своей своей", "n": "своё своего своему своё своим своём", "p": "свои своих своим * своими своих"}

    def __init__(self) -> None:
        super().__init__()
        self.forms = {noun: decline(*forms[:2], special) for noun, (forms, special) in self.nouns.items()}
        self.city_forms = {name: decline(*text.split(), {}) for name, text in self.cities.items()}
        names = {row["latin"]: (row["type"], row["ru"]) for row in table("names")}
        self.first = {name: decline(f"{kind}a", form, {}) for name, (kind, form) in names.items() if kind != "l"}
        self.last = {name: decline("ma", form, {}) for name, (kind, form) in names.items() if kind == "l"}

    def gender(self, x: Any) -> str:
        if isinstance(x, Person | Pronoun):
            return x.gender
        return "p" if x.plural else self.nouns[x.noun][0][0][0]

    def np(self, x: Any, case: str = "nom") -> str:
        match x:
            case Person(first, last, gender):
                return words(self.first[first][case], self.last[last][case if gender == "m" else "nom"] if last else "")
            case Pronoun(gender):
                return "он" if gender == "m" else "она"
            case City(name):
                return self.city_forms[name][case]
        marks = self.nouns[x.noun][0][0]
        gender, animate = self.gender(x), "a" in marks
        forms = self.forms[x.noun]
        if x.count:
            text = self.counted(x, case, marks[0], animate)
        else:
            det = self.pick(self.THIS if x.det == "this" else self.OWN, gender, case, animate) if x.det in ("this", "his", "her") else ""
            adj = self.adj(x.adj, gender, case, animate) if x.adj else ""
            text = words(det, adj, forms[case.capitalize() if x.plural else case])
        if x.owner:
            text += " " + self.np(x.owner, "gen")
        if x.rel:
            text += f", {self.adj('which', gender, 'nom', animate)} {self.clause(x.rel, relative=True)},"
        return text

    def counted(self, x: NP, case: str, gender: str, animate: bool) -> str:
        """Two to four take the genitive singular, five and on the genitive plural; adjectives stand in the plural."""
        forms, few = self.forms[x.noun], x.count % 10 in (2, 3, 4) and x.count % 100 not in (12, 13, 14)
        adj = lambda case: self.adj(x.adj, "p", case, False) if x.adj else ""  # noqa: E731
        numerals = self.count(x.count).split(" ") if x.count <= 10 else [self.number(x.count)] * 4
        if case == "dat":
            return words(numerals[3], adj("dat"), forms["Dat"])
        if case == "acc" and animate and x.count <= 4:
            return words(numerals[2], adj("gen"), forms["Gen"])
        number = numerals[gender == "f"]
        return words(number, adj("nom" if few and gender == "f" else "gen"), forms["gen" if few else "Gen"])

    def pick(self, forms: dict[str, str], gender: str, case: str, animate: bool) -> str:
        row = forms[gender].split()
        form = row[self.CASES.index(case)]
        return row[self.CASES.index("gen" if animate else "nom")] if form == "*" else form

    def adj(self, adj: str, gender: str, case: str, animate: bool) -> str:
        form = self.adjectives[adj][0][0] if adj != "which" else "который"
        stem, stressed = form[:-2], form.endswith("ой")
        soft = form.endswith("ий") and stem[-1] not in "гкхжшщч"
        if case == "nom" and gender == "m" or (case == "acc" and gender == "m" and not animate):
            return form
        ending = self.pick(self.SOFT if soft else self.HARD, gender, case, animate)
        if stem[-1] in "жшщч" and not stressed and ending[0] == "о":
            ending = "е" + ending[1:]
        return russian_spelling(stem + ending)

    def verb(self, verb: str) -> dict[str, str]:
        forms, special = self.verbs[verb]
        infinitive, pres, pres_many, fut, fut_many, *passive = [form for form in forms if form[0] != "@"]
        past = infinitive[:-4] + "лся" if infinitive.endswith("ться") else infinitive.removesuffix("ть") + "л"
        past = special.get("past", past)
        reflexive = "сь" if past.endswith("ся") else ""
        base = past.removesuffix("ся")
        stem = base.removesuffix("ёл") + "л" if base.endswith("ёл") else base if base.endswith("л") else base.replace("ё", "е") + "л"
        return {
            "inf": infinitive, "pres": pres, "Pres": pres_many, "fut": fut, "Fut": fut_many, "m": past,
            "f": f"{stem}а{reflexive}", "n": f"{stem}о{reflexive}", "p": f"{stem}и{reflexive}", "passive": passive[0] if passive else "",
        }  # fmt: skip

    def vp(self, c: Clause) -> tuple[str, str]:
        """The finite verb and what follows it."""
        done = c.obj if c.passive else c.subj
        gender, many = self.gender(done), plural(done)
        verb = self.verb(c.verb)
        must = "долж" + {"m": "ен", "f": "на", "n": "но", "p": "ны"}[gender]
        can, want = ("могут", "хотят") if many else ("может", "хочет")
        short = {"m": "", "f": "а", "n": "о", "p": "ы"}[gender]
        done_form = verb["passive"].replace("ён", "ен" if short else "ён") + short
        modal = {"can": can, "must": must, "want": want}.get(c.tense)
        if modal:
            return modal, f"быть {done_form}" if c.passive else verb["inf"]
        if c.passive:
            be = {"m": "был", "f": "была", "n": "было", "p": "были"}[gender] if c.tense == "past" else "будут" if many else "будет"
            return be, done_form
        return verb[gender if c.tense == "past" else c.tense.capitalize() if many else c.tense], ""

    def clause(self, c: Any, relative: bool = False) -> str:
        match c:
            case Copula(subj, adj, past, than):
                gender = self.gender(subj)
                if than:
                    return f"{self.np(subj)} {self.adjectives[adj][0][1]}, чем {self.np(than)}"
                be = {"m": "был", "f": "была", "n": "было", "p": "были"}[gender] if past else ""
                return words(self.np(subj), be, self.adj(adj, gender, "nom", False))
            case Change(what, up, tenths, time):
                text = f"цена на {self.np(what, 'acc')} {'выросла' if up else 'упала'} на {self.percent(tenths)}{NBSP}%"
                return f"{self.time(time)} {text}"
            case Cost(subj, price):
                return f"{self.np(subj)} стоит {self.price(price.amount, self.words['currency', price.currency].split())}"
            case Age(subj, years):
                return f"{self.np(subj, 'dat')} {years} {self.measure(years, ['год', 'года', 'лет'])}"
            case Born(subj, time, place):
                return f"{self.np(subj)} {'родился' if subj.gender == 'm' else 'родилась'} {self.time(time)} {self.place(place)}"
            case There(what, place):
                return f"{self.place(place)} находятся {self.np(what)}"
        finite, verb = self.vp(c)
        subj = "" if relative else self.np(c.obj if c.passive else c.subj)
        text = words(subj, self.adverb(c, "mid"), self.adverb(c, "manner"), "не" if c.neg else "", finite, verb, self.rest(c))
        time = self.time(c.time)
        return words(time, text) if c.fronted and not relative else words(text, time)

    def rest(self, c: Clause) -> str:
        case = next((form[1:] for form in self.verbs[c.verb][0] if form[0] == "@"), "acc")
        return words(
            self.np(c.recipient, "dat") if c.recipient else "",
            self.np(c.obj, case) if c.obj and not c.passive else "",
            f"из {self.np(c.source, 'gen')}" if c.source else "",
            f"{self.into(c.goal)} {self.np(c.goal, 'acc')}" if c.goal else "",
            self.np(c.subj, "ins") if c.passive and c.subj else "",
            self.place(c.place) if c.place else "",
        )

    def into(self, city: City) -> str:
        return "во" if self.cities[city.name].split()[1].startswith("Фл") else "в"

    def place(self, place: Any) -> str:
        return f"{self.into(place) if isinstance(place, City) else self.locs[place.noun]} {self.np(place, 'loc')}"

    def question(self, wh: str, c: Clause) -> str:
        if wh:
            return f"{wh} {self.clause(c)}"
        finite, verb = self.vp(c)
        return words(finite, "ли", self.np(c.subj), verb, self.rest(c), self.time(c.time))

    @staticmethod
    def measure(value: int, forms: list[str]) -> str:
        if value % 100 in (11, 12, 13, 14) or value % 10 in (0, 5, 6, 7, 8, 9):
            return forms[2]
        return forms[0] if value % 10 == 1 else forms[1]

    def price(self, amount: int, currency: list[str]) -> str:
        if amount < 1_000_000:
            return f"{self.number(amount)} {self.measure(amount, currency)}"
        whole = amount % 1_000_000 == 0
        million = self.measure(amount // 1_000_000, ["миллион", "миллиона", "миллионов"]) if whole else "миллиона"
        return f"{self.percent(amount // 100_000)} {million} {currency[2]}"

    def date(self, d: int, m: int, y: int) -> str:
        return f"{d} {self.month_name(m)} {y} года"

    def month(self, m: int, y: int) -> str:
        return f"в {self.month_name(m)[:-1]}е {y} года"

    def year(self, y: int) -> str:
        return f"в {y} году"

    def clock(self, h: int, m: int) -> str:
        return f"в {h}:{m:02}"


class Chinese(Language):
    """No spaces, no inflection: time, place and manner before the verb, clauses before the noun, measure words."""

    code, that = "zh", "，"

    def np(self, x: Any) -> str:
        match x:
            case Person(first, last):
                return self.names[first] + (f"·{self.names[last]}" if last else "")
            case Pronoun(gender):
                return "他" if gender == "m" else "她"
            case City(name):
                return self.cities[name]
        noun, measure = self.nouns[x.noun][0]
        if x.count:
            det = self.count(x.count) + measure
        elif x.det == "this":
            det = "这些" if x.plural else f"这{measure}"
        elif x.det == "a":
            det = "一些" if x.plural else f"一{measure}"
        elif x.det in ("his", "her"):
            det = "他的" if x.det == "his" else "她的"
        else:
            det = f"{self.np(x.owner)}的" if x.owner else "那些" if x.plural else ""
        rel = f"{self.clause(x.rel, relative=True)}的" if x.rel else ""
        return rel + det + (f"{self.adjectives[x.adj][0][0]}的" if x.adj else "") + noun

    def __init__(self) -> None:
        super().__init__()
        self.names = {row["latin"]: row["zh"] for row in table("names")}

    def clause(self, c: Any, relative: bool = False) -> str:
        match c:
            case Copula(subj, adj, _, than):
                form = self.adjectives[adj][0][0]
                return self.np(subj) + (f"比{self.np(than)}更{form}" if than else f"很{form}")
            case Change(what, up, tenths, time):
                return f"{self.time(time)}{self.np(what)}的价格{'上涨' if up else '下跌'}了{self.percent(tenths)}%"
            case Cost(subj, price):
                return f"{self.np(subj)}的价格是{self.number(price.amount)}{self.words['currency', price.currency]}"
            case Age(subj, years):
                return f"{self.np(subj)}{years}岁"
            case Born(subj, time, place):
                return f"{self.np(subj)}{self.time(time)}出生于{self.np(place)}"
            case There(what, place):
                return f"{self.place(place)[1:]}有{self.np(what)}"
        time = self.time(c.time)
        subj = self.np(c.obj if c.passive else c.subj) if not relative else ""
        verb = self.verbs[c.verb][0][0]
        modal = {"past": "没有", "pres": "不", "fut": "不会", "can": "不能", "want": "不想"} if c.neg else {"fut": "将", "can": "能", "must": "必须", "want": "想"}
        text = "".join(
            (
                self.adverb(c, "mid"), modal.get(c.tense, ""),
                self.place(c.place) if c.place else "",
                f"被{self.np(c.subj) if c.subj else ''}" if c.passive else "",
                self.adverb(c, "manner"),
                f"从{self.np(c.source)}" if c.source else "",
                verb,
                "了" if c.tense == "past" and not c.neg and verb not in SAYS else "",
                self.np(c.recipient) if c.recipient else "",
                self.np(c.obj) if c.obj and not c.passive else "",
                self.np(c.goal) if c.goal else "",
            )
        )  # fmt: skip
        return f"{time}，{subj}{text}" if c.fronted and not relative else subj + time + text

    def place(self, place: Any) -> str:
        return f"在{self.np(place)}" + ("" if isinstance(place, City) else self.locs[place.noun].strip("-"))

    def say(self, meaning: Any) -> str:
        match meaning:
            case Complex("when", main, sub):
                return f"{self.clause(sub)}的时候，{self.clause(main)}"
            case Complex("because", main, sub):
                return f"因为{self.clause(sub)}，所以{self.clause(main)}"
            case Complex("although", main, sub):
                return f"虽然{self.clause(sub)}，但是{self.clause(main)}"
            case Coord(conj, left, right):
                return f"{self.clause(left)}，{self.words['conj', conj]}{self.clause(right)}"
        return super().say(meaning)

    def question(self, wh: str, c: Clause) -> str:
        """The question word stands where its answer would: when, where, why all come after the subject."""
        text = self.clause(c)
        if not wh:
            return f"{text}吗"
        head = self.np(c.subj) + self.time(c.time)
        return head + wh + text.removeprefix(head)

    def finish(self, text: str, question: bool) -> str:
        return text + ("？" if question else "。")

    def number(self, value: int) -> str:
        return f"{value / 10_000:g}万" if value >= 10_000 and value % 100 == 0 else str(value)

    def date(self, d: int, m: int, y: int) -> str:
        return f"{y}年{m}月{d}日"

    def month(self, m: int, y: int) -> str:
        return f"{y}年{m}月"

    def year(self, y: int) -> str:
        return f"{y}年"

    def clock(self, h: int, m: int) -> str:
        return f"{h}点{m:02}分" if m else f"{h}点"


SAYS = {cell(row["zh"])[0][0] for row in table("verbs") if row["args"].endswith(">s")}

LANGUAGES: dict[str, type[Language]] = {
    language.code: language for language in (English, German, French, Spanish, Russian, Chinese)
}
