"""Language models that break a rule of the report now and then: which one, and within how many sessions it is found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """The rules of `servers/web_model.py` that are broken in turn, and what is then said not to hold."""

    rules: tuple[str, ...]
    sessions: int
    broken: tuple[str, ...]
    finding: str = "constraint violated"

    @property
    def name(self) -> str:
        return "-".join(self.rules)


BUGS = (
    Bug(("length",), 20, ("len(str(<e>.<response>).split()) >= int(",)),
    Bug(("sections",), 20, ("str(<s>) in str(<e>.<response>)",)),
    Bug(("subject",), 20, ("<subject>) in str(<e>.<response>)",)),
    Bug(("avoid",), 20, ("<avoid>) not in str(<e>.<response>)",)),
    Bug(("avoid", "length"), 20, ("<avoid>) not in str(<e>.<response>)", ".split()) >= int(")),
)
