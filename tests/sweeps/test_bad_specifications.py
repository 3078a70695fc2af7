"""Wrong specifications: every error names the file, the line, the field, what was received and what is allowed."""

import re

import numpy as np
import pytest

import tutelage as tl
from tutelage.errors import InvalidArgument, MalformedData

GOOD = """\
runs = 3
[problem]
family = "committee"
students = 2
teacher = [[1.0, 0.0], [0.0, 1.0]]
[method]
kind = "gradient_descent"
step = 0.1
"""

# What is put in place of what, the line of the error, the field, and what the line says.
WRONG = {
    "misspelt field": (
        "students",
        "studnets",
        4,
        "problem.studnets",
        'not a field here. Did you mean "students". Allowed:',
    ),
    "missing field": ("students = 2\n", "", 2, "problem.students", "is missing. Give a whole number."),
    "misspelt family": ("committee", "comittee", 3, "problem.family", 'neuron, .* received "comittee". Did you mean'),
    "family is a number": ('"committee"', "3", 3, "problem.family", "one of committee, .* received 3"),
    "no family": ('family = "committee"\n', "", 2, "problem.family", "is missing. Choose one of committee"),
    "no problem": (r"(?s)\[problem\].*?\[method", "[method", 1, "problem", "is missing"),
    "problem is text": ("(?s)^.*$", "problem = 3\nruns = 1", 1, "problem", "table with `family`"),
    "text for a number": (
        "students = 2",
        'students = "two"',
        4,
        "problem.students",
        'whole number, but received "two"',
    ),
    "fraction for a count": ("students = 2", "students = 2.5", 4, "problem.students", "whole number, but received 2.5"),
    "truth for a count": ("students = 2", "students = true", 4, "problem.students", "whole number, but received true"),
    "zero students": ("students = 2", "students = 0", 4, "problem.students", "at least 1, but received 0"),
    "ragged": ("0.0, 1.0", "0.0, 1.0, 2.0", 5, "problem.teacher", "rows of one length, but received rows of 2, 3"),
    "text in an array": ("0.0, 1.0", '0.0, "x"', 5, r"problem.teacher\[1\]\[1\]", 'a number, but received "x"'),
    "infinite entry": ("0.0, 1.0", "0.0, inf", 5, r"problem.teacher\[1\]\[1\]", "finite"),
    "zero teacher": ("0.0, 1.0", "0.0, 0.0", 5, "problem.teacher", "not be zero"),
    "vector for a matrix": (r"teacher = .*", "teacher = [1.0]", 5, r"problem.teacher\[0\]", "list in brackets"),
    "empty teacher": (r"teacher = .*", "teacher = []", 5, "problem.teacher", "not be empty"),
    "no array": (
        r"teacher = .*",
        "teacher = 3",
        5,
        "problem.teacher",
        "generator` .orthonormal.*file`; but received 3",
    ),
    "no generator": (
        r"teacher = .*",
        'teacher = { generator = "orthonrmal", neurons = 2 }',
        5,
        "problem.teacher.generator",
        'one of orthonormal, gaussian, sphere, .* mean "orthonormal"',
    ),
    "field of a generator": (
        r"teacher = .*",
        'teacher = { generator = "orthonormal", neurons = 2, scale = 3 }',
        5,
        "problem.teacher.scale",
        "not a field here.* Allowed: generator, neurons, dimension, norm",
    ),
    "generator refuses": (
        r"teacher = .*",
        'teacher = { generator = "orthonormal", neurons = 4, dimension = 3 }',
        5,
        "problem.teacher.dimension",
        "at least the number of rows, 4, but received 3",
    ),
    "misspelt activation": ("students", 'activation = "rellu"\nstudents', 4, "problem.activation", 'mean "relu"'),
    "activation argument": (
        "students",
        'activation = { name = "relu", slope = 1 }\nstudents',
        4,
        "problem.activation.slope",
        "not a field here. Allowed: name, kink",
    ),
    "misspelt law": ("students", 'inputs = { law = "bal" }\nstudents', 4, "problem.inputs.law", 'mean "ball"'),
    "law of functions": ("students", 'inputs = "spherical"\nstudents', 4, "problem.inputs", "given by functions"),
    "law of another dimension": (
        "students",
        'inputs = { law = "ball", dimension = 3 }\nstudents',
        4,
        "problem.inputs",
        r"have the dimension 2 of the teacher, but received ball\(3\)",
    ),
    "law refuses": (
        "students",
        'inputs = { law = "gaussian", covariance = [[1, 2], [2, 1]] }\nstudents',
        4,
        "problem.inputs.covariance",
        "positive semi-definite",
    ),
    "component refuses": (
        "students",
        'inputs = { law = "mixture", components = [{ law = "ball" }, { law = "ball", radius = -1 }] }\nstudents',
        4,
        r"problem.inputs.components\[1\].radius",
        "positive",
    ),
    "no method": (r"(?s)\[method\].*", "", 1, "method", "is missing"),
    "misspelt method": ("gradient_descent", "gradient_decent", 7, "method.kind", 'optax, .*mean "gradient_descent"'),
    "negative step": ("step = 0.1", "step = -0.1", 8, "method.step", "must be positive"),
    "schedule": ("step = 0.1", 'step = { schedule = "linear" }', 8, "method.step.schedule", "linear_schedule"),
    "no transformation": ("gradient_descent", "optax", 6, "method.name", "is missing. Choose one of adabelief"),
    "misspelt transformation": (
        'gradient_descent"\nstep',
        'optax"\nname = "adm"\nlearning_rate',
        8,
        "method.name",
        'mean "adam"',
    ),
    "projection": ("step = 0.1", "step = 0.1\nprojection = 3", 9, "method.projection", "a table, but received 3"),
    "misspelt starts": (r"\Z", '[starts]\nlaw = "xaver"\n', 10, "starts.law", 'mean "xavier"'),
    "starts do not fit": (r"\Z", '[starts]\nlaw = "sphere_ball"\n', 9, "starts", "convolution problem"),
    "starts of a function": (r"\Z", '[starts]\nlaw = "product"\n', 10, "starts.law", "given by a function"),
    "too few starts": (
        r"\Z",
        '[starts]\nlaw = "given"\npoints = [[[1, 0], [0, 1]]]\n',
        11,
        "starts.points",
        "each of the 3 runs, but received 1 starts",
    ),
    "misspelt stop": (r"\Z", "[stop]\ngradient_nrm = 1\n", 10, "stop.gradient_nrm", 'mean "gradient_norm"'),
    "wall time": (r"\Z", "[stop]\nwall_time = 1\n", 10, "stop.wall_time", "depend on the machine. Use `step_limit`"),
    "negative stop": (r"\Z", "[stop]\nstep_limit = -1\n", 10, "stop.step_limit", "at least 0, but received -1"),
    "misspelt quantity": (r"\Z", '[record]\nquantities = ["los"]\n', 10, r"record.quantities\[0\]", 'mean "loss"'),
    "no quantity": (r"\Z", "[record]\nquantities = []\n", 10, "record.quantities", "not be empty"),
    "objective": (r"\Z", '[objective]\nkind = "polulation"\n', 10, "objective.kind", 'mean "population"'),
    "empirical": (r"\Z", '[objective]\nkind = "empirical"\n', 9, "objective", "either `samples`"),
    "stream without batch": (r"\Z", '[objective]\nkind = "stream"\n', 9, "objective.batch", "is missing"),
    "finish without stop": (
        r"\Z",
        '[finish]\nkind = "newton"\n[stop]\nloss_below = 1\n',
        9,
        "finish",
        "needs `stop.gradient_norm`",
    ),
    "no runs": ("runs = 3\n", "", 1, "runs", "is missing. Give a whole number."),
    "zero runs": ("runs = 3", "runs = 0", 1, "runs", "at least 1, but received 0"),
    "misspelt top": ("runs = 3", "runs = 3\nsede = 1", 2, "sede", 'mean "seed". Allowed: problem'),
    "too many runs": ("runs = 3", "runs = 99999999999999999999", 1, "runs", "below 2147483648"),
    "too many students": ("students = 2", f"students = {10**30}", 4, "problem.students", "below 2147483648"),
    "large seed": ("runs = 3", "runs = 3\nseed = 4294967296", 2, "seed", "below 4294967296"),
    "success of zero": ("runs = 3", "runs = 3\nsuccess = 0", 2, "success", "above 0"),
    "restarts": ("runs = 3", 'runs = 3\nrestarts = "yes"', 2, "restarts", "true or false"),
    "value of a grid": (
        r"\Z",
        "[grid]\nproblem.students = [\n  2,\n  0,\n]\n",
        12,
        r"grid.problem.students\[1\]",
        "at least 1",
    ),
    "field of a grid": (
        r"\Z",
        "[grid]\nproblem.studnets = [2]\n",
        10,
        r"grid.problem.studnets\[0\]",
        'mean "students"',
    ),
    "lengths of a zip": (r"\Z", "[[zip]]\nseed = [1, 2]\nruns = [3]\n", 9, r"zip\[0\]", "seed has 2, runs has 1"),
    "composite": (
        "(?s)^.*$",
        'runs = 1\nproblem = { family = "composite", outer = "middle", target = [1.0] }\n'
        'method = { kind = "gradient_descent", step = 1 }',
        2,
        "problem.outer",
        "'low', 'high' or 'both', but received \"middle\"",
    ),
    "no exact loss": (
        "(?s)^.*$",
        'runs = 1\nproblem = { family = "composite", outer = "low", target = [1.0] }\n'
        'method = { kind = "gradient_descent", step = 1 }',
        1,
        "objective",
        "no exact population loss. Use `stream` or `empirical`",
    ),
}


