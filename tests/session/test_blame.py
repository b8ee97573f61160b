"""Who broke a constraint: our own messages obey all of them, and a message of the peer is accused where it came."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from driven_session import CLIENT, DrivenSession

import palaver
from palaver.session.findings import FindingKind, Verdict
from palaver.session.setup import SessionSetup
from palaver.testing import run_pair

CASES = Path(__file__).parent.parent / "cases"


def of_parties(text: str) -> str:
    """A spec of a program as one of a client and a server."""
    return text.replace("<In:", "<Client:").replace("<Out:", "<Server:")


def case(name: str) -> str:
    return of_parties((CASES / name).read_text())


def driven(text: str, answer: Callable[[bytes], bytes], seed: int = 1) -> DrivenSession:
    """A session as the client of a server that answers each line."""
    session = DrivenSession(text, seed=seed).open()
    for _ in range(300):
        if session.session.is_over:
            break
        asked = session.talk()
        if session.session.is_over:
            break
        if not asked:
            session.wait(10)
        for line in asked.splitlines(keepends=True):
            if (said := answer(line)) and not session.session.is_over:
                session.hear(said)
    return session


def echo(line: bytes) -> bytes:
    return b"BYE\n" if line == b"QUIT\n" else line.replace(b"ASK", b"SAY")


@pytest.mark.parametrize("name", ["uniq.fan", "never.fan", "later4.fan", "ber3.fan"])
def test_our_messages_obey_constraints_over_the_whole_session(name: str) -> None:
    spec = palaver.loads(case(name))
    for seed in range(6):
        pair = run_pair(spec, seed=seed)
        assert [session.findings for session in pair] == [[], []]


def test_what_we_cannot_say_is_not_the_fault_of_the_peer() -> None:
    text = case("uniq.fan").replace("[a-z]", "[a-f]")
    session = driven(text, echo)
    assert session.kinds == [FindingKind.UNSOLVED]
    assert session.session.verdict is Verdict.INCONCLUSIVE
    asked = [each.data for each in session.session.said if each.symbol == "<ask>"]
    assert len(asked) == len(set(asked)) == 6


def lamp(line: bytes) -> bytes:
    word, _, level = line.strip().partition(b" ")
    return b"DARK\n" if word == b"OFF" else b"GLOW %d\n" % min(int(level), 7)


LAMP = case("root.fan").partition("def want")[0]
AGREES = """
def agrees(rounds):
    return all(str(each[0])[6:] == str(each[1])[5:] for each in rounds)
def said_so(tree):
    levels = [str(level) for level in tree.find_subtrees("<level>")]
    return all(one == other for one, other in zip(levels[::2], levels[1::2]))
def as_above(glow):
    return str(glow)[5:] == str(glow.parent[0])[6:]
