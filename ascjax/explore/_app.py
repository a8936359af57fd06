"""The page: a form on the left, picture, formula and code on the right."""

from __future__ import annotations

from typing import Any

from .._extras import extra
from .._products import PRODUCTS
from ..instr import REGISTRY
from ._form import Item, form_of
from ._seen import Choice, Seen, seen

HOST = "127.0.0.1"
"""The only address that it listens on."""

_ANY = "any"
_REDRAW = 0.08  # seconds between two looks whether something has changed
_STYLE = """
body { font-family: system-ui, sans-serif; }
.picture svg { max-width: 100%; height: auto; }
.wrong { color: #b00020; font-size: .8rem; line-height: 1.25; }
.said { white-space: pre-wrap; font-family: monospace; font-size: .85rem; }
.old { opacity: .25; }
.form { width: 23rem; max-width: 100%; }
.fields { display: grid; grid-template-columns: 1fr; gap: .35rem 2rem; }
.look {
  background: white; width: 100%; position: sticky; top: 0; z-index: 1;
  max-height: 45vh; overflow: auto;
}
.seen { flex: 1 1 30rem; min-width: 0; align-self: stretch; }
@media (max-width: 1000px) { /* the picture above the form */
  html { scroll-padding-top: 45vh; }
  .form { width: 100%; order: 1; }
  .fields { grid-template-columns: 1fr 1fr; align-items: end; }
  .seen { display: contents; }
  .seen > * { order: 2; width: 100%; }
  .seen > .look { order: 0; }
}
"""


def needed() -> Any:
    """NiceGUI's `ui`.

    Raises:
      SupportError: where it is not installed.
    """
    return extra("nicegui", "explore", "to explore", "explore").ui


def serve(port: int, instruction: str, browser: bool) -> None:
    """Serve the page on this machine until it is interrupted.

    Args:
      port: where, on 127.0.0.1 only.
      instruction: the one to begin with.
      browser: whether to open a browser.
    """
    ui = needed()

    @ui.page("/")
    def page() -> None:
        Page(ui, instruction)

    print(f"http://{HOST}:{port}/  (Ctrl-C ends it)", flush=True)
    ui.run(
        host=HOST,
        port=port,
        title="ascjax explore",
        show=browser,
        reload=False,
        show_welcome_message=False,
    )


