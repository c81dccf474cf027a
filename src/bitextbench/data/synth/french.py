"""French: elision and contraction, adjectives on both sides of the noun, participles that agree."""

import re
from typing import Any

from bitextbench.data.synth.grammar import NBSP, Romance, plural, words
from bitextbench.data.synth.meaning import Age, Born, Change, Clause, Copula, Cost, There

# before a vowel or a mute h; the H of a name is not mute; there is no elision before huit and onze
VOWEL = "(?=[aàâeéèêiîoôuœhAEÉIÎOU](?!uit |nze ))"
ELISION = re.compile(rf"\b([ldn]|qu)[ea] {VOWEL}")
BEFORE_VOWEL = re.compile(rf"\b(ce|sa) {VOWEL}")
CONTRACTIONS = {"de le": "du", "à le": "au", "de les": "des", "à les": "aux", "si il": "s'il"}


DET = {"the": "le la les", "a": "un une des", "this": "ce cette ces", "his": "son sa ses", "her": "son sa ses"}


class French(Romance):
    code, that = "fr", " que "
    and_, before_sub = " {} ", " "
    he, she, at = "il", "elle", "à"
    to, of, by = "à", "de", "par"
    date, month, year = "le {d} {month} {y}", "en {month} {y}", "en {y}"
    clock, hour = "à {h} h {m:02}", "à {h} h"
    group, point = NBSP, ","

    def phrase(self, x: Any) -> str:
        gender = self.gender(x)
        noun = self.noun(x.noun, x.plural)
        det = self.count(x.number) if x.number else DET[x.det].split()["mf".index(gender) if not x.plural else 2]
        if x.adj:
            before = "<" in self.adjectives[x.adj][0]
            adj = self.adj(x.adj, gender, x.plural)
            if before and gender == "m" and not x.plural and re.match(VOWEL, noun):
                adj = self.adjectives[x.adj][1].get("v", adj)
            if before and det == "des":
                det = "de"
            noun = f"{adj} {noun}" if before else f"{noun} {adj}"
        owner = f"de {self.np(x.owner)}" if x.owner else ""
        return words(det, noun, owner, f"qui {self.relative(x.rel)}" if x.rel else "")

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
        have = "ont" if many else "a"
        modal = {"can": "peuvent peut", "must": "doivent doit", "want": "veulent veut"}.get(c.tense)
        infinitive = f"être {participle}" if c.passive else verb["inf"]
        if modal:
            return modal.split()[not many], infinitive
        if c.passive:
            return (have, f"été {participle}") if c.tense == "past" else ("seront" if many else "sera", participle)
        if c.tense == "past":
            return (("sont" if many else "est") if verb["aux"] == "e" else have), participle
        return verb[c.tense], ""

    def fact(self, fact: Any) -> str:
        match fact:
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
        return super().fact(fact)

    def event(self, c: Clause, subj: str) -> str:
        finite, verb = self.vp(c)
        if c.neg:
            finite = f"ne {finite} pas"
        return words(subj, finite, self.adverb(c, "mid"), verb, self.rest(c))

    def question(self, wh: str, c: Clause) -> str:
        return words(wh, "est-ce que", self.clause(c))

    def finish(self, text: str, question: bool) -> str:
        text = ELISION.sub(r"\1'", text)
        text = BEFORE_VOWEL.sub(lambda match: {"ce": "cet ", "sa": "son "}[match[1]], text)
        for apart, joined in CONTRACTIONS.items():
            text = text.replace(f" {apart} ", f" {joined} ")
        return text[0].upper() + text[1:] + (f"{NBSP}?" if question else ".")

    def day(self, d: int) -> str:
        return "1er" if d == 1 else str(d)
