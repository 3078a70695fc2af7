"""The families of problems, each a line to write down."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tutelage import activations
from tutelage.activations import Activation, ReLU
from tutelage.arrays import of_jax
from tutelage.checks import (
    affordable,
    count,
    finite_array,
    finite_number,
    flag,
    not_negative,
    of_kind,
    one_of,
    sequence,
)
from tutelage.errors import invalid
from tutelage.inputs import Inputs, gaussian
from tutelage.models import (
    Composite,
    Convolution,
    FilterAndOutput,
    Homogeneous,
    LearnedComposite,
    Model,
    Parity,
    TwoLayer,
    Wave,
)
from tutelage.models.composite import OUTER_FUNCTIONS
from tutelage.points import template_of
from tutelage.problems.problem import Problem


def _nonzero_rows(argument: str, value: Any, dimensions: int) -> Float[Array, "..."]:
    array = finite_array(argument, value, dimensions=dimensions)
    norms = np.linalg.norm(np.atleast_2d(np.asarray(array)), axis=-1)
    if (norms == 0).any():
        row = f" (row {int(np.argmin(norms))})" if dimensions == 2 else ""
        raise invalid(argument, "not be zero", f"a zero vector{row}", "A teacher that is zero teaches nothing")
    return array


def _law(inputs: Inputs | None, dimension: int) -> Inputs:
    if inputs is None:
        return gaussian(dimension)
    of_kind("inputs", inputs, Inputs, "a law of tutelage.inputs", "Wrap an array in tutelage.inputs.data")
    if inputs.dimension != dimension:
        raise invalid(
            "inputs",
            f"have the dimension {dimension} of the teacher",
            f"{inputs.name}, of dimension {inputs.dimension}",
            "Choose inputs and teacher of the same dimension",
        )
    return inputs


def _problem(
    name: str,
    student: Model,
    teacher: Model,
    target: Any,
    inputs: Inputs | None,
    noise: float,
    neurons: int | None = None,
    decay: tuple[Array, ...] | None = None,
) -> Problem:
    """Return a problem after its law and its noise were checked.

    Args:
        name: Name of the family.
        student: The student's model.
        teacher: The teacher's.
        target: The teacher's parameters, vectors of the inputs first.
        inputs: Law of the inputs, or of one patch; standard Gaussian if there is none.
        noise: Standard deviation of the label noise.
        neurons: Number of the student's neurons, where its model does not say it.
        decay: Rates of weight decay, one per array of the student, or `None`.
    """
    dimension = jax.tree.leaves(target)[0].shape[-1]
    law, noise = _law(inputs, dimension), not_negative("noise", noise)
    template = template_of(student.shapes).sized(dim=dimension, neuron=neurons)
    # An array, so that one program serves all strengths; but a number where there is none, and nothing has to be drawn.
    return Problem(name, student, teacher, target, law, of_jax(noise) if noise else 0.0, template, decay)


def _number_of(argument: str, value: Any, dimension: int) -> int:
    """Return a number of vectors in the space of the inputs, or raise if they do not fit into memory."""
    number = count(argument, value)
    affordable(argument, number, number * dimension, "one student")
    return number


def neuron(
    target: Any, activation: str | Activation = "relu", inputs: Inputs | None = None, noise: float = 0.0
) -> Problem:
    r"""A single neuron $\sigma(w\cdot x)$ that learns another, $\sigma(v\cdot x)$.

    Args:
        target: The teacher's vector $v$, `[dim]`, not zero.
        activation: The activation $\sigma$, by name or as an `Activation`.
        inputs: Law of the inputs; standard Gaussian by default.
        noise: Standard deviation of the label noise.

    Returns:
        The problem; a student is a vector `[dim]`.

    Reference:
        Yehudai and Shamir, Learning a single neuron with gradient methods, 2020, Equation (1).
    """
    target = _nonzero_rows("target", target, 1)
    model = TwoLayer(activations.get(activation), single=True)
    return _problem("neuron", model, model, target, inputs, noise)


def committee(
    teacher: Any,
    students: int,
    activation: str | Activation = "relu",
    inputs: Inputs | None = None,
    noise: float = 0.0,
) -> Problem:
    r"""A sum of neurons $\sum_{i \le n} \sigma(w_i\cdot x)$ that learns another, $\sum_{j \le k} \sigma(v_j\cdot x)$.

    Args:
        teacher: The teacher's vectors $v_j$, `[teacher, dim]`, none zero.
        students: Number $n$ of student neurons.
        activation: The activation $\sigma$, by name or as an `Activation`.
        inputs: Law of the inputs; standard Gaussian by default.
        noise: Standard deviation of the label noise.

    Returns:
        The problem; a student is a matrix `[student, dim]`.

    Reference:
        Safran, Yehudai and Shamir, The effects of mild over-parameterization on the optimization landscape of
        shallow ReLU neural networks, 2021, Equation (1), which prints twice our loss.
    """
    teacher = _nonzero_rows("teacher", teacher, 2)
    students = _number_of("students", students, teacher.shape[1])
    model = TwoLayer(activations.get(activation))
    return _problem("committee", model, model, teacher, inputs, noise, students)


def homogeneous(
    teacher: Any,
    students: int,
    activation: str | Activation = "abs",
    signs: Any = None,
    linear: bool = False,
    inputs: Inputs | None = None,
    noise: float = 0.0,
) -> Problem:
    r"""A student $\sum_i a_i\,\|w_i\|\,\sigma(w_i\cdot x)$ that learns a teacher $\sum_j \sigma(w^*_j\cdot x)$.

    Args:
        teacher: The teacher's vectors $w^*_j$, `[teacher, dim]`, none zero.
        students: Number of student neurons.
        activation: `"abs"` (the paper's), `"relu"`, or any activation that is homogeneous of degree one.
        signs: The signs $a_i = \pm1$ of the student neurons; all `+1` by default.
        linear: Whether the student has a free linear term $\beta\cdot x$ as well, which turns the ReLU problem into
            the absolute-value one (the paper's Section A.1).
        inputs: Law of the inputs; standard Gaussian by default.
        noise: Standard deviation of the label noise.

    Returns:
        The problem; a student is a matrix `[student, dim]`, or a `WithLinear` of that and a vector `[dim]`.

    Reference:
        Zhou, Ge and Jin, A local convergence theory for mildly over-parameterized two-layer neural network, 2021,
        Definition 1.
    """
    teacher = _nonzero_rows("teacher", teacher, 2)
    students = _number_of("students", students, teacher.shape[1])
    activation, linear = activations.get(activation), flag("linear", linear)
    if activation.homogeneity != 1:
        raise invalid(
            "activation",
            "be homogeneous of degree one",
            activation.name,
            'Choose "abs", "relu", "leaky_relu" or "linear"',
        )
    if signs is not None:
        signs = finite_array("signs", signs, dimensions=1)
        if signs.shape[0] != students or not bool(np.all(np.abs(signs) == 1)):
            raise invalid("signs", f"be {students} numbers ±1", f"{signs.tolist()}", "Pass one sign per student")
    models = Homogeneous(activation, signs, linear), TwoLayer(activation)
    return _problem("homogeneous", *models, teacher, inputs, noise, students)


def convolution(
    filter: Any,
    output_weights: Any,
    normalized: bool = True,
    activation: str | Activation = "relu",
    inputs: Inputs | None = None,
    noise: float = 0.0,
) -> Problem:
    r"""A one-filter network $\sum_j a_j\,\sigma(v\cdot Z_j)/\|v\|$ that learns $\sum_j a^*_j\,\sigma(w^*\cdot Z_j)$.

    Args:
        filter: The teacher's filter $w^*$, `[dim]`, not zero.
        output_weights: The teacher's output weights $a^*$, `[patch]`, not all zero.
        normalized: Whether the student's filter is divided by its norm (the teacher's never is).
        activation: The activation; the paper's is ReLU.
        inputs: Law of one patch; patches are independent. Standard Gaussian by default.
        noise: Standard deviation of the label noise.

    Returns:
        The problem; a student is a `FilterAndOutput(filter [dim], output [patch])`.

    Reference:
        Du, Lee, Tian, Póczos and Singh, Gradient descent learns one-hidden-layer CNN, 2018, Equations (1), (2).
    """
    filter = _nonzero_rows("filter", filter, 1)
    output = _nonzero_rows("output_weights", output_weights, 1)
    student, teacher = (
        Convolution(activations.get(activation), output.shape[0], divided)
        for divided in (flag("normalized", normalized), False)
    )
    return _problem("convolution", student, teacher, FilterAndOutput(filter, output), inputs, noise)


def _patches(target: Any, patches: Any, sharing: Any) -> tuple[Float[Array, " dim"], int, tuple[bool, bool]]:
    """Return the teacher's vector, the number of patches, and whether student and teacher share one vector for all."""
    target = _nonzero_rows("target", target, 1)
    return target, _number_of("patches", patches, target.shape[0]), (flag("sharing", sharing), True)


def wave(
    target: Any,
    patches: int,
    slope: float | None = None,
    sharing: bool = True,
    inputs: Inputs | None = None,
    noise: float = 0.0,
) -> Problem:
    r"""The wave $c\,w_1\cdot x_1 + \cos(\sum_i w_i\cdot x_i)$, learned with or without weight sharing.

    Args:
        target: The teacher's vector $u_0$, `[dim]`, the same for all patches.
        patches: Number $k$ of patches.
        slope: The factor $c$ of the linear part; $3\sqrt k$, the smallest the paper's proofs use, by default.
        sharing: Whether the student has one vector for all patches, or one per patch.
        inputs: Law of one patch; patches are independent. Standard Gaussian by default.
        noise: Standard deviation of the label noise.

    Returns:
        The problem; a student is a vector `[dim]` with sharing, a matrix `[patch, dim]` without.

    Reference:
        Shalev-Shwartz, Shamir and Shammah, Weight sharing is crucial to successful optimization, 2017, Section 3.
    """
    target, patches, sharings = _patches(target, patches, sharing)
    factor = 3 * patches**0.5 if slope is None else finite_number("slope", slope)
    student, teacher = (Wave(factor, patches, shared) for shared in sharings)
    return _problem("wave", student, teacher, target, inputs, noise)


def parity(
    target: Any,
    patches: int,
    degrees: Any = None,
    sharing: bool = True,
    activation: str | Activation = "erf",
    inputs: Inputs | None = None,
    noise: float = 0.0,
) -> Problem:
    r"""Sums of products $\sum_r \prod_{l \le r} \sigma(w_l\cdot x_l)$, learned with or without weight sharing.

    Args:
        target: The teacher's vector $u_0$, `[dim]`, the same for all patches.
        patches: Number $k$ of patches.
        degrees: The degrees $r$: `(k,)`, `(1,)`, or `(1, k)`, the default; any set of numbers from 1 to $k$.
        sharing: Whether the student has one vector for all patches, or one per patch.
        activation: The activation; `"erf"` has closed forms, `"tanh"` is integrated.
        inputs: Law of one patch; patches are independent. Standard Gaussian by default.
        noise: Standard deviation of the label noise.

    Returns:
        The problem; a student is a vector `[dim]` with sharing, a matrix `[patch, dim]` without.

    Reference:
        Shalev-Shwartz, Shamir and Shammah, Weight sharing is crucial to successful optimization, 2017, Section 4.
    """
    target, patches, sharings = _patches(target, patches, sharing)
    if degrees is None:
        degrees = {1, patches}
    elif isinstance(degrees, (int, np.integer)):
        degrees = (degrees,)
    degrees = tuple(count("degrees", degree) for degree in sequence("degrees", degrees, "several whole numbers"))
    if not degrees or max(degrees) > patches or len(set(degrees)) != len(degrees):
        raise invalid(
            "degrees",
            f"be different numbers from 1 to {patches}",
            f"{degrees}",
            "Leave out repeated or large degrees",
        )
    student, teacher = (
        Parity(activations.get(activation), patches, tuple(sorted(degrees)), shared) for shared in sharings
    )
    return _problem("parity", student, teacher, target, inputs, noise)


def _require_number(outer: Callable, patches: int) -> None:
    """Raise if an outer function does not make one number of a vector with an entry per patch."""
    try:
        result = jax.eval_shape(outer, jax.ShapeDtypeStruct((patches,), jnp.float64))
    except Exception as error:
        received = f"one that raised {type(error).__name__}: {error}"
    else:
        if getattr(result, "shape", None) == ():
            return
        received = f"one that returns {result}"
    raise invalid(
        "outer",
        f"be a JAX function of a vector of {patches} entries that returns one number",
        received,
        "Check it with jax.jit",
    )


def composite(
    outer: str | Callable,
    target: Any,
    patches: int = 5,
    sharing: bool = True,
    learn_outer: bool = False,
    activation: str | Activation = "tanh",
    units: int = 50,
    inputs: Inputs | None = None,
    noise: float = 0.0,
) -> Problem:
    r"""A network $g(\sigma(w_1\cdot x_1), \dots, \sigma(w_k\cdot x_k))$ with a known or a learned outer function $g$.

    There is no closed form: use `stream` or `empirical`.

    Args:
        outer: The teacher's outer function: `"low"` ($z_1$), `"high"` ($\prod_i z_i$), `"both"` (their sum), or a
            function of one vector with an entry per patch.
        target: The teacher's vector, `[dim]`, the same for all patches.
        patches: Number of patches.
        sharing: Whether the student has one vector for all patches, or one per patch.
        learn_outer: Whether the student learns the outer function too, as a layer of ReLU units with a linear
            output.
        activation: Activation of the first layer.
        units: Number of ReLU units of a learned outer function.
        inputs: Law of one patch; patches are independent. Standard Gaussian by default.
        noise: Standard deviation of the label noise.

    Returns:
        The problem; a student is a vector `[dim]` or a matrix `[patch, dim]`, within a `FirstAndOuter` if the outer
        function is learned.

    Reference:
        Shalev-Shwartz, Shamir and Shammah, Weight sharing is crucial to successful optimization, 2017, Section 2.
    """
    target, patches, sharings = _patches(target, patches, sharing)
    units, learn_outer = _number_of("units", units, patches), flag("learn_outer", learn_outer)
    if not callable(outer):
        outer = OUTER_FUNCTIONS[one_of("outer", outer, tuple(OUTER_FUNCTIONS))]
    _require_number(outer, patches)
    student, teacher = (Composite(activations.get(activation), outer, patches, shared) for shared in sharings)
    student = LearnedComposite(student, ReLU(), units) if learn_outer else student
    return _problem("composite", student, teacher, target, inputs, noise)
