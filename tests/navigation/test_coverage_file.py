"""Coverage files are read back as they were written, and other files are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from guided import campaign, guidance
from test_guided_strategy import LOGIN

from palaver.errors import PalaverError
from palaver.navigation import coverage_file


def test_a_written_coverage_file_is_read_back(tmp_path: Path) -> None:
    run = campaign(LOGIN, 1)
    run.run()
    file = tmp_path / "covered.json"
    coverage_file.write(file, **run.guidance.as_data())
    again = guidance(LOGIN)
    with coverage_file.read(file) as data:
        again.resume_from(data)
    assert set(again.coverage.covered()) == set(run.guidance.coverage.covered())
    assert again.as_data() == run.guidance.as_data() | {"coverage": again.as_data()["coverage"]}


def test_paths_that_the_spec_no_longer_has_are_left_out(tmp_path: Path) -> None:
    run = campaign(LOGIN, 1)
    run.run()
    file = tmp_path / "covered.json"
    coverage_file.write(file, **run.guidance.as_data())
    changed = guidance(LOGIN.replace('"eve"', '"eva"'))
    with coverage_file.read(file) as data:
        changed.resume_from(data)
    missing = list(changed.goal_progress.missing())
    assert missing
    assert all("'eva'" in path for path in missing)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "is not a coverage file: it is not JSON"),
        ('{"format": ', "is not a coverage file: it is not JSON"),
        ("[" * 100_000, "is not a coverage file: it is not JSON"),
        ("[1, 2]", "is not a coverage file of this version"),
        ('{"format": "palaver coverage 0"}', "is not a coverage file of this version"),
        ('{"format": "palaver coverage 1"}', "covered.json is damaged"),
        ('{"format": "palaver coverage 1", "coverage": {"names": [], "paths": [[3]]}}', "covered.json is damaged"),
    ],
)
def test_a_file_that_is_no_coverage_file_is_refused(content: str, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "covered.json"
    file.write_text(content)
    with pytest.raises(PalaverError, match=complaint), coverage_file.read(file) as data:
        guidance(LOGIN).resume_from(data)


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PalaverError, match=r"cannot write the coverage file .*: No such file or directory"):
        coverage_file.write(tmp_path / "nowhere" / "covered.json")
