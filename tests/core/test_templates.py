# SPDX-License-Identifier: BSD-3-Clause
"""Templates of plain text."""

import jinja2
import pytest

from fabric_checks.core.templates import filled


def test_a_template_has_the_words_of_all_others_and_its_own(tmp_path):
    template = tmp_path / "a.jinja"
    template.write_text(
        "{% if nodes %}\n{{ nodes | count('node') }}: {{ rate | number }} {{ text | line }}"
        "{{ 2 | own }}\n{% endif %}\n"
    )
    text = filled(
        template, {"own": lambda each: each * 2}, nodes=3, rate=1234.56, text="a\nb"
    )
    assert text == "3 nodes: 1235 a b4\n"


def test_a_name_that_is_not_given_is_refused(tmp_path):
    template = tmp_path / "a.jinja"
    template.write_text("{{ nobody }}")
    with pytest.raises(jinja2.UndefinedError):
        filled(template, {})
