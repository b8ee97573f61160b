"""`palaver specs`: what comes with palaver."""

from __future__ import annotations

import click

from palaver.compiled.bundled import bundled, headline


@click.command("specs")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the specs that come with palaver, or print the spec NAME.

    Every command takes these names in place of a file. To change a spec, print it to a file of your own.
    """
    specs = bundled()
    if name is None:
        width = max(map(len, specs))
        for known, path in specs.items():
            click.echo(f"{known:{width}}  {headline(path)}")
        return
    if name not in specs:
        raise click.UsageError(f"there is no bundled spec {name}; there are: {', '.join(specs)}")
    click.echo(specs[name].read_text(encoding="utf-8"), nl=False)