class Page:
    """One visitor's page: what is chosen, and the elements that show it."""

    def __init__(self, ui: Any, instruction: str):
        self.ui = ui
        self.form = form_of(instruction)
        self.values = dict(self.form.values)
        self.changed = True
        self.errors: dict[str, Any] = {}
        self.parts: dict[str, Any] = {}  # what says whether a struct is given
        ui.add_css(_STYLE)
        title = ui.label("ascjax explore").props("role=heading aria-level=1")
        title.style("font-size: 1.2rem; font-weight: 600")
        with ui.row(wrap=True).classes("w-full gap-6 items-start"):
            with ui.column().classes("gap-3 form"):
                with ui.element().classes("fields w-full"):
                    self.instruction = ui.select(
                        [*REGISTRY], value=instruction, label="instruction"
                    ).props("dense")
                    self.instruction.on_value_change(self._other_instruction)
                    self.where = {
                        name: ui.select([_ANY], value=_ANY, label=name).props("dense")
                        for name in ("product", "path", "type")
                    }
                for chosen in self.where.values():
                    chosen.on_value_change(self._other_place)
                self.fields = ui.element().classes("fields w-full")
            with ui.column().classes("gap-2 seen"):
                with ui.element().classes("look"):
                    self.wrong = ui.label().classes("wrong")
                    self.wrong.props("role=alert id=wrong")
                    self.picture = ui.html(sanitize=False).classes("picture w-full")
                    self.picture.props('id=picture role=img aria-label="the move"')
                ui.label("formula").style("font-weight: 600")
                self.formula = ui.label().classes("said").props("id=formula")
                with ui.tabs().props("dense align=left") as tabs:
                    jax, c = ui.tab("JAX"), ui.tab("C++")
                with ui.tab_panels(tabs, value=jax).classes("w-full"):
                    with ui.tab_panel(jax):
                        self.jax = ui.code(language="python").classes("w-full")
                    with ui.tab_panel(c):
                        self.c = ui.code(language="cpp").classes("w-full")
        self._start()
        ui.timer(_REDRAW, self._redraw)

    # --- the form

    def _start(self) -> None:
        """The places and fields of the chosen instruction, at its first values."""
        start, cls = self.form.start, self.form.params
        self.values = dict(self.form.values)
        products = [key for key, p in PRODUCTS.items() if cls.paths(p)]
        self._offer("product", [*products, _ANY], start.product)
        self._offer("path", [*cls.paths(PRODUCTS[start.product])], start.path)
        self._offer("type", self._types(start.product, start.path), start.dtype)
        self.errors, self.parts = {}, {}
        self.fields.clear()
        with self.fields:
            for item in self.form.items:
                self._field(item)
        self.changed = True

    def _offer(self, name: str, options: list[str], value: str) -> None:
        value = value if value in options else options[0]
        self.where[name].set_options(options, value=value)

    def _types(self, product: str, path: str) -> list[str]:
        where = None if product == _ANY else PRODUCTS[product]
        return [*self.form.params.paths(where).get(path, ())]

    def _other_instruction(self, event: Any) -> None:
        self.form = form_of(event.value)
        self._start()

    def _other_place(self, _: Any) -> None:
        """Paths and types that the chosen product has."""
        product = self.where["product"].value
        where = None if product == _ANY else PRODUCTS[product]
        paths = [*self.form.params.paths(where)]
        self._offer("path", paths, self.where["path"].value)
        types = self._types(product, self.where["path"].value)
        self._offer("type", types, self.where["type"].value)
        self.changed = True

    def _field(self, item: Item) -> None:
        """A field's label and what sets it, with room for what is wrong."""
        ui, value = self.ui, self.values[item.name]
        with ui.column().classes("w-full gap-0") as held:
            given = self.parts.get(item.name.partition(".")[0])
            if given is not None:
                held.bind_visibility_from(given, "value")
            if item.kind in ("flag", "part"):
                box = ui.checkbox(item.name, value=bool(value))
                box.props(f'dense aria-label="{item.name}"')
                if item.kind == "part":
                    self.parts[item.name] = box
                box.on_value_change(lambda e, n=item.name: self._set(n, e.value))
            elif item.kind == "word":
                box = ui.select([*item.words], value=value, label=item.name)
                box.classes("w-full").props("dense")
                box.on_value_change(lambda e, n=item.name: self._set(n, e.value))
            else:
                self._number(item, value)
            said = ui.label().classes("wrong")
            said.props(f'data-wrong="{item.name}" aria-live=polite')
            self.errors[item.name] = said

    def _number(self, item: Item, value: Any) -> None:
        """A slider over what is near, and the exact number."""
        ui, (low, high) = self.ui, item.span(value)
        ends = "" if item.low is None else f" [{item.low}, {item.high}]"
        with ui.row(wrap=True).classes("w-full items-baseline gap-x-2 gap-y-0"):
            ui.label(item.name).style("font-size: .85rem; font-weight: 600")
            told = ui.label(f"{item.unit}{ends}")
            told.style("font-size: .7rem; color: #555; line-height: 1.1")
        with ui.row(wrap=False).classes("w-full items-center gap-4 pl-2"):
            slider = ui.slider(min=low, max=high, step=1, value=value or 0)
            slider.props(f'aria-label="{item.name} slider" dense').classes("flex-1")
            number = ui.number(value=value, step=1, format="%.15g")
            number.props(f'dense aria-label="{item.name}"')
            number.style("width: 7rem; flex: none")

        def slid(event: Any) -> None:
            if number.value != event.value:
                number.set_value(event.value)

        def typed(event: Any) -> None:
            new = _exact(event.value)
            self._set(item.name, new)
            if new is None or slider.value == new:
                return
            low, high = slider.props["min"], slider.props["max"]
            if not low <= new <= high:  # it follows as far as the range goes
                low, high = item.span(new)
                slider.props["min"], slider.props["max"] = low, high
            if low <= new <= high:
                slider.set_value(new)

        slider.on_value_change(slid)
        number.on_value_change(typed)

    def _set(self, name: str, value: Any) -> None:
        self.values[name] = value
        self.changed = True

    # --- what is shown

    def _redraw(self) -> None:
        """Show the choice, where it has changed: many steps of a slider at once."""
        if not self.changed:
            return
        self.changed = False
        product = self.where["product"].value
        choice = Choice(
            None if product == _ANY else product,
            self.where["path"].value,
            self.where["type"].value,
            self.values,
        )
        self._show(seen(self.form, choice))

    def _show(self, found: Seen) -> None:
        for name, label in self.errors.items():
            label.set_text(found.error if name == found.at else "")
        self.wrong.set_text("" if found.at else found.error)
        for element in (self.picture, self.formula):  # the last that was right
            if found.error:
                element.classes(add="old")
            else:
                element.classes(remove="old")
        self.jax.set_content(found.jax)
        self.c.set_content(found.c)
        if not found.error:
            self.formula.set_text(found.formula)
            self.picture.set_content(found.svg or "<p>Too large for a picture.</p>")


def _exact(value: float | None) -> int | float | None:
    """What a number field holds, an integer where it is one."""
    return int(value) if value is not None and float(value).is_integer() else value
