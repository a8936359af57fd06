"""The explorer in a real headless Chromium."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import ascjax

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None and not os.environ.get("ASCJAX_NEEDS_BROWSER"):
    pytest.skip("Chromium is not installed", allow_module_level=True)

pytestmark = pytest.mark.long


# Runs the command; each address that it listens on or goes to is a line of a file.
WATCHED = """
import sys
told = open("addresses", "w", buffering=1)
def watch(event, args):
    if event in ("socket.bind", "socket.connect") and isinstance(args[1], tuple):
        host, port, *_ = args[1]
        if port:  # 0 only asks whether there is IPv6
            print(event, host, file=told)
sys.addaudithook(watch)
from ascjax.cli import main
sys.exit(main(sys.argv[1:]))
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("explore")


@pytest.fixture(scope="module")
def server(home):
    port = free_port()
    words = ["explore", "--no-browser", "--port", str(port)]
    # NiceGUI looks for pytest's variables, and then waits for its own test harness
    env = {k: v for k, v in os.environ.items() if "PYTEST" not in k}
    env["PYTHONPATH"] = str(Path(ascjax.__file__).parents[1])  # from another folder
    process = subprocess.Popen(
        [sys.executable, "-c", WATCHED, *words],
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=env,
    )
    address = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(address, timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, process.stdout.read()
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        said, _ = process.communicate(timeout=20)
    assert f"{address}  (Ctrl-C ends it)" in said and "Traceback" not in said, said


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield made
        made.close()


@pytest.fixture
def page(server, browser):
    made = browser.new_page(viewport={"width": 1280, "height": 900})
    made.hosts, made.told = set(), []
    for event in ("request", "websocket"):
        made.on(event, lambda r: made.hosts.add(r.url.split("/")[2].split(":")[0]))
    made.on("console", lambda m: m.type == "error" and made.told.append(m.text))
    made.on("pageerror", lambda error: made.told.append(str(error)))
    made.goto(server)
    made.wait_for_selector("#picture svg")
    yield made
    made.close()


def shows(page, text):
    page.wait_for_function(
        "text => document.querySelector('#formula').textContent.includes(text)",
        arg=text,
    )


def test_a_slider_moved_changes_the_picture_and_an_error_comes_and_goes(page):
    shows(page, "for i < 3")
    before = page.inner_html("#picture")
    slider = page.locator("[aria-label='repeatTimes slider'] [tabindex='0']")
    slider.focus()
    page.keyboard.press("ArrowRight")
    shows(page, "for i < 4")
    assert page.inner_html("#picture") != before
    assert page.get_by_label("repeatTimes", exact=True).input_value() == "4"

    number = page.get_by_label("srcStride", exact=True)
    number.fill("70000")
    wrong = page.locator("[data-wrong='srcStride']")
    page.wait_for_function(
        "document.querySelector(\"[data-wrong='srcStride']\").textContent"
        ".includes('[0, 65535]')"
    )
    assert "got 70000" in wrong.text_content()
    slider = page.locator("[aria-label='srcStride slider']")
    assert slider.get_attribute("aria-valuenow") == "2"  # as far as it was right
    number.fill("1000")
    shows(page, "src[256 + 256000*i")
    assert slider.get_attribute("aria-valuenow") == "1000"
    number.fill("3")
    shows(page, "src[256 + 768*i")
    assert wrong.text_content() == ""
    assert (page.hosts, page.told) == ({"127.0.0.1"}, [])


def test_the_server_listens_and_talks_to_this_machine_only(page, home):
    said = (home / "addresses").read_text().splitlines()
    assert "socket.bind 127.0.0.1" in said  # it is watched
    assert {line.split()[1] for line in said} == {"127.0.0.1"}, said


def test_what_the_page_says_is_noticed(page):
    page.evaluate("console.error('a control')")
    page.evaluate("fetch('http://127.0.0.2:9/').catch(() => 0)")
    assert "a control" in page.told and "127.0.0.2" in page.hosts


def test_the_keyboard_reaches_everything(page):
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate(
                "(document.activeElement.closest('[aria-label]')"
                " || document.activeElement).getAttribute('aria-label')"
            )
        )
    wanted = {"instruction", "product", "path", "type", "repeatTimes slider"}
    assert wanted | {"repeatTimes", "ifTranspose"} <= seen
    page.get_by_label("ifTranspose").focus()
    page.keyboard.press("Space")
    shows(page, "src[256 + 512*i + r + 16*c]")


@pytest.mark.parametrize("width", [1280, 800])
def test_it_fits_the_window(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(200)
    needs = page.evaluate("document.documentElement.scrollWidth")
    assert needs <= width
    picture = page.locator("#picture svg").bounding_box()
    assert picture["x"] >= 0 and picture["x"] + picture["width"] <= width
    assert picture["width"] > 0.55 * width  # large enough to read
    number = page.get_by_label("addrMode", exact=True)  # the last field
    number.scroll_into_view_if_needed()
    number.focus()
    assert page.locator("#picture svg").bounding_box()["y"] >= 0  # still to be seen
    box = number.bounding_box()
    hit = page.evaluate(
        "([x, y]) => document.elementFromPoint(x, y).getAttribute('aria-label')",
        [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2],
    )
    assert hit == "addrMode"  # nothing lies over it


@pytest.mark.parametrize("width", [1280, 800])
def test_a_long_form_keeps_its_picture_in_view(page, width):
    page.set_viewport_size({"width": width, "height": 700})
    choose(page, "load3dv2", "for r < 32")
    page.get_by_label("fMatrixCtrl", exact=True).focus()
    assert page.evaluate("scrollY") > 100
    assert page.locator("#picture svg").bounding_box()["y"] >= 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_members_of_a_struct_show_where_it_is_given(page):
    choose(page, "load3dv2", "for r < 32")
    member = page.get_by_label("repeat.dstStride", exact=True)
    member.wait_for(state="hidden")
    page.get_by_label("repeat", exact=True).focus()
    page.keyboard.press("Space")
    member.wait_for(state="visible")
    assert member.is_visible() and page.told == []


def choose(page, instruction, formula):
    page.get_by_label("instruction", exact=True).click()
    page.get_by_role("option", name=instruction, exact=True).click()
    shows(page, formula)


def test_another_instruction_brings_its_own_form(page):
    choose(page, "nddma", "for x1 < 4, x0 < 16")
    assert page.get_by_label("loopSize[1]", exact=True).input_value() == "2"
    page.get_by_role("tab", name="C++").click()
    page.wait_for_selector("text=NdDmaLoopInfo<2>")
    assert page.told == []
