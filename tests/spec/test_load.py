"""Files, includes, and everything that can be wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from palaver.compiled.bundled import bundled, spec_files
from palaver.errors import SpecError
from palaver.spec.diagnostics import Reporter
from palaver.spec.spec_files import load_files, load_texts


def write(directory: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def order(report: Reporter, paths: Sequence[Path], **options: object) -> list[str]:
    """The names of the loaded files, in their order."""
    loaded = load_files(paths, report, **options)  # type: ignore[arg-type]
    return [Path(spec_file.source.name).name for spec_file in loaded]


def only_error(report: Reporter) -> str:
    (error,) = report.errors
    return str(error)


def test_an_include_stands_before_its_includer_and_the_first_of_several_last(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.fan": "<a> ::= 0\ninclude('one.fan')\ninclude('two.fan')",
            "one.fan": "include('deep.fan')",
            "two.fan": "<a> ::= 1",
            "deep.fan": "",
            "next.fan": "",
        },
    )
    report = Reporter()
    names = order(report, [tmp_path / "main.fan", tmp_path / "next.fan"])
    assert names == ["two.fan", "deep.fan", "one.fan", "main.fan", "next.fan"]
    report.raise_if_errors()


def test_includes_are_looked_for_beside_the_includer_first(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "sub/main.fan": "include('lib/a.fan')\ninclude('b.fan')\ninclude('c.fan')\ninclude('d.fan')",
            "sub/lib/a.fan": "include('e.fan')",
            "sub/lib/e.fan": "",
            "dirs/b.fan": "",
            "palaver/b.fan": "x = 'wrong'",
            "palaver/c.fan": "",
            "fandango/c.fan": "x = 'wrong'",
            "fandango/d.fan": "",
        },
    )
    environ = {"PALAVER_PATH": f"/nowhere:{tmp_path / 'palaver'}:", "FANDANGO_PATH": str(tmp_path / "fandango")}
    report = Reporter()
    loaded = load_files([tmp_path / "sub/main.fan"], report, include_dirs=[tmp_path / "dirs"], environ=environ)
    report.raise_if_errors()
    assert [Path(each.source.name).relative_to(tmp_path).as_posix() for each in loaded] == [
        "fandango/d.fan",
        "palaver/c.fan",
        "dirs/b.fan",
        "sub/lib/e.fan",
        "sub/lib/a.fan",
        "sub/main.fan",
    ]


def test_texts_are_numbered_and_include_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.fan": "<a> ::= 0"})
    monkeypatch.chdir(tmp_path)
    report = Reporter()
    loaded = load_texts(["\ufeff<b> ::= 0\r\n", "include('a.fan')"], report)
    assert [each.source.name for each in loaded] == ["<string>", "a.fan", "<string 2>"]
    assert loaded[0].source.text == "<b> ::= 0\n"


def test_every_kind_of_line_end_and_a_byte_order_mark_are_fine(tmp_path: Path) -> None:
    write(tmp_path, {"a.fan": b"\xef\xbb\xbf<a> ::= 0\r\n<b> ::= 0\r<c> ::= 0\f<d> ::= 0\n"})
    (loaded,) = load_files([tmp_path / "a.fan"], report := Reporter())
    report.raise_if_errors()
    assert [loaded.source.place(rule.span.start) for rule in loaded.rules] == [(1, 1), (2, 1), (3, 1), (4, 1)]


def test_a_missing_main_file_is_a_diagnostic(tmp_path: Path) -> None:
    report = Reporter()
    assert order(report, [tmp_path / "no.fan", "nor\0.fan"]) == []  # type: ignore[list-item]
    with pytest.raises(SpecError) as raised:
        report.raise_if_errors()
    assert str(raised.value).startswith(f"{tmp_path}/no.fan:1:1: error: there is no file {tmp_path}/no.fan")
    assert len(raised.value.diagnostics) == 2


def test_a_missing_include_says_where_it_was_looked_for(tmp_path: Path) -> None:
    write(tmp_path, {"main.fan": "\n  include('no.fan')"})
    order(report := Reporter(), [tmp_path / "main.fan"], include_dirs=[Path("/lib"), Path("/lib")])
    assert "main.fan:2:3: error: the included file no.fan does not exist" in only_error(report)
    assert f"hint: looked in {tmp_path}, /lib" in only_error(report)
    assert only_error(report).endswith("/lib")


def test_a_loop_of_includes_is_shown(tmp_path: Path) -> None:
    write(tmp_path, {"a.fan": "include('b.fan')", "b.fan": "include('./c.fan')", "c.fan": "include('a.fan')"})
    assert order(report := Reporter(), [tmp_path / "a.fan"]) == ["c.fan", "b.fan", "a.fan"]
    loop = " → ".join(f"{tmp_path}/{name}.fan" for name in "abca")
    assert f"c.fan:1:1: error: this include is circular: {loop}" in only_error(report)


@pytest.mark.parametrize(
    "content, complaint",
    [
        (b"ab\xff", "is not UTF-8: byte 0xff at offset 2"),
        (b"\xef\xbb\xbfab\xc3(", "is not UTF-8: byte 0xc3 at offset 5"),
        ("hallo".encode("utf-16"), "is not UTF-8 but UTF-16"),
        (b"\x89PNG\r\n\x00\x00", "is not a text file: it has a NUL byte at offset 6"),
        (b"\x01\x02\x03abc" * 9, "is not a text file: it is full of control characters"),
    ],
)
def test_a_file_that_is_no_text_is_one_diagnostic(tmp_path: Path, content: bytes, complaint: str) -> None:
    write(tmp_path, {"bad.fan": content, "main.fan": "include('bad.fan')"})
    order(report := Reporter(), [tmp_path / "main.fan"])
    assert complaint in only_error(report)
    order(report := Reporter(), [tmp_path / "bad.fan"])
    assert complaint in only_error(report)


def test_a_directory_is_no_spec(tmp_path: Path) -> None:
    write(tmp_path, {"lib/a.fan": "", "main.fan": "include('lib')"})
    order(report := Reporter(), [tmp_path / "main.fan"])
    assert "lib is a directory" in only_error(report)


def test_a_directory_does_not_hide_a_file_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, {"x/a.fan": "", "lib/x": "<a> ::= 0", "main.fan": "include('x')"})
    assert order(report := Reporter(), [tmp_path / "main.fan"], include_dirs=[tmp_path / "lib"]) == ["x", "main.fan"]
    assert not report.errors


def test_an_include_with_an_impossible_name_is_not_found(tmp_path: Path) -> None:
    write(tmp_path, {"main.fan": "include('a\\0b')\ninclude('" + "x" * 5000 + "')"})
    order(report := Reporter(), [tmp_path / "main.fan"])
    assert len(report.errors) == 2


def test_a_file_included_twice_is_loaded_twice_and_its_errors_are_reported_once(tmp_path: Path) -> None:
    write(tmp_path, {"main.fan": "include('a.fan')\ninclude('b.fan')", "a.fan": "include('c.fan')", "c.fan": "<a>"})
    write(tmp_path, {"b.fan": "include('c.fan')"})
    assert order(report := Reporter(), [tmp_path / "main.fan"]) == ["c.fan", "b.fan", "c.fan", "a.fan", "main.fan"]
    assert len(report.errors) == 1


def test_includes_that_multiply_come_to_an_end(tmp_path: Path) -> None:
    write(tmp_path, {f"{n}.fan": f"include('{n + 1}.fan')\n" * 2 for n in range(30)})
    write(tmp_path, {"30.fan": ""})
    loaded = order(report := Reporter(), [tmp_path / "0.fan"])
    assert len(loaded) == 1000
    assert "the spec has more than 1000 files" in str(report.errors[0])


def test_a_long_chain_of_includes_comes_to_an_end(tmp_path: Path) -> None:
    write(tmp_path, {f"{n}.fan": f"include('{n + 1}.fan')\n" for n in range(200)})
    order(report := Reporter(), [tmp_path / "0.fan"])
    assert "includes are nested more than 50 deep" in only_error(report)


def test_a_folder_with_the_name_of_a_bundled_spec_does_not_hide_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ftp").mkdir()
    monkeypatch.chdir(tmp_path)
    assert spec_files(["ftp"]) == spec_files([bundled()["ftp"]])
