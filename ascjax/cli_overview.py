"""`ascjax` alone, and `ascjax --version`: what there is, and what is installed."""

from __future__ import annotations

from rich.text import Text

from ._products import PRODUCTS
from .verify import _report as report
from .verify._check import one_line

USES = (
    ("See what a call does", "ascjax show load2d --repeat-times 3 --src-stride 2"),
    (
        "The same as a picture",
        "ascjax show load2d --repeat-times 3 --src-stride 2 --png load2d.png",
    ),
    ("What a product supports", "ascjax list --product 910B"),
    ("Check this installation", "ascjax verify"),
    ("Check your own cases and dumps", "ascjax verify FILE|DIR --report report.html"),
    ("Find the wrong field of a call", "ascjax diagnose FILE"),
    ("Weights in NZ", "ascjax weights --help"),
)
"""What one does with the command, and what to type."""


def overview() -> None:
    """Print what the command is for, and how to go on."""
    console = report.console()
    said = report.versions()
    text = Text()
    text.append("ascjax", "bold")
    text.append(
        f" {said['ascjax']}: Ascend NPU data moves as static index maps for JAX\n"
    )
    text.append(f"{len(PRODUCTS)} products; jax {said['jax']}\n\n", "dim")
    width = max(len(what) for what, _ in USES)
    for what, words in USES:
        text.append(f"  {what.ljust(width)}  ")
        text.append(f"{words}\n", "cyan")
    text.append("\nEach command has --help. In Python: ")
    text.append("import ascjax as asc", "cyan")
    text.append("\nCompletion of names and fields in your shell: ")
    text.append("ascjax --install-completion", "cyan")
    console.print(text, soft_wrap=True)


def version() -> None:
    """Print the versions of what computes, its devices, and the products known."""
    for name, said in report.versions().items():
        print(f"{name} {said}")
    print(f"devices {devices()}")
    print(f"products {', '.join(PRODUCTS)}")


def devices() -> str:
    """What JAX computes on: kind and number."""
    import jax

    try:
        found = jax.devices()
    except Exception as error:  # no device, or none that answers
        return f"none: {one_line(error)}"
    kinds: dict[str, int] = {}
    for device in found:
        kind = f"{device.platform} ({device.device_kind})"
        kinds[kind] = kinds.get(kind, 0) + 1
    return ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