"""
OPAQUE = [
    "forall <r> in <round>: str(<r>[1])[5:] == str(<r>.get_root() and <r>[0])[6:]",
    "agrees(*<round>)",
    "forall <g> in <glow>: as_above(<g>)",
    "as_above(<glow>)",
    "said_so(<start>)",
    "agrees(*<start>.<round>)",
    "all(as_above(g) for g in *<glow>)",
]


@pytest.mark.parametrize("condition", OPAQUE)
def test_a_message_is_accused_by_conditions_that_look_at_everything(condition: str) -> None:
    text = f"{LAMP}{AGREES}where {condition}\n"
    found = 0
    for seed in range(6):
        session = driven(text, lamp, seed)
        dim = [each for each in session.session.said if each.symbol == "<light>" and int(each.data[6:7]) > 7]
        kinds = session.kinds
        assert kinds == ([FindingKind.CONSTRAINT] if dim else [])
        if dim:
            (finding,) = session.session.findings
            assert finding.party == "Server"
            assert finding.got == b"GLOW 7\n"
            assert finding.messages[-1].data == dim[0].data
            found += 1
    assert found > 1


@pytest.mark.parametrize("condition", OPAQUE)
def test_the_correct_peer_is_not_accused(condition: str) -> None:
    text = f"{LAMP}{AGREES}where {condition}\n"
    for seed in range(4):
        session = driven(text, lambda line: b"DARK\n" if line == b"OFF\n" else b"GLOW" + line[5:], seed)
        assert session.session.findings == []


DISTINCT = """
<start> ::= <round>{5} <Client:off> <Server:dark>
<round> ::= <Client:light> <Server:glow>
<light> ::= "LIGHT " <level> "\\n"
<glow> ::= "GLOW " <level> "\\n"
<off> ::= "OFF\\n"
<dark> ::= "DARK\\n"
<level> ::= r"[1-9]"
where len({str(r)[:7] for r in *<round>}) == len(*<round>)
"""


def test_what_only_we_can_have_broken_is_not_blamed_on_who_completes_a_node() -> None:
    for seed in range(6):
        session = driven(DISTINCT, lambda line: b"DARK\n" if line == b"OFF\n" else b"GLOW 1\n", seed)
        assert session.session.findings == []
    session = driven(DISTINCT.replace("[1-9]", "[1-3]"), lambda _: b"GLOW 1\n")
    assert session.kinds == [FindingKind.UNSOLVED]


def test_a_condition_on_a_node_as_a_whole_that_we_break_is_not_blamed_on_the_peer() -> None:
    text = DISTINCT.partition("where")[0] + "where forall <r> in <round>: int(str(<r>)[6]) < 5\n"
    for seed in range(6):
        session = driven(text, lambda line: b"DARK\n" if line == b"OFF\n" else b"GLOW 9\n", seed)
        assert session.session.findings == []
        assert all(int(each.data[6:7]) < 5 for each in session.session.said if each.symbol == "<light>")


ANSWERS = """
<start> ::= <exchange>{6} <Client:quit> <Server:bye>
<exchange> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK " <word> "\\n"
<answer> ::= "SAY " <n> "\\n"
<quit> ::= "QUIT\\n"
<bye> ::= "BYE\\n"
<word> ::= r"[a-z]"
<n> ::= r"[0-9]"
"""


@pytest.mark.parametrize(
    "condition",
    [
        "len(set(str(n) for n in *<answer>.<n>)) == len(*<answer>.<n>)",
        "sorted(str(n) for n in *<n>) == [str(n) for n in *<n>]",
        "increasing(*<n>)",
        "|<exchange>| < 99 and increasing(*<answer>.<n>)",
    ],
)
def test_the_message_that_broke_a_condition_on_a_list_is_accused(condition: str) -> None:
    text = f"""{ANSWERS}
def increasing(numbers):
    return all(int(a) < int(b) for a, b in zip(numbers, numbers[1:]))
where {condition}
"""
    answers = iter([b"SAY 1\n", b"SAY 4\n", b"SAY 1\n", b"SAY 5\n", b"SAY 6\n", b"SAY 7\n"])
    session = driven(text, lambda line: b"BYE\n" if line == b"QUIT\n" else next(answers))
    (finding,) = session.session.findings
    assert (finding.kind, finding.party, finding.got) == (FindingKind.CONSTRAINT, "Server", b"SAY 1\n")
    assert len(finding.messages) == 5


BALANCED = """
<start> ::= <Client:open> <Server:ok> (<Client:open> <Server:ok> | <Client:shut> <Server:ok>){3,9}
<open> ::= "(\\n"
<shut> ::= ")\\n"
<ok> ::= "ok\\n"
def balanced(messages):
    text = "".join(map(str, messages))
    return text.count("(") == text.count(")")
"""


@pytest.mark.parametrize("condition", ["balanced(*<open> + *<shut>)", "balanced([<start>])"])
def test_a_condition_that_fails_on_the_way_does_not_silence_us(condition: str) -> None:
    verdicts = []
    for seed in range(8):
        session = driven(f"{BALANCED}where {condition}\n", lambda _: b"ok\n", seed)
        assert session.session.verdict in (Verdict.PASS, Verdict.INCONCLUSIVE), session.session.findings
        assert len(session.session.said) >= 4
        verdicts.append(session.session.verdict)
    assert Verdict.PASS in verdicts


def test_a_count_is_exceeded_by_the_message_that_begins_one_more() -> None:
    text = """
