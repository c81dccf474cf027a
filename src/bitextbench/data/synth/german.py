"""German: the finite verb second, or last in a subordinate clause; cases; three kinds of adjective ending."""

from typing import Any

from bitextbench.data.synth.grammar import Language, plural, words
from bitextbench.data.synth.meaning import NP, Age, Born, Change, City, Clause, Copula, Cost, Person, There

GENDERS = "mfnp"
DEFINITE = {"nom": "der die das die", "acc": "den die das die", "dat": "dem der dem den", "gen": "des der des der"}
THIS = {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en", "gen": "es er es er"}
EIN = {"nom": " e  e", "acc": "en e  e", "dat": "em er em en", "gen": "es er es er"}  # ein, sein, ihr
WEAK = {"nom": "e e e en", "acc": "en e e en", "dat": "en en en en", "gen": "en en en en"}
MIXED = {"nom": "er e es en", "acc": "en e es en", "dat": "en en en en", "gen": "en en en en"}
STRONG = {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en", "gen": "en er en er"}
CONTRACTIONS = {"in dem": "im", "an dem": "am", "bei dem": "beim", "von dem": "vom"}


class German(Language):
    code, that, before_sub, and_ = "de", ", dass ", ", ", " {} "
    he, she = "er", "sie"
    date, month, year, clock = "am {d}. {month} {y}", "im {month} {y}", "im Jahr {y}", "um {h}.{m:02} Uhr"
    group, point = ".", ","

    def pick(self, endings: dict[str, str], case: str, gender: str) -> str:
        return endings[case].split(" ")[GENDERS.index(gender)]

    def gender(self, x: Any) -> str:
        return "p" if x.plural else self.nouns[x.noun][0][0]

    def np(self, x: Any, case: str = "nom") -> str:
        return self.phrase(x, case) if isinstance(x, NP) else super().np(x)

    def phrase(self, x: Any, case: str = "nom") -> str:
        gender = self.gender(x)
        if x.number:
            det, endings = self.count(x.number), STRONG
        elif x.det == "this":
            det, endings = "dies" + self.pick(THIS, case, gender), WEAK
        elif x.det == "the":
            det, endings = self.pick(DEFINITE, case, gender), WEAK
        elif x.det == "a" and x.plural:
            det, endings = "", STRONG
        else:
            det = {"a": "ein", "his": "sein", "her": "ihr"}[x.det] + self.pick(EIN, case, gender)
            endings = MIXED
        text = words(
            det, self.adj(x.adj, self.pick(endings, case, gender)) if x.adj else "", self.noun(x.noun, case, x.plural)
        )
        if x.owner:
            text += f" von {self.np(x.owner)}" if isinstance(x.owner, Person) else f" {self.np(x.owner, 'gen')}"
        if x.rel:
            text += f", {self.pick(DEFINITE, 'nom', gender)} {self.sub(x.rel, relative=True)},"
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
        """Subject, finite verb, midfield, the end of a main clause, and what precedes a clause-final finite verb."""
        match c:
            case Copula(subj, adj, past, than):
                forms = self.adjectives[adj][0]
                mid = [f"{forms[1]} als {self.np(than)}" if than else forms[0]]
                be = ("waren" if past else "sind") if plural(subj) else "war" if past else "ist"
                return self.np(subj), be, mid, "", ""
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
        can, must, want = ("können", "müssen", "wollen") if many else ("kann", "muss", "will")
        modal = {"fut": werden, "can": can, "must": must, "want": want}.get(c.tense)
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
        time = self.time(c.time) if isinstance(c, Clause) else ""
        if time and c.fronted:
            return words(time, finite, subj, *mid, final)
        return words(subj, finite, time, *mid, final)

    def sub(self, c: Any, relative: bool = False) -> str:
        """Verb-final order; a separable prefix joins its verb."""
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
        for apart, contracted in CONTRACTIONS.items():
            text = text.replace(f" {apart} ", f" {contracted} ")
        return super().finish(text, question)
