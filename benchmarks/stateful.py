"""How guidance copes with peers that remember: messages until all is covered, guided and at random.

`make bench-stateful` prints one line for each peer of `tests/navigation/stateful_peers.py`, and for each of
`untuned_peers.py`, `everyday_peers.py`, `held_out_peers.py`, `unseen_peers.py` and `later_peers.py`, which need only
be covered better than by a random walk: over the seeds, the median of the messages until all paths of up to five
symbols were covered, the least and the most, and how many of the runs got there; guided with `--until coverage`, and
as a random walk, which uses learnt values as well. A run is stopped at the end of the session in which it has had
1500 messages; where the median run was stopped, its coverage is shown instead. A bar that is missed is shown as
MISSED, and then the exit status is 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "navigation"))
from everyday_peers import EVERYDAY
from held_out_peers import HELD_OUT
from later_peers import LATER
from stateful_peers import PEERS, stateful_campaign
from unseen_peers import UNSEEN
from untuned_peers import UNTUNED

from palaver.campaign.events import SessionEnded

MOST_MESSAGES = 1500

NOBODY_TUNED_FOR = (*UNTUNED, *EVERYDAY, *HELD_OUT, *UNSEEN, *LATER)

LEAST_FULL = 0.95  # of all guided runs
MOST_MEDIAN = 200  # messages
MOST_OF_RANDOM = 0.7
MOST_OF_SHELF = 40  # messages, in each run


class Outcome(NamedTuple):
    """What a run took, and what it covered."""

    messages: int
    covered: int
    total: int

    @property
    def is_full(self) -> bool:
        return self.covered == self.total


class Runs(NamedTuple):
    """Runs with one peer, one for each seed."""

    outcomes: Sequence[Outcome]

    @property
    def full(self) -> int:
        return sum(outcome.is_full for outcome in self.outcomes)

    @property
    def median(self) -> float:
        """The median of the messages; infinite if that run was stopped."""
        return statistics.median(o.messages if o.is_full else float("inf") for o in self.outcomes)

    @property
    def share(self) -> float:
        """The median of the coverage."""
        return statistics.median(outcome.covered / outcome.total for outcome in self.outcomes)

    def __str__(self) -> str:
        if self.median == float("inf"):
            shown = f"({self.share:.1%})"
        else:
            messages = [outcome.messages for outcome in self.outcomes]
            shown = f"{self.median:.0f} ({min(messages)}-{max(messages)})"
        return f"{shown:>18} {self.full:>4}"


def run(name: str, seed: int, *, is_guided: bool) -> Outcome:
    """Talk to a peer until all is covered, or for long enough."""
    campaign = stateful_campaign(name, seed, is_guided=is_guided)
    goal = campaign.guidance.goal_progress
    for event in campaign:
        is_over = campaign.progress.messages >= MOST_MESSAGES or goal.reached == goal.total
        if isinstance(event, SessionEnded) and is_over:
            break
    campaign.close()
    return Outcome(campaign.progress.messages, goal.reached, goal.total)


def missed(name: str, guided: Runs, walks: Runs) -> Iterator[str]:
    """The bars that a peer misses."""
    if name in NOBODY_TUNED_FOR:
        if guided.share < walks.share:
            yield "as much as a random walk"
        return
    if guided.median > MOST_MEDIAN:
        yield f"at most {MOST_MEDIAN} messages"
    if walks.median < float("inf") and guided.median > MOST_OF_RANDOM * walks.median:
        yield f"at most {MOST_OF_RANDOM} of a random walk"
    if name == "shelf" and max(outcome.messages for outcome in guided.outcomes) > MOST_OF_SHELF:
        yield f"at most {MOST_OF_SHELF} messages in each run"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="how many runs of each kind (default: 10)")
    parser.add_argument("--first", type=int, default=1, help="the first seed (default: 1)")
    parser.add_argument("--only", action="append", choices=PEERS, help="only this peer; may be repeated")
    parser.add_argument("--no-random", action="store_true", help="no random walks")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    is_missed = False
    full = 0
    names = arguments.only or list(PEERS)
    print(f"{'':12} {'guided':>18} {'full':>4} {'at random':>18} {'full':>4} {'ratio':>6}")
    for name in names:
        guided = Runs([run(name, seed, is_guided=True) for seed in seeds])
        walks = Runs([] if arguments.no_random else [run(name, seed, is_guided=False) for seed in seeds])
        full += guided.full if name not in NOBODY_TUNED_FOR else 0
        bars = list(missed(name, guided, walks)) if walks.outcomes else []
        ratio = guided.median / walks.median if walks.outcomes and walks.median < float("inf") else None
        shown = "" if ratio is None else f"{ratio:.2f}x"
        is_missed = is_missed or bool(bars)
        rest = f" {walks} {shown:>6}" if walks.outcomes else ""
        print(f"{name:12} {guided}{rest}{''.join(f'  MISSED: {bar}' for bar in bars)}", flush=True)
    if counted := [name for name in names if name not in NOBODY_TUNED_FOR]:
        share = full / (len(counted) * len(seeds))
        is_missed = is_missed or share < LEAST_FULL
        print(f"guided runs that covered all: {share:.1%}{'' if share >= LEAST_FULL else '  MISSED'}")
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main())
