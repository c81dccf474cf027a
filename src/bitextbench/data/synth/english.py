"""English: auxiliaries and do-support, subject before verb."""

import re
from typing import Any

from bitextbench.data.synth.grammar import Language, plural, words
from bitextbench.data.synth.meaning import Age, Born, Change, Clause, Copula, Cost, There


class English(Language):
    code, that, and_ = "en", " that ", ", {} "
    he, she, at = "he", "she", "in"
    date, month, year = "on {month} {d}, {y}", "in {month} {y}", "in {y}"
    clock = "at {twelve}:{m:02} {half}"

    def phrase(self, x: Any) -> str:
        noun = self.noun(x.noun, x.plural)
        det = f"{self.np(x.owner)}'s" if x.owner else "this" if x.det == "this" else x.det
        if x.plural:
            det = {"a": "", "this": "these"}.get(det, det)
        rest = words(" ".join(self.adjectives[x.adj][0][:1]) if x.adj else "", noun)
        if x.number:
            rest, det = f"{self.count(x.number)} {rest}", ""
        elif det == "a" and rest[0] in "aeiou" and not rest.startswith("uni"):
            det = "an"
        return words(det, rest, f"who {self.relative(x.rel)}" if x.rel else "")

    def noun(self, noun: str, many: bool) -> str:
        forms = self.nouns[noun][0]
        if not many:
            return forms[0]
        return (
            forms[1]
            if len(forms) > 1
            else re.sub("([^aeiou])y$", r"\1ie", forms[0]) + ("es" if re.search("(s|x|ch|sh)$", noun) else "s")
        )

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

    def fact(self, fact: Any) -> str:
        match fact:
            case Copula(subj, adj, past, than):
                forms = self.adjectives[adj][0]
                if than:
                    forms = [(f"more {adj}" if forms[1] == "more" else forms[1]) + f" than {self.np(than)}"]
                be = ("were" if past else "are") if plural(subj) else "was" if past else "is"
                return f"{self.np(subj)} {be} {forms[0]}"
            case Change(what, up, tenths, time):
                moved = f"{'rose' if up else 'fell'} by {self.percent(tenths)}%"
                return f"the price of {self.np(what)} {moved} {self.time(time)}"
            case Cost(subj, price):
                currency = self.words["currency", price.currency]
                return f"{self.np(subj)} costs {self.amount(price.amount, 'million', 'million')} {currency}"
            case Age(subj, years):
                return f"{self.np(subj)} is {self.number(years)} years old"
            case Born(subj, time, place):
                return f"{self.np(subj)} was born {self.time(time)} in {self.np(place)}"
            case There(what, place):
                return f"there are {self.np(what)} {self.place(place)}"
        return super().fact(fact)

    def event(self, c: Clause, subj: str) -> str:
        aux, verb = self.vp(c)
        if c.neg:
            aux = "cannot" if aux == "can" else f"{aux} not"
        return words(subj, aux, self.adverb(c, "mid"), verb, self.rest(c))

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

    def question(self, wh: str, c: Clause) -> str:
        aux, verb = self.vp(c, ask=True)
        return words(wh, aux, self.np(c.subj), verb, self.rest(c), self.time(c.time))
