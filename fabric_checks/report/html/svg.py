# SPDX-License-Identifier: BSD-3-Clause
"""What Matplotlib draws, as an element of the page: in the page's colours, with names of its own, its points told."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from matplotlib.figure import Figure

#: Colours that stand for the page's: ink, rules, background, and the lines.
INK, RULE, PAPER = "#010203", "#040506", "#070809"
LINES = tuple(f"#0a0b{index:02x}" for index in range(16, 23))
VARIABLES = {INK: "--ink", RULE: "--rule", PAPER: "--paper"} | {
    colour: f"--line-{index}" for index, colour in enumerate(LINES)
}
_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


def page_svg(figure: Figure, key: str, points: dict[str, list[int]]) -> str:
    """Return a drawing as an element for the page.

    :param points: for each line by name the numbers of its points' provenance, in order.
    """
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    ET.register_namespace("", _SVG[1:-1])
    ET.register_namespace("xlink", _XLINK[1:-1])
    root = ET.fromstring(out.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
                parent.remove(child)
    for element in root.iter():
        numbers = points.get(element.get("id", ""))
        if numbers is not None:
            _mark(element, numbers)
    for element in root.iter():
        _rename(element, key)
    # A character is as large in a narrow drawing as in a wide one.
    root.set("style", f"max-width: {6.7 * figure.get_figwidth():.0f}rem")
    # Its name and description are those of the figure around it.
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {
        "role": "img",
        "aria-labelledby": f"{key}-title",
        "aria-describedby": f"{key}-description",
        "class": "plot",
        "focusable": "false",
    }
    text = ET.tostring(root, encoding="unicode")
    return re.sub("|".join(VARIABLES), lambda match: f"var({VARIABLES[match[0].lower()]})", text, flags=re.IGNORECASE)


def _mark(line: ET.Element, numbers: Sequence[int]) -> None:
    """Let the points of a line know their provenance, and say once how they look."""
    for group in line.iter(f"{_SVG}g"):
        uses = group.findall(f"{_SVG}use")
        if len(uses) == len(numbers) and uses:
            group.set("style", uses[0].get("style", ""))
            for use, number in zip(uses, numbers, strict=True):
                use.attrib.pop("style", None)
                use.attrib |= {"class": "point", "data-p": str(number)}
                for name in ("x", "y"):
                    use.set(name, f"{float(use.get(name, '0')):.1f}")


def _rename(element: ET.Element, key: str) -> None:
    """Make the names in a drawing its own: a page has many drawings."""
    for name, value in element.attrib.items():
        if name == "id":
            element.set(name, f"{key}-{value}")
        elif name in ("href", f"{_XLINK}href") and value.startswith("#"):
            element.set(name, f"#{key}-{value[1:]}")
        elif "url(#" in value:
            element.set(name, value.replace("url(#", f"url(#{key}-"))