<start> ::= <Client:go> (<a> | <b>){4}
<a> ::= <Server:aa> <Client:ok>
<b> ::= <Server:bb> <Client:ok>
<go> ::= "go\\n"
<aa> ::= "a\\n"
<bb> ::= "b\\n"
<ok> ::= "ok\\n"
where len(*<b>) == 1
"""
    answers = iter([b"a\n", b"b\n", b"b\n"])
    session = driven(text, lambda _: next(answers))
    (finding,) = session.session.findings
    assert (finding.kind, finding.got, len(finding.messages)) == (FindingKind.CONSTRAINT, b"b\n", 5)


LATER = case("later4.fan").replace("<Server:got>{1,3}", "<Server:got>{1,3} <Server:done>") + '<done> ::= "done\\n"\n'


@pytest.mark.parametrize(("said", "wrong"), [(b"got a\ngot a\ndone\n", b""), (b"got a\ndone\n", b"done\n")])
def test_too_few_answers_are_the_fault_of_the_peer(said: bytes, wrong: bytes) -> None:
    text = LATER.replace("<Client:put>{1,3}", "<Client:put>{2}")
    session = driven(text, lambda line: said if line == b"end\n" else b"")
    assert [finding.got for finding in session.session.findings] == ([wrong] if wrong else [])
    assert session.kinds == ([FindingKind.CONSTRAINT] if wrong else [])


def test_a_message_that_only_the_peer_could_send_and_did_not_is_its_fault() -> None:
    text = LATER.replace("<Client:put>{1,3}", "<Client:put>{2}").replace("<Server:done>", "<Client:done>")
    session = driven(text, lambda line: b"got a\n" if line == b"end\n" else b"")
    (finding,) = session.session.findings
    assert (finding.kind, finding.party) == (FindingKind.CONSTRAINT, "Server")
    assert "has not sent what a constraint demands" in finding.message


@pytest.mark.parametrize("ours", [True, False])
def test_an_exception_in_a_condition_is_an_error_in_the_spec_whoever_spoke(ours: bool) -> None:
    text = f"""{ANSWERS}
def odd(word):
    return {{}}[str(word)]
where odd({"<word>" if ours else "<n>"})
"""
    session = driven(text, lambda _: b"SAY 1\n")
    (finding,) = session.session.findings
    assert finding.kind is FindingKind.SPEC_CRASH
    assert finding.verdict is Verdict.ERROR
    assert "KeyError" in finding.message
    assert ":12" in finding.message  # the line that raised


WORDS = """
<start> ::= <round>{3}
<round> ::= <Client:ask> <Server:more> <Server:tell>
<ask> ::= "ask " <word> "\\n"
<more> ::= "more " <word> "\\n"
<tell> ::= "tell " <word> "\\n"
<word> ::= r"[a-c]"
def strictly(round):
    words = [str(word) for word in round.find_subtrees("<word>")]
    return len(words) > 1 and words[0] == words[-1]
def as_asked(message):
    return str(message)[5:] == str(message.parent[0])[4:]
where forall <t> in <tell>: as_asked(<t>)
where all(strictly(round) for round in *<round>)
"""


def test_the_message_that_could_still_have_made_it_hold_is_accused() -> None:
    session = DrivenSession(WORDS).open()
    asked = session.talk()[4:]
    other = b"a\n" if asked != b"a\n" else b"b\n"
    session.hear(b"more " + other)  # the condition could have held here, in the middle of the round
    assert session.session.findings == []
    session.hear(b"tell " + other)
    (finding,) = session.session.findings
    assert (finding.kind, finding.party, finding.got) == (FindingKind.CONSTRAINT, "Server", b"tell " + other)


OVER_BOTH = """
<start> ::= <round>{3} <Client:quit> <Server:bye>
<round> ::= <Client:ask> <Server:tell>
<ask> ::= "ask " <word> "\\n"
<tell> ::= "tell " <word> "\\n"
<quit> ::= "quit\\n"
<bye> ::= "bye\\n"
<word> ::= r"[a-z]"
def distinct(nodes):
    texts = [str(node) for node in nodes]
    return len(texts) == len(set(texts))
where distinct(list(*<ask>.<word>) + list(*<tell>.<word>))
"""


def test_the_peer_is_accused_however_often_it_breaks_what_both_sides_decide() -> None:
    setup = SessionSetup(palaver.loads(OVER_BOTH), CLIENT)
    for seed in range(6):
        session = DrivenSession(setup=setup, seed=seed).open()
        for _ in range(5):
            asked = session.talk()
            if session.session.is_over:
                break
            session.hear(b"bye\n" if asked == b"quit\n" else b"tell " + asked[4:])
        (finding,) = session.session.findings
        first = session.session.said[0].data
        assert (finding.kind, finding.party, finding.got) == (FindingKind.CONSTRAINT, "Server", b"tell " + first[4:])


def test_what_follows_a_message_that_broke_a_condition_on_everything_is_blamed_on_it() -> None:
    session = DrivenSession(
        OVER_BOTH.partition("where")[0] + "where distinct(<start>.find_subtrees('<tell>'))\n"
    ).open()
    for answer in (b"tell a\n", b"tell b\n", b"tell a\n"):
        session.talk()
        session.hear(answer)
    session.talk()
    session.hear(b"nonsense\n")
    (finding,) = session.session.findings
    assert (finding.kind, finding.party, finding.got) == (FindingKind.CONSTRAINT, "Server", b"tell a\n")
    assert len(finding.messages) == 5


AT_LEAST_ONE = """
<start> ::= (<one> | <two>){2} <Client:quit> <Server:bye>
<one> ::= <Client:ask> <Server:tell>
<two> ::= <Client:look> <Server:see>
<ask> ::= "ask\\n"
<tell> ::= "tell\\n"
<look> ::= "look\\n"
<see> ::= "see\\n"
<quit> ::= "quit\\n"
<bye> ::= "bye\\n"
where exists <t> in <two>: True
"""


@pytest.mark.parametrize("condition", ["exists <t> in <two>: True", "len(*<two>) >= 1", "len(*<look>) >= 1"])
def test_the_last_chance_to_satisfy_a_constraint_is_not_missed(condition: str) -> None:
    spec = palaver.loads(AT_LEAST_ONE.replace("exists <t> in <two>: True", condition))
    for seed in range(12):
        for session in run_pair(spec, seed=seed):
            assert session.findings == []
            assert b"look\n" in [each.data for each in session.said]


def test_what_earlier_messages_satisfy_does_not_keep_us_from_answering() -> None:
    text = """
