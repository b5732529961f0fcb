"""The figures in a browser: numbers, controls, any width, light and dark."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from built_book import ROOT
from looks import looks

sys.path.insert(0, str(ROOT / "book"))
from stills import draw_all, out_of_date, rounded

MODULES = ROOT / "weft" / "exploring" / "figures"
CASES = json.loads((ROOT / "tests" / "figures" / "cases.json").read_text())
AXE = Path(__file__).parent / "axe" / "axe.min.js"
MOST_SCRIPT = 150_000  # bytes of a page, less what every page has

ACCESS = {
    "line": 7,
    "array": "x",
    "store": False,
    "shared": False,
    "size": 4,
    "requests": 2,
    "per": 17,
    "ideal": 4,
    "shown": [
        {"block": 0, "warp": w, "time": 0, "lanes": [0, 9], "addresses": [64, 9000]}
        for w in (0, 1)
    ],
}
RUNS = [  # two kernels, and what the other step is made of
    {
        "batch": 1024,
        "kernels": [["forward", 4e-5], ["update", 1e-5], ["all two", 5e-5]],
        "steps": [["torch, best", 4e-4], ["fused, one graph", 1.1e-4]],
        "kinds": [["pooling and its gradient", 1e-4], ["the rest", 2.8e-4]],
    },
    {
        "batch": 64,
        "norms": True,
        "kernels": [["moments", 4e-6], ["backward", 1e-5]],
        "steps": [["torch, best", 4e-5], ["fused, one graph", 3e-5]],
    },
]
# Every figure, in states that show all kinds of marks.
SHOWN: list[tuple[str, dict[str, Any]]] = [
    ("warp_access", {"layout": "aos", "field": 1}),
    ("warp_access", {"layout": "soa", "size": 8}),
    ("warp_access", {"stride": 6, "rows": 16, "only": ["stride"]}),
    ("banks", {"layout": "padded", "size": 8}),
    ("grid_index", {}),
    ("grid_index", {"dims": 2, "guard": False, "n": 21, "at": [22, 3, 0]}),
    ("grid_index", {"dims": 3, "up": False, "n": 7, "m": 6}),
    ("barrier", {"barrier": False, "order": "010"}),
    ("roofline", {"kernels": [{"name": "add", "intensity": 0.0833, "bytes": 3.4e12}]}),
    ("roofline", {"at": 2.5, "intensity": 0.25}),
    ("occupancy", {"registers": 72}),
    ("latency", {"ways": 2}),
    ("tiling", {"held": 2, "step": 3}),
    ("tree", {}),
    ("tree", {"tree": "packed", "step": 3}),
    ("scan", {"method": "tree", "step": 7}),
    ("streams", {"streams": 4, "pieces": 8}),
    ("layout", {"way": "column", "show": "bank"}),
    ("layout", {"swizzle": [3, 2, 3], "way": "pieces"}),
    ("layout", {"layout": "((4,8),(2,2)):((32,1),(16,8))", "show": "owner"}),
    ("layout", {"layout": "(4,2"}),
    ("strides", {"operations": ["t", "rows"]}),
    ("strides", {"operations": ["narrow", "expand"], "at": [0, 1]}),
    ("ring", {"stages": 4, "order": "pppbccbcp"}),
    ("ring", {"first": "consumer", "order": "pc"}),
    ("fragments", {"packed": 4, "at": [12, 5]}),
    ("fragments", {"show": "needs", "at": [3, 6]}),
    ("running_max", {}),
    ("running_max", {"scores": "rising", "correct": False, "step": 4}),
    ("all_reduce", {"ranks": 8, "step": 7}),
    ("all_reduce", {"method": "tree", "ranks": 6, "step": 4}),
    ("columns", {"ld": 4}),
    ("columns", {"ld": 3}),
    ("columns", {"shape": "same", "ld": 7}),
    ("gradients", {}),
    ("gradients", {"engine": "early", "step": 5}),
    ("queueing", {}),
    ("queueing", {"how": "waits", "run": 20}),
    ("box", {}),
    ("box", {"swizzled": False, "row": -2, "piece": 0}),
    ("tiles", {}),
    ("tiles", {"mistaken": True, "block": 1, "n": 30}),
    ("composed", {}),
    ("composed", {"a": "(4,8):(8,1)", "b": "((2,4),4):((16,1),4)", "at": 21}),
    ("composed", {"b": "3:4", "at": 2}),
    ("composed", {"b": "(4,2"}),
    ("training_step", {"runs": RUNS}),
    ("training_step", {"runs": RUNS, "at": 3}),
    ("training_step", {"runs": RUNS, "batch": 64, "norms": True}),
    ("trace", {"code": [[7, "    out[i] = x[j]"]], "accesses": [ACCESS]}),
]
PAGES = {
    "book/03_setup": ["roofline"],
    "book/01_why_gpus": ["latency"],
    "book/05_first_kernel": ["grid_index", "roofline"],
    "book/06_grids_2d": ["tiling"],
    "book/07_host_device": ["streams"],
    "book/11_profiling": ["roofline", "latency"],
    "book/12_global_memory": ["latency", "warp_access"],
    "book/13_shared_memory": ["warp_access", "barrier", "banks", "occupancy"],
    "book/14_reduction": ["tree"],
    "book/15_scan": ["scan"],
    "book/16_softmax": ["occupancy"],
    "book/17_registers": ["occupancy"],
    "book/18_gemm_tiles": ["roofline", "tiling", "roofline"],
    "book/19_gemm_registers": ["roofline"],
    "book/20_layouts": ["layout", "composed", "layout", "layout"],
    "book/21_tensor_cores": ["fragments"],
    "book/22_hopper_gemm": ["ring", "box"],
    "book/23_fft": ["roofline"],
    "book/24_attention": ["running_max"],
    "book/25_cublas": ["columns"],
    "book/28_multi_gpu": ["all_reduce"],
    "book/30_tensors": ["strides"],
    "book/31_autograd": ["gradients"],
    "book/33_training_speed": ["queueing"],
    "book/35_mnist_cnn": ["training_step"],
    "book/36_tiles": ["tiles"],
    "solutions/05_first_kernel": ["trace", "trace"],
    "solutions/08_warps": ["trace"],
    "solutions/09_atomics": ["trace"],
    "solutions/12_global_memory": ["trace"],
    "solutions/13_shared_memory": ["trace", "trace"],
    "solutions/14_reduction": ["trace"],
    "solutions/15_scan": ["trace"],
    "solutions/17_fusion": ["trace"],
    "solutions/20_layouts": ["layout", "layout"],
    "solutions/23_convolution_fft": ["trace"],
}


def place(name: str, state: dict[str, Any]) -> str:
    return (
        f'<div data-figure="{name}" data-label="{name}">'
        '<script type="application/json">'
        f'{json.dumps(state)}</script><div class="weft-still"></div></div>'
    )


@pytest.fixture(scope="session")
def bench(
    serve: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., str]:
    """Return a function that makes a page of figures and gives its address."""
    folder = tmp_path_factory.mktemp("figures")
    for path in MODULES.iterdir():
        shutil.copyfile(path, folder / path.name)
    shutil.copyfile(ROOT / "book" / "_static" / "weft.css", folder / "weft.css")
    address = serve(folder)

    def make(name: str, shown: list[tuple[str, dict[str, Any]]], theme: str) -> str:
        (folder / f"{name}.html").write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf8">'
            '<meta name="viewport" content="width=device-width"><title>Figures</title>'
            '<link rel="icon" href="data:,"><link rel="stylesheet" href="weft.css">'
            '<link rel="stylesheet" href="figures.css">'
            '<body style="background: var(--pst-color-background)"><main>'
            f"{''.join(place(*figure) for figure in shown)}"
            '</main><script src="load.js"></script></body></html>'
        )
        return f"{address}/{name}.html"

    return make


def opened(open_page: Callable, url: str, count: int, **options: Any) -> Any:
    """Open a page of figures and wait until the last of them lives."""
    watched = open_page(**options)
    watched.page.goto(url)
    for figure in watched.page.locator("[data-figure]").all():
        figure.scroll_into_view_if_needed()
        figure.locator(".weft-figure .controls").wait_for(state="attached")
    assert watched.page.locator(".weft-figure").count() == count
    return watched


def numbers(figure: Any) -> dict[str, str]:
    """Read what stands under a figure: label -> number."""
    pairs = figure.locator(".numbers > div").evaluate_all(
        "all => all.map(d => [d.querySelector('span').textContent,"
        " d.querySelector('b').textContent])"
    )
    return dict(pairs)


@pytest.mark.parametrize(("width", "scheme"), looks(360, 1400))
def test_figures_fit_and_can_be_read_by_all(
    open_page: Callable, bench: Callable, width: int, scheme: str
) -> None:
    url = bench(f"all-{scheme}", SHOWN, scheme)
    watched = opened(open_page, url, len(SHOWN), width=width, scheme=scheme)
    page = watched.page
    wide = "document.documentElement.scrollWidth - innerWidth"
    assert page.evaluate(wide) <= 0
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    serious = [
        (violation["id"], [node["html"][:120] for node in violation["nodes"]][:3])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
    assert serious == []
    # axe cannot see what lies behind text in an SVG.
    small = page.locator(".seen svg text").evaluate_all(
        "all => all.map(t => parseFloat(getComputedStyle(t).fontSize))"
    )
    assert min(small) >= 10
    assert watched.errors == []
    assert watched.left == []


def test_numbers_are_those_of_the_counters(
    open_page: Callable, bench: Callable
) -> None:
    """Set each control of the two memory figures to what a case says; read."""
    shown: list[tuple[str, dict[str, Any]]] = [("warp_access", {}), ("banks", {})]
    page = opened(open_page, bench("cases", shown, "light"), 2).page
    access, banks = page.locator(".weft-figure").all()

    def choose(figure: Any, label: str, option: str) -> None:
        group = figure.get_by_role("group", name=label)
        group.get_by_role("radio", name=option, exact=True).check(force=True)

    def slide(figure: Any, label: str, value: int) -> None:
        figure.get_by_role("slider", name=re.compile(f"^{label}")).fill(str(value))

    layouts = {"array": "array", "aos": "array of structs", "soa": "struct of arrays"}
    for case in CASES:
        if case["kind"] == "tile":
            pattern = {"same": "one cell"}.get(case["pattern"], case["pattern"])
            choose(banks, "The warp reads", pattern)
            choose(banks, "The tile is", case["layout"])
            choose(banks, "Bytes per element", str(case["size"]))
            slide(banks, "which one", case["at"])
            seen = list(numbers(banks).values())
            assert seen[0] == str(case["passes"]), case["name"]
            assert seen[2] == str(case["conflicts"]), case["name"]
            continue
        choose(access, "Data", layouts[case["kind"]])
        choose(access, "Bytes per element", str(case["size"]))
        if case["kind"] == "array":
            slide(access, "offset", case["offset"])
            slide(access, "stride", case["stride"])
        else:
            slide(access, "fields in a struct", case.get("fields", 4))
            slide(access, "field read", case["field"])
        seen = list(numbers(access).values())
        assert seen[0] == str(case["sectors"]), case["name"]
        assert seen[1] == str(case["lines"]), case["name"]


def test_everything_works_from_the_keyboard(
    open_page: Callable, bench: Callable
) -> None:
    shown: list[tuple[str, dict[str, Any]]] = [
        ("warp_access", {}),
        ("grid_index", {}),
        ("barrier", {"barrier": False}),
        ("occupancy", {"threads": 1024, "registers": 32, "shared": 0}),
    ]
    page = opened(open_page, bench("keys", shown, "light"), 4).page
    access, grid, barrier, room = page.locator(".weft-figure").all()
    assert numbers(access)["sectors"] == "4"

    access.get_by_role("slider", name=re.compile("^stride")).focus()
    page.keyboard.press("ArrowRight")
    assert numbers(access)["sectors"] == "8"
    assert "x[2 * lane]" in access.locator(".code").inner_text()
    page.keyboard.press("Tab")  # the focus has stayed where it was
    page.keyboard.press("ArrowRight")
    assert "x[2 * lane + 1]" in access.locator(".code").inner_text()

    picture = grid.get_by_role("slider", name=re.compile("^the chosen thread"))
    picture.focus()
    assert picture.get_attribute("aria-valuetext") == "thread 5 of block 1"
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert picture.get_attribute("aria-valuetext") == "thread 0 of block 2"
    assert re.sub(r"\s+", " ", grid.locator(".sum").inner_text()).startswith("i 16")
    grid.locator('[data-pick="22,0,0"]').click()
    assert picture.get_attribute("aria-valuetext") == "thread 6 of block 2"
    assert "no" in grid.locator(".sum .bad").inner_text()

    steps = [barrier.get_by_role("button", name=f"Step warp {w}") for w in (0, 1)]
    steps[0].focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert numbers(barrier)["hazard"] == "1"
    assert "garbage" in barrier.locator(".said").inner_text()
    assert steps[0].get_attribute("aria-disabled") == "true"
    barrier.get_by_label("cuda.syncthreads()").press("Space")
    assert "waits there for warp 1" in barrier.locator(".said").inner_text()
    for which in (1, 1, 0, 1):
        steps[which].press("Enter")
    assert numbers(barrier) == {"epoch": "1", "hazards": "0"}

    assert numbers(room)["occupancy"] == "100 %"
    room.get_by_role("slider", name=re.compile("^registers")).press("ArrowRight")
    assert numbers(room)["occupancy"] == "50 %"


def test_a_mouse_follows_a_coordinate_through_two_layouts(
    open_page: Callable, bench: Callable
) -> None:
    page = opened(open_page, bench("over", [("composed", {})], "light"), 1).page
    figure = page.locator(".weft-figure")
    assert numbers(figure)["c"] == "4"
    figure.locator('[data-pick="5"]').first.hover()
    expected = {"c": "5", "B(c)": "10", "A(B(c))": "34", "R(c), in one step": "34"}
    assert numbers(figure) == expected
    picture = figure.get_by_role("slider", name=re.compile("coordinate c"))
    picture.press("Home")
    assert numbers(figure)["c"] == "0"  # the mouse rests, and takes nothing back
    figure.get_by_role("button", name="none").click()
    assert "steps of 4 do not divide" in figure.locator(".said").inner_text()


def test_a_kernel_of_a_step_is_chosen(open_page: Callable, bench: Callable) -> None:
    shown: list[tuple[str, dict[str, Any]]] = [("training_step", {"runs": RUNS})]
    page = opened(open_page, bench("step", shown, "light"), 1).page
    figure = page.locator(".weft-figure")
    said = figure.locator(".said")
    assert "forward comes first and takes 40.0 µs" in said.inner_text()
    picture = figure.get_by_role("slider", name=re.compile("chosen kernel"))
    picture.press("ArrowDown")
    assert "update starts after 40.0 µs" in said.inner_text()
    picture.press("End")
    assert "The rest: 140 µs of the 190 µs per step" in said.inner_text()
    figure.locator('[data-pick="2"]').first.hover()
    assert "Pooling and its gradient: 50.0 µs" in said.inner_text()
    assert numbers(figure)["times as fast"] == "3.6"


def test_a_page_may_ask_for_few_controls(open_page: Callable, bench: Callable) -> None:
    state = {"stride": 6, "rows": 16, "only": ["stride"]}
    page = opened(open_page, bench("few", [("warp_access", state)], "light"), 1).page
    sliders = page.get_by_role("slider")
    assert sliders.count() == 1
    assert page.get_by_role("radio").count() == 0
    sliders.press("End")
    figure = page.locator(".weft-figure")
    assert "x[16 * lane]" in figure.locator(".code").inner_text()
    assert numbers(figure)["sectors"] == "32"


def test_the_roofline_is_dragged(open_page: Callable, bench: Callable) -> None:
    url = bench("roof", [("roofline", {"intensity": 1})], "light")
    page = opened(open_page, url, 1).page
    figure = page.locator(".weft-figure")
    assert "Memory is the limit" in figure.locator(".said").inner_text()
    box = figure.locator("svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 150)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 150, steps=3)
    page.mouse.up()
    assert "Arithmetic is the limit" in figure.locator(".said").inner_text()
    assert numbers(figure)["of peak arithmetic"] == "100 %"


@pytest.mark.parametrize("name", PAGES)
def test_pages_wake_their_figures(dark_page: Any, site: str, name: str) -> None:
    page = dark_page.page
    dark_page.errors.clear()
    dark_page.left.clear()
    scripts: dict[str, int] = {}

    def weigh(request: Any) -> None:
        if "/_static/figures/" in request.url and request.url.endswith(".js"):
            scripts[request.url] = len(request.response().body())

    page.on("requestfinished", weigh)
    page.goto(f"{site}/{name}.html")
    places = page.locator("[data-figure]")
    assert [p.get_attribute("data-figure") for p in places.all()] == PAGES[name]
    for figure in places.all():
        figure.scroll_into_view_if_needed()
        figure.locator(".controls").wait_for(state="attached")
        assert figure.get_by_role("group").first.get_attribute("aria-label")
    page.remove_listener("requestfinished", weigh)
    assert page.locator(".weft-still").count() == 0
    assert 0 < sum(scripts.values()) < MOST_SCRIPT
    assert dark_page.errors == []
    assert dark_page.left == []


def test_without_scripts_a_still_picture_remains(browser: Any, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/book/13_shared_memory.html")
    stills = page.get_by_role("img", name=re.compile("warp reads every second"))
    assert stills.locator("svg").is_visible()
    assert stills.bounding_box()["height"] > 200
    context.close()


def test_other_pages_load_no_figure(open_page: Callable, site: str) -> None:
    watched = open_page()
    watched.page.goto(f"{site}/book/glossary.html")
    assert watched.page.locator('script[src*="figures/"]').count() == 0


def test_the_last_digits_of_a_coordinate_are_not_drawn() -> None:
    assert rounded('x="-22.679521629172125" y="1.5"') == 'x="-22.68" y="1.5"'
    assert rounded("-1.2345e-17 0.00004 1234.56789") == "0 0 1234.568"


def test_stills_are_what_the_figures_draw(browser: Any) -> None:
    assert out_of_date(draw_all(browser)) == [], "run `make figures`"
