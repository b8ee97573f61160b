"""`palaver specs`: what comes with palaver, and what the servers need that it is tried on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from palaver.cli.options import parameters_of, set_options
from palaver.compiled.bundled import bundled, headline
from palaver.printable import printable

if TYPE_CHECKING:
    from palaver.fixtures import Fixture


@click.command("specs")
@click.argument("name", required=False)
@click.option("--about", is_flag=True, help="Show what a server for NAME needs, and how known servers are started.")
@click.option(
    *("--fixture", "folder"),
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write to DIR what a server for NAME needs: files, folders, example configurations.",
)
@click.option("--port", type=click.IntRange(1, 65535), metavar="PORT", help="The port that the server will have.")
@set_options
def command(name: str | None, about: bool, folder: Path | None, port: int | None, **options: Any) -> None:
    """List the specs that come with palaver, or print the spec NAME.

    Every command takes these names in place of a file. To change a spec, print it to a file of your own; many need only
    --set, which sets one of the parameters that --about lists.
    """
    specs = bundled()
    wants_more = about or folder is not None
    if name is None:
        if wants_more or port is not None or any(options.values()):
            raise click.UsageError(f"which spec? there are: {', '.join(specs)}")
        width = max(map(len, specs))
        for known, path in specs.items():
            click.echo(f"{known:{width}}  {headline(path)}")
        return
    if name not in specs:
        raise click.UsageError(f"there is no bundled spec {name}; there are: {', '.join(specs)}")
    if not wants_more:
        if port is not None or any(options.values()):
            raise click.UsageError("--port and --set are about what a server needs: give --about or --fixture")
        click.echo(specs[name].read_text(encoding="utf-8"), nl=False)
        return
    _tell_needs(name, specs[name], folder, port, parameters_of(options))


def _tell_needs(name: str, path: Path, folder: Path | None, port: int | None, parameters: dict[str, Any]) -> None:
    """Write the fixture, if there is a folder for it, and tell how servers are started."""
    # Only here: who lists names does not wait for the rest.
    from palaver.compiled import load
    from palaver.fixtures import fixture_of

    spec = load(path, parameters=parameters)
    fixture = fixture_of(spec)
    if folder is None:
        click.echo(f"{name}: {headline(path)}")
    elif fixture is None:
        raise click.UsageError(f"{name} has no fixture; see palaver specs {name}")
    else:
        _write(fixture, folder, port)
    if folder is None and spec.parameters:
        click.echo("\nParameters, for --set:")
        for key, each in spec.parameters.items():
            value = ",".join(each.value) if isinstance(each.value, tuple) else each.value
            click.echo(printable(f"  {key}={value}  {each.about}"))
    if fixture is None:
        click.echo("\nNo server is needed for it.")
        return
    place = "DIR" if folder is None else str(folder.resolve())
    click.echo("\n" + printable(fixture.about(place, port)).rstrip())
    if folder is None:
        click.echo(f"\nDIR is made by: palaver specs {name} --fixture DIR")


def _write(fixture: Fixture, folder: Path, port: int | None) -> None:
    """Write a fixture. :raises UsageError: there is something in the folder, or it cannot be written"""
    from palaver.fixtures import FixtureError

    if folder.exists() and any(folder.iterdir()):
        raise click.UsageError(f"{folder} is not empty: name a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = fixture.write(folder, port)
    except (FixtureError, OSError) as error:
        raise click.UsageError(str(error)) from error
    click.echo(
        printable(f"written to {folder}: {', '.join(str(path.relative_to(folder)) for path in written) or 'nothing'}")
    )