<start> ::= <hello> <round>{9}
<hello> ::= <Client:hi> <Server:welcome>
<round> ::= <Client:ask> <Server:more> <Server:tell>
<hi> ::= "hi\\n"
<welcome> ::= "welcome\\n"
<ask> ::= "ask " <word> "\\n"
<more> ::= "more " <word> "\\n"
<tell> ::= "tell " <word> "\\n"
<word> ::= r"[a-z]{1,2}"
def as_asked(message):
    words = [str(word) for word in message.parent[0].find_subtrees("<word>")]
    return str(next(iter(message.find_subtrees("<word>")))) == words[0]
where exists <h> in <hello>: True
where forall <t> in <tell>: as_asked(<t>)
"""
    spec = palaver.loads(text)
    for seed in range(3):
        assert [session.findings for session in run_pair(spec, seed=seed)] == [[], []]


def test_what_only_later_messages_satisfy_does_not_keep_us_from_answering() -> None:
    text = """
<start> ::= <round>{4} <ready>
<round> ::= <Client:ask> <Server:tell>
<ready> ::= <Client:quit> <Server:bye>
<ask> ::= "ask " <word> "\\n"
<tell> ::= "tell " <word> "\\n"
<quit> ::= "quit\\n"
<bye> ::= "bye\\n"
<word> ::= r"[a-z]{1,2}"
def known(answers, questions):
    return {str(each) for each in answers} <= {str(each) for each in questions}
where known(*<tell>.<word>, *<ask>.<word>)
where exists <r> in <ready>: True
"""
    spec = palaver.loads(text)
    for seed in range(6):
        assert [session.findings for session in run_pair(spec, seed=seed)] == [[], []]


def test_a_peer_that_leaves_us_nothing_to_say_is_accused() -> None:
    text = """
<start> ::= <round>{2,5} <round> <Client:quit> <Server:bye>
<round> ::= <Client:ask> <Server:tell>
<ask> ::= "ask\\n"
<tell> ::= "tell " <word> "\\n"
<word> ::= r"[a-z]"
<quit> ::= "quit\\n"
<bye> ::= "bye\\n"
def distinct(nodes):
    texts = [str(node) for node in nodes]
    return len(texts) == len(set(texts))
where distinct(*<tell>.<word>)
where len(*<ask>) <= 3
"""
    session = DrivenSession(text).open()
    for answer in (b"tell a\n", b"tell b\n", b"tell b\n"):
        assert session.talk() == b"ask\n"
        session.hear(answer)
    session.talk()
    session.wait(60)
    session.talk()
    (finding,) = session.session.findings
    assert (finding.kind, finding.party, finding.got) == (FindingKind.CONSTRAINT, "Server", b"tell b\n")


NUMBERED = """
<start> ::= <exchange>{1,3} <Client:quit> <Server:bye>
<exchange> ::= <Client:ask> <Server:answer>
<ask> ::= "ask\\n"
<answer> ::= "answer " <n> "\\n"
<quit> ::= "quit\\n"
<bye> ::= "bye\\n"
<n> ::= "0" | "1" | "2"
"""


def test_nobody_is_accused_as_long_as_another_message_of_ours_leaves_something_to_repair() -> None:
    # After two different numbers we may not quit, but a third one is still to come.
    for seed in range(20):
        session = DrivenSession(NUMBERED + "where len({str(n) for n in *<answer>.<n>}) != 2\n", seed=seed).open()
        for number in range(3):
            if session.talk() == b"ask\n":
                session.hear(b"answer %d\n" % number)
                session.wait(0.3)
        assert session.kinds == []


LOOKS_AROUND = """
<start> ::= <Client:ask> <Server:first> <Server:second> <Client:more> <Server:third>
<ask> ::= "ask\\n"
<first> ::= "first " <n> "\\n"
<second> ::= "second " <n> "\\n"
<more> ::= "more\\n"
<third> ::= "third " <n> "\\n"
<n> ::= r"[0-9]"
where forall <m> in <first>: comes_again(<m>)
def comes_again(message):
    answers = [each for name in ("<second>", "<third>") for each in message.get_root().find_subtrees(name)]
    return any(str(each)[-2:] == str(message)[-2:] for each in answers)
