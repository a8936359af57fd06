"""Completion in a shell, as typer asks for it; the words are `show`'s."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from .show import _complete as complete


def instructions(incomplete: str) -> list[tuple[str, str]]:
    """Names of instructions."""
    return [*complete.instructions(incomplete)]


def products(incomplete: str) -> list[tuple[str, str]]:
    """Names of products."""
    return [*complete.products(incomplete)]


def values(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """What may follow the words that are there."""
    before = [*(context.params.get("rest") or ()), *context.args]
    return [*complete.values(context.params.get("instruction"), before, incomplete)]


class ShowCommand(TyperCommand):
    """`ascjax show`, whose options are an instruction's fields besides."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The command's own options; or, of an instruction, its fields and `show`'s."""
        own = super().shell_complete(ctx, incomplete)
        found = complete.options(ctx.params.get("instruction"), incomplete)
        item = _item_class()
        return [*(item(word, help=told) for word, told in found), *own]


def _item_class() -> type:
    """typer's class of a completion; the newer ones bring click's along."""
    try:
        from typer._click.shell_completion import CompletionItem
    except ImportError:
        from click.shell_completion import CompletionItem
    return CompletionItem
