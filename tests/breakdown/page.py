#!/usr/bin/python3
"""The page of weftrun --breakdown in a browser without a window: it draws without errors, with d3 and without, and
with many ranks: page.py CHROMIUM WEFTRUN WEFT-BREAKDOWN FAULTS PLAIN [SCREENSHOTS]."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CHROMIUM, WEFTRUN, BREAKDOWN, FAULTS, _ = sys.argv[1:6]
SHOTS = sys.argv[6] if len(sys.argv) > 6 else None
# The page must say by itself what went wrong, since a browser without a window shows no console.
TRAP = "<script>window.onerror = (m, f, l) => document.documentElement.setAttribute('data-error', m + ' at ' + l);</script>"


# Half of a common screen. The last script tells how wide the page has become in it.
NARROW = 800
WIDTH = "document.documentElement.setAttribute('data-width', document.documentElement.scrollWidth + ' of ' + innerWidth);"


def browse(page, *words):
    return subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           "--hide-scrollbars", *words, page.as_uri()], capture_output=True, text=True, timeout=120)


def check_page(page, with_plots, clicks=""):
    text = page.read_text()
    if not with_plots:  # As where the package is not installed.
        text = re.sub(r"</script>\n<script>\n.*?\n</script>\n<script>", lambda _: "</script>\n<script>\n</script>\n<script>",
                      text, count=1, flags=re.DOTALL)
    text = text.replace("<head>", "<head>" + TRAP, 1).replace("</body>", f"<script>{clicks}{WIDTH}</script></body>", 1)
    page = page.with_name(page.stem + ("-d3" if with_plots else "-plain") + ".html")
    page.write_text(text)
    shown = browse(page, "--dump-dom", f"--window-size={NARROW},2000").stdout
    error = re.search(r'data-error="([^"]*)"', shown)
    if error or 'data-ready="1"' not in shown:
        sys.exit(f"{page.name}: {error.group(1) if error else 'the script did not come to its end'}")
    width = re.search(r'data-width="(\d+) of (\d+)"', shown)
    if not width or int(width.group(1)) > int(width.group(2)) or int(width.group(2)) > NARROW:
        sys.exit(f"{page.name}: in a window of {NARROW} the page is {width and width.group(0)} wide")
    if with_plots != ("<svg" in shown):
        sys.exit(f"{page.name}: plots {'are missing' if with_plots else 'without d3'}")
    if re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)):
        sys.exit(f"{page.name}: the page asks for something of a network")
    if SHOTS:
        for width in (NARROW, 1120):
            browse(page, f"--screenshot={SHOTS}/{page.stem}-{width}.png", f"--window-size={width},2600")
    return shown


CLICKS = """
const row = document.querySelectorAll("#ranks .row")[1];
row.dispatchEvent(new MouseEvent("click", {bubbles: true}));
const slider = document.querySelector("#sliders input");
const before = document.querySelector("#curves circle:nth-of-type(1)").getAttribute("cx");
slider.value = 50; slider.dispatchEvent(new Event("input"));
const after = document.querySelector("#curves circle:nth-of-type(1)").getAttribute("cx");
document.documentElement.setAttribute("data-filter", document.getElementById("filter").textContent);
document.documentElement.setAttribute("data-slid", before + " to " + after);
"""
MESSAGE_CLICKS = """
const box = document.querySelector("#message");
const sum = box.querySelectorAll("p")[1], was = sum.textContent;
const inputs = box.querySelectorAll("input");
inputs.forEach(i => { i.value = 50; i.dispatchEvent(new Event("input")); });
document.documentElement.setAttribute("data-message", was.slice(0, 60) + " to " + sum.textContent.slice(0, 60));
"""


def main():
    with tempfile.TemporaryDirectory() as directory:
        few = Path(directory) / "few.html"
        subprocess.run([WEFTRUN, "--breakdown", "--breakdown-file", str(few), "-n", "4", FAULTS, "barrier"], check=True,
                       capture_output=True, timeout=120)
        has_d3 = "d3js.org" in few.read_text()
        if has_d3:
            shown = check_page(few, True, CLICKS)
            for title in ("Critical path", "Delays, by who caused them", "each message may take longer by"):
                if title not in re.sub(r"<section[^>]*hidden.*?</section>", "", shown, flags=re.DOTALL):
                    sys.exit(f"the page has no '{title}'")
            if "Only those of rank 1" not in shown:
                sys.exit("a click on a rank filters nothing: " + str(re.findall(r'data-filter="[^"]*"', shown)))
            slid = re.search(r'data-slid="(\S+) to (\S+)"', shown)
            if not slid or slid.group(1) == slid.group(2):
                sys.exit("a slider moves no curve")
        else:
            print("d3 is not installed: tables only")
        check_page(few, False)
        paths = Path(directory) / "paths.html"
        subprocess.run([WEFTRUN, "--breakdown", "--breakdown-file", str(paths), "--call-paths", "-n", "4", FAULTS, "late_sender"], check=True,
                       capture_output=True, timeout=120)
        if not re.search(r"message_of at [^<]* ← main at ", check_page(paths, has_d3)):
            sys.exit("the page has no path of callers")
        # With a message that has been measured.
        made = few.with_name("message.html")
        for words in (["measure", "--face", "fellows", "--runs", "1", "--samples", "100", "--out", str(few.with_name("here.json"))],
                      ["report", str(few.with_suffix(".record")), "--page", str(made), "--message", str(few.with_name("here.json"))]):
            subprocess.run([BREAKDOWN, *words], check=True, capture_output=True, timeout=120)
        shown = check_page(made, has_d3, MESSAGE_CLICKS)
        slid = re.search(r'data-message="([^"]*) to ([^"]*)"', shown)
        if "switch" not in shown or not slid or slid.group(1) == slid.group(2):
            sys.exit("a slider of a message changes nothing")
        many = Path(directory) / "many.html"
        subprocess.run([WEFTRUN, "--breakdown", "--breakdown-file", str(many), "-n", "600", FAULTS, "none"], check=True,
                       capture_output=True, timeout=120)
        check_page(many, has_d3)


main()
