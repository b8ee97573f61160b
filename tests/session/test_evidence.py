"""What others could have said depends on what was said before, and not on how our messages were made."""

from __future__ import annotations

from driven_session import DrivenSession


def test_the_messages_of_a_question_do_not_depend_on_what_we_have_made() -> None:
    def witnessed(*, after: int) -> list[str]:
        driven = DrivenSession().open()
        history = driven.session._history
        for move in list(history.forecast.moves) * after:
            history.maker.make(move)
        witness, found = history._evidence.witness(0), []
        for move in history.forecast.moves:
            witness._aim_at(move)
            found += [repr(node) for node in witness._random_nodes(move, 5)]
        return found

    assert len(set(witnessed(after=0))) > 1
    assert witnessed(after=0) == witnessed(after=3)


def test_two_questions_are_not_answered_by_the_same_messages() -> None:
    history = DrivenSession().open().session._history
    one, other = history._evidence.witness(0), history._evidence.witness(1)
    (move,) = history.forecast.moves
    texts = []
    for witness in (one, other):
        witness._aim_at(move)
        texts.append([repr(node) for node in witness._random_nodes(move, 5)])
    assert texts[0] != texts[1]