def lines_of(text, tmp_path):
    """The lines of the error of a specification."""
    file = tmp_path / "spec.toml"
    file.write_text(text)
    with pytest.raises(tl.SpecificationError) as caught:
        tl.Sweep.from_toml(file)
    assert str(caught.value) == "\n".join(caught.value.issues)
    return [issue.removeprefix(str(tmp_path) + "/") for issue in caught.value.issues]


def test_the_good_one(tmp_path):
    """What the wrong ones are made of is right."""
    (tmp_path / "spec.toml").write_text(GOOD)
    assert len(tl.Sweep.from_toml(tmp_path / "spec.toml")) == 1


@pytest.mark.parametrize(("old", "new", "line", "field", "text"), WRONG.values(), ids=WRONG)
def test_wrong(old, new, line, field, text, tmp_path):
    """Each wrong specification has the one error that it should have, on its line."""
    changed, number = re.subn(old, lambda _: new, GOOD, count=1)
    assert number == 1 and changed != GOOD
    lines = lines_of(changed, tmp_path)
    found = [one for one in lines if re.match(rf"spec\.toml:{line}: {field}: ", one)]
    assert found, lines
    assert re.search(text, found[0]), found


def test_everything_that_is_wrong_is_shown(tmp_path):
    """Several errors come together, in the order of the file."""
    text = GOOD.replace("runs = 3", "runs = 0").replace("students", "studnets").replace("0.1", '"fast"')
    fields = [line.split(": ")[:2] for line in lines_of(text, tmp_path)]
    assert fields == [
        ["spec.toml:1", "runs"],
        ["spec.toml:2", "problem.students"],
        ["spec.toml:4", "problem.studnets"],
        ["spec.toml:8", "method.step"],
    ]


