"""Lines of TOML values: every value that `tomllib` reads has its line, whatever the syntax."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.sweeps.specification.locate import closest, positions

TEXTS = {
    "keys": 'a = 1\n"b c" = 2\n\'d.e\' = 3\nf . "g" = 4\n1.2 = true\n',
    "tables": "x = 0\n[a]\ny = 1\n\n[a.b]  # comment ] [\nz = 2\n[ c . d ]\n",
    "arrays": 'a = [\n  1, # one, two ]\n  [2, 3],\n\n  { b = "]" , c = [4]},\n]\nd = []\ne = {}\n',
    "strings": 'a = "# no \\" comment"\n'
    'b = \'\\\'\nc = """\nx = 1\n"quoted" \\"""\n"""\nd = \'\'\'\n[t]\n\'\'\'\ne = """two"""""\n',
    "array of tables": "[[a]]\nx = 1\n[a.b]\ny = 2\n[[a]]\n[[a.c]]\nz = 3\n[[a.c]]\nz = 4\n",
    "scalars": "a = 1e-12\nb = -inf\nc = 1979-05-27T07:32:00Z\nd = 0xff\ne = false\nf = 07:32:00 # noon\n",
    "windows": "a = 1\r\n[b]\r\nc = [\r\n2]\r\n",
    "inline": "a = { b.c = 1, d = { e = [1, 2] } }\nf = [[1, 2],\n[3]]\n",
}


def paths(value, path=()):
    """All paths of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield (*path, key)
        yield from paths(one, (*path, key))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_value_has_a_line(text):
    """The scanner finds exactly the values that `tomllib` reads."""
    assert set(positions(text)) == set(paths(tomllib.loads(text)))


def test_lines():
    """Lines are those of an editor."""
    lines = positions(TEXTS["arrays"])
    assert [lines[path] for path in [("a",), ("a", 0), ("a", 1, 1), ("a", 2, "c", 0), ("d",)]] == [1, 2, 3, 5, 7]
    lines = positions(TEXTS["array of tables"])
    assert (lines["a", 0, "b", "y"], lines["a", 1, "c", 0, "z"], lines["a", 1, "c", 1, "z"]) == (4, 7, 9)
    lines = positions(TEXTS["strings"])
    assert (lines["d",], lines["e",]) == (7, 10)
    lines = positions(TEXTS["windows"])
    assert (lines["b", "c"], lines["b", "c", 0]) == (3, 4)


def test_a_missing_value_has_the_line_of_its_table():
    """What is not written is looked for around where it should be."""
    lines = positions("x = 1\n[a]\nb = { c = 1 }\n")
    assert closest(lines, ("a", "b", "d")) == (3, ("d",))
    assert closest(lines, ("a", "q", 0)) == (2, ("q", 0))
    assert closest(lines, ("q",)) == (None, ("q",))


SCALARS = st.one_of(st.integers(-9, 9), st.booleans(), st.text(alphabet="ab#[]{}=\".\\\n'", max_size=6))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
TABLES = st.dictionaries(st.text(alphabet='ab. #="', min_size=1, max_size=4), VALUES, max_size=4)


def written(value) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ",\n ".join(map(written, value)) + "]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return str(value)


@given(st.dictionaries(st.sampled_from(["one", "two", "three"]), TABLES, max_size=3))
def test_any_document(tables):
    """Whatever keys and strings hold, lines stay in step with the text."""
    text, expected = "", {}
    for name, table in tables.items():
        expected[name,] = text.count("\n") + 1
        text += f"[{name}]\n"
        for key, value in table.items():
            expected[name, key] = text.count("\n") + 1
            text += f"{written(key)} = {written(value)} # comment\n"
    lines = positions(text)
    assert set(lines) == set(paths(tomllib.loads(text)))
    assert {path: lines[path] for path in expected} == expected
