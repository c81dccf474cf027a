"""Spanish: dropped pronouns, the personal a, the simple past."""

import re
from typing import Any

from bitextbench.data.synth.grammar import NBSP, PEOPLE, Romance, plural, words
from bitextbench.data.synth.meaning import NP, Age, Born, Change, Clause, Copula, Cost, Person, There

DET = {
    "the": "el la los las",
    "a": "un una unos unas",
    "this": "este esta estos estas",
    "his": "su su sus sus",
    "her": "su su sus sus",
}
JOINS = tuple(
    (re.compile(pattern), by)
    for pattern, by in ((r"\ba el ", "al "), (r"\bde el ", "del "), (r"\by (?=[iI]|hi)", "e "))
)


class Spanish(Romance):
    code, that, but, at = "es", " que ", ", {} ", "en"
    to, of, by = "a", "de", "por"
    date, month, year = "el {d} de {month} de {y}", "en {month} de {y}", "en {y}"
    clock = "a las {h}:{m:02}"
    group, point, group_from = ".", ",", 10_000

    def phrase(self, x: Any) -> str:
        gender = self.gender(x)
        det = self.count(x.number) if x.number else DET[x.det].split(" ")["mf".index(gender) + 2 * x.plural]
        owner = f"de {self.np(x.owner)}" if x.owner else ""
        rel = f"que {self.relative(x.rel)}" if x.rel else ""
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
        ends = ("ó", "aron") if first else ("ió", "ieron")
        past = special.get("pret", ",".join(infinitive[:-2] + end for end in ends))
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

    def fact(self, fact: Any) -> str:
        match fact:
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
        return super().fact(fact)

    def event(self, c: Clause, subj: str) -> str:
        return words(subj, "no" if c.neg else "", self.adverb(c, "mid"), self.vp(c), self.rest(c))

    def obj(self, x: Any) -> str:
        animate = isinstance(x, Person) or (isinstance(x, NP) and x.noun in PEOPLE)
        return words("a" if animate else "", self.np(x))

    def question(self, wh: str, c: Clause) -> str:
        return words(wh, self.vp(c), self.np(c.subj), self.rest(c), self.time(c.time))

    def finish(self, text: str, question: bool) -> str:
        for pattern, by in JOINS:
            text = pattern.sub(by, text)
        text = text[0].upper() + text[1:]
        return f"¿{text}?" if question else f"{text}."
