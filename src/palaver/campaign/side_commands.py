"""Commands around the system under test: they prepare it, reset it, look after it, and clean up."""

from __future__ import annotations

from palaver.addresses import Address
from palaver.campaign.campaign_limits import MAX_OUTPUT_BYTES
from palaver.campaign.target_findings import last_lines
from palaver.lean_dataclasses import dataclass
from palaver.session.findings import exit_text
from palaver.session.interface import Close, Closed, Failed, Input, Open, Received, TimePassed
from palaver.transport.driver import EventLoop


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command. `exit_code` is None if it did not end in time, or was never started."""

    exit_code: int | None
    trouble: str  # "" if all is well, else as in "exited with code 1"
    output: bytes  # its end
    others: tuple[Input, ...]  # what has happened meanwhile to other links

    @property
    def last_lines(self) -> list[str]:
        """The end of its output, to be shown."""
        return [f"  | {line}" for line in last_lines(self.output)]


def run_command(loop: EventLoop, link: str, address: Address, seconds: float) -> CommandResult:
    """Run a command and wait for its end, but no longer than some seconds; then it is ended."""
    loop.carry_out([Open(link, address, "connect")])
    until = loop.clock.now() + seconds
    output, others = bytearray(), list[Input]()
    while loop.clock.now() < until:
        for happened in loop.wait(until):
            if isinstance(happened, TimePassed) or happened.link != link:
                others.append(happened)
            elif isinstance(happened, Received):
                output += happened.data
                del output[:-MAX_OUTPUT_BYTES]
            elif isinstance(happened, Closed):
                code = happened.exit_code
                trouble = "" if not code else exit_text(code)
                return CommandResult(code, trouble, bytes(output), _without_time(others))
            elif isinstance(happened, Failed):
                return CommandResult(None, f"cannot be started: {happened.reason}", b"", _without_time(others))
    loop.carry_out([Close(link)])
    return CommandResult(None, f"did not end within {seconds:g} s", bytes(output), _without_time(others))


def _without_time(inputs: list[Input]) -> tuple[Input, ...]:
    return tuple(each for each in inputs if not isinstance(each, TimePassed))