def test_everything_that_the_library_refuses_is_shown(tmp_path):
    """Values that only the library can judge are judged in all sections."""
    text = GOOD.replace("students = 2", "students = 0").replace("0.1", "-1") + "[stop]\nstep_limit = -1\n"
    fields = [line.split(": ")[1] for line in lines_of(text, tmp_path)]
    assert fields == ["problem.students", "method.step", "stop.step_limit"]


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"runs = 3\nproblem = \n", 2), (b"a = 1\na = 2\n", 2), (b"[[", 1), (b"a = 1\nb = '", 2)],
)
def test_not_toml(content, line, tmp_path):
    """What is not TOML is said so, with the line."""
    (tmp_path / "spec.toml").write_bytes(content)
    with pytest.raises(tl.SpecificationError, match=rf"spec.toml:{line}: not valid TOML"):
        tl.Sweep.from_toml(tmp_path / "spec.toml")


@pytest.mark.parametrize("depth", [40, 300, 5000])
def test_nested_too_deeply(depth, tmp_path):
    """A text cannot exhaust the stack."""
    (tmp_path / "spec.toml").write_text(f"a = {'[' * depth}{']' * depth}\n")
    with pytest.raises(tl.SpecificationError, match="nested too deeply"):
        tl.Sweep.from_toml(tmp_path / "spec.toml")


def test_not_readable(tmp_path):
    """A file that is absent, a folder, or not text is one clear line."""
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "absent.toml", tmp_path, tmp_path / "binary.toml"):
        with pytest.raises(tl.SpecificationError, match="cannot be read"):
            tl.Sweep.from_toml(path)


def test_errors_in_python():
    """From Python the field is named, without a line; NumPy values are as good as plain ones."""
    problem = {"family": "committee", "teacher": np.eye(2), "students": np.int64(2)}
    with pytest.raises(tl.SpecificationError, match=r"^method.step: must be positive, but received -1"):
        tl.Sweep(problem, {"kind": "gradient_descent", "step": -1.0}, runs=1)
    with pytest.raises(tl.SpecificationError, match=r"^problem.teacher: must be an array of numbers"):
        tl.Sweep({**problem, "teacher": np.array([["a"]])}, {"kind": "gradient_descent", "step": 1}, runs=1)


def test_arguments_that_are_no_specification():
    """A folder that is no path, a document that is none, a file in the place of a sweep: one sentence each."""
    problem, method = {"family": "neuron", "target": [1.0]}, {"kind": "gradient_descent", "step": 0.5}
    for call in (
        lambda: tl.Sweep(problem, method, 1, folder=3),
        lambda: tl.Sweep.from_document(tl.Sweep(problem, method, 1).document(), folder=3),
    ):
        with pytest.raises(InvalidArgument, match="`folder` must be a path"):
            call()
    with pytest.raises(MalformedData, match="document of a sweep"):
        tl.Sweep.from_document(3)
    for seconds, cores, name in ((float("nan"), 1, "seconds"), (0.0, 1, "seconds"), (1.0, 0, "cores")):
        with pytest.raises(InvalidArgument, match=f"`{name}` must be"):
            tl.Sweep(problem, method, 1).ranges(seconds, cores)
    with pytest.raises(InvalidArgument, match=r"`work` must be a Sweep, but received 'first.toml'"):
        tl.run_sweep("first.toml", "folder")
