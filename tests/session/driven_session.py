"""Sessions that are driven by hand: one event at a time, on a clock that advances only when it is told."""

from __future__ import annotations

import palaver
from palaver.party import ConnectionMode
from palaver.random_source import RandomSource
from palaver.session.engine import Session, Timeouts
from palaver.session.findings import FindingKind
from palaver.session.interface import Action, Closed, Opened, Received, Send, TimePassed
from palaver.session.setup import RoleAssignment, SessionSetup
from palaver.session.strategy import RandomStrategy

ECHO = """
<start> ::= <exchange>+ <Client:quit> <Server:bye>
<exchange> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK " <word> "\\n"
<answer> ::= "SAY " <word> "\\n"
<quit> ::= "QUIT\\n"
<bye> ::= "BYE\\n"
<word> ::= r"[a-z]{1,8}"
where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
"""

CLIENT = RoleAssignment(
    {"Client": ("tcp://127.0.0.1:1", ConnectionMode.CONNECT), "Server": ("1", ConnectionMode.EXTERNAL)}
)
SERVER = RoleAssignment(
    {"Client": ("1", ConnectionMode.EXTERNAL), "Server": ("tcp://127.0.0.1:1", ConnectionMode.OPEN)}
)


class DrivenSession:
    """A session with the world played by the test."""

    def __init__(
        self,
        text: str = ECHO,
        assignment: RoleAssignment = CLIENT,
        link: str = "Client",
        seed: int = 1,
        setup: SessionSetup | None = None,
        **timeouts: float,
    ) -> None:
        self.link = link
        setup = setup or SessionSetup(palaver.loads(text), assignment)
        self.spec = setup.spec
        chance = RandomSource(seed)
        settings = Timeouts(**timeouts)  # type: ignore[arg-type]
        self.session = Session(setup, RandomStrategy(chance / "player"), chance, settings)
        self.now = 0.0
        self.actions: list[Action] = []
        self.do(TimePassed(0.0))

    def do(self, event: object) -> None:
        self.actions += self.session.handle(event)  # type: ignore[arg-type]

    def open(self) -> DrivenSession:
        self.do(Opened(self.now, self.link))
        return self

    def hear(self, data: bytes, *, is_whole: bool = False, after: float = 0.0) -> None:
        self.now += after
        self.do(Received(self.now, self.link, data, is_whole))

    def close(self, trouble: str | None = None) -> None:
        self.do(Closed(self.now, self.link, trouble))  # type: ignore[arg-type]

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.do(TimePassed(self.now))

    def talk(self) -> bytes:
        """Let the session send what it wants to; return what went out since the last time."""
        while self.session.wants_to_send and self.session.speak(self.now):
            self.actions += self.session.commit(self.now)
        return self.sent()

    def sent(self) -> bytes:
        data = b"".join(action.data for action in self.actions if isinstance(action, Send))
        self.actions = [action for action in self.actions if not isinstance(action, Send)]
        return data

    @property
    def kinds(self) -> list[FindingKind]:
        return [finding.kind for finding in self.session.findings]


def answered(asked: bytes) -> bytes:
    """The answer of a correct server to a request of `ECHO`."""
    return b"BYE\n" if asked == b"QUIT\n" else asked.replace(b"ASK", b"SAY")
