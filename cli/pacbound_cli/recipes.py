"""`pacbound recipes`: the named experiments."""

from __future__ import annotations

import json

import click

from pacbound_cli.options import json_option

__all__ = ["recipes"]


class _OrName(click.Group):
    """`pacbound recipes NAME` is short for `pacbound recipes show NAME`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["show", *args])


@click.group(cls=_OrName, invoke_without_command=True)
@json_option
@click.pass_context
def recipes(context: click.Context, as_json: bool) -> None:
    """List the recipes, or show one.

    \b
    Examples:
      pacbound recipes
      pacbound recipes show mlp-600
    """
    if context.invoked_subcommand is not None:
        return
    from pacbound.recipes import recipe_about, recipe_names

    about = {name: f"{recipe_about(name)}." for name in recipe_names()}
    if as_json:
        click.echo(json.dumps(about))
    else:
        for name, text in about.items():
            click.echo(f"{name:{max(map(len, about))}s}  {text}")
        click.echo("\nSettings of one: pacbound recipes show NAME", err=True)


@recipes.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show the settings of the recipe NAME.

    \b
    Example:
      pacbound recipes show mlp-600
    """
    from pacbound.recipes import lineage, recipe, recipe_text

    if as_json:
        click.echo(json.dumps(recipe(name).to_mapping()))
    else:
        texts = [recipe_text(each) for each in lineage(name)]
        click.echo("\n# Based on:\n".join(texts), nl=False)
