"""Texts of users inside of Markdown and YAML: whatever they are, they stay texts."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from etairl.markup import markdown_code, markdown_table, markdown_text, yaml_lines, yaml_text

HOSTILE = (
    "a | b\n---\n# x",
    "</script><img src=x onerror=alert(1)>",
    "[link](javascript:alert(1)) ![x](http://e.x/y.png)",
    "`code` **bold** _it_ ~~no~~ $x^$ <b> &amp; @someone",
    "https://e.x and www.e.x",
    '"quoted": \\x, {a: b}, - c, # d, %e, !f, *g, &h',
    "\u2028\u0085\x00\x7f\ud800\ufeff \U0001f600",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_has_no_syntax_of_users(text):
    shown = markdown_text(text)
    assert not set(shown) & set("\n\r|<>`*~$@\\\u2028\x00")
    assert not any(part in shown for part in ("](", "://", "www."))
    shown.encode()
    code = markdown_code(text)
    assert "\n" not in code
    assert "|" not in code
    table = markdown_table(["a", "b"], [[text, text]])
    assert table.splitlines()[2].count("|") == 3
    assert len(table.splitlines()) == 3


def test_plain_names_are_left_alone():
    for text in ("HalfCheetah-v5", "gamma_rl=0.9", "MMD² of μ: −25 % [−50 %, 3 %]", "etairl/Fork"):
        assert markdown_text(text) == text
    assert markdown_code("a`b") == "``a`b``"


@settings(max_examples=60)
@given(st.text() | st.sampled_from(HOSTILE))
def test_yaml_gives_texts_back(text):
    whole = text.encode("utf-8", "replace").decode()
    assert yaml.safe_load(f"{yaml_text(text)}\n") == whole
    tree = {"a": [whole, {"b": whole, "c": [1, -2.5, 1e-05, 3e22, True]}], "d": whole}
    assert yaml.safe_load("\n".join(yaml_lines(tree))) == tree