"""


@pytest.mark.parametrize(("third", "kinds"), [(b"third 4\n", []), (b"third 5\n", [FindingKind.CONSTRAINT])])
def test_code_that_looks_around_a_message_may_say_something_else_of_it_later(
    third: bytes, kinds: list[FindingKind]
) -> None:
    session = DrivenSession(LOOKS_AROUND).open()
    assert session.talk() == b"ask\n"
    session.hear(b"first 4\nsecond 3\n")
    session.wait(0.3)
    assert session.talk() == b"more\n"
    session.hear(third)
    assert session.kinds == kinds


def test_fields_of_one_name_in_other_messages_are_no_reason_to_wait() -> None:
    text = NUMBERED.replace('"quit\\n"', '"quit " <n> "\\n"').replace('"bye\\n"', '"bye " <n> "\\n"')
    text = text.replace("<exchange>{1,3}", "<exchange>{2}")
    session = DrivenSession(text + "where sum(int(n) for n in *<answer>.<n>) == 2\n").open()
    for answer in (b"answer 0\n", b"answer 1\n"):
        assert session.talk() == b"ask\n"
        session.hear(answer)
        session.wait(0.3)
    assert session.kinds == [FindingKind.CONSTRAINT]
    assert session.session.findings[0].got == b"answer 1\n"


def test_a_peer_that_can_only_say_what_is_wrong_is_not_accused() -> None:
    # After one exchange and `quit`, there is one <answer>, and there will be one <bye>.
    text = NUMBERED + "where len(*<bye>) != len(*<answer>)\n"
    kinds: set[FindingKind] = set()
    for seed in range(12):
        session = DrivenSession(text, seed=seed).open()
        for _ in range(4):
            asked = session.talk()
            session.hear(b"bye\n" if asked == b"quit\n" else b"answer 1\n" if asked else b"")
            session.wait(0.3)
        kinds.update(session.kinds)
    assert kinds == {FindingKind.UNSOLVED}


JOBS = """
<start> ::= <step>* <Client:quit> <Server:bye>
<step> ::= <Client:submit> <Server:accepted> | <Client:poll> (<Server:done> | <Server:pending>)
<submit> ::= "submit\\n"
<accepted> ::= "job " <id> "\\n"
<poll> ::= "poll\\n"
<done> ::= "done " <id> "\\n"
<pending> ::= "pending\\n"
<quit> ::= "quit\\n"
<bye> ::= "bye\\n"
<id> ::= r"[0-9]"
def is_done(accepted):
    return any(str(each)[5:] == str(accepted)[4:] for each in accepted.get_root().find_subtrees("<done>"))
"""


@pytest.mark.parametrize(
    "condition",
    [
        "forall <a> in <accepted>: exists <d> in <done>: str(<d>.<id>) == str(<a>.<id>)",
        "forall <a> in <accepted>: is_done(<a>)",
        "{str(x) for x in *<accepted>.<id>} <= {str(x) for x in *<done>.<id>}",
    ],
)
@pytest.mark.parametrize("patience", [0, 3])
def test_whoever_leaves_before_an_answer_can_come_accuses_nobody(condition: str, patience: int) -> None:
    setup = SessionSetup(palaver.loads(f"{JOBS}where {condition}\n"), CLIENT)
    for seed in range(8):
        session = DrivenSession(setup=setup, seed=seed, max_messages=40).open()
        jobs: list[int] = []
        for number in range(40):
            asked = session.talk()
            if session.session.is_over:
                break
            if asked == b"submit\n" and number < 10:
                session.hear(b"job %d\n" % number)
                jobs += [number] * (patience + 1)
            elif asked == b"submit\n":
                session.hear(b"job 9\n")
                jobs += [9] * (patience + 1)
            elif asked == b"poll\n":
                job = jobs.pop(0) if jobs else None
                session.hear(b"pending\n" if job is None or job in jobs else b"done %d\n" % job)
            elif asked == b"quit\n":
                session.hear(b"bye\n")
            session.wait(0.3)
        assert session.kinds == []
