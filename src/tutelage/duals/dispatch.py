"""Choosing the dual of two activations under a law: closed form, quadrature, or a refusal by name."""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Array

from tutelage.activations.base import Activation, Element
from tutelage.activations.polynomial import Polynomial
from tutelage.activations.registry import get
from tutelage.arrays import of_jax
from tutelage.checks import flag, of_kind
from tutelage.duals.base import Dual, Kernel, Sum, Transformed, Zero
from tutelage.duals.elementary import DEGREES, EVEN_KINDS, WAVES, AtZero, Elementary, is_closed
from tutelage.duals.gaussian import Frame
from tutelage.duals.moments import Affine, Atomic, Waves
from tutelage.duals.piecewise_linear import PiecewiseLinear
from tutelage.duals.polynomials import Polynomials
from tutelage.duals.quadrature import Integrated, Quadrature
from tutelage.duals.shifted import TwoSlopes
from tutelage.duals.waves import GaussianWaves
from tutelage.errors import UnsupportedCombination, invalid
from tutelage.inputs import Gaussian, Inputs, Mixture
from tutelage.inputs.gaussian import chi_moment

_TWO_SLOPES = ("identity", "absolute")


def kernel(
    sigma: str | Activation,
    tau: str | Activation,
    inputs: Inputs,
    quadrature: Quadrature | None = None,
    biased: bool = False,
) -> Kernel:
    r"""Return the dual $E[\sigma(w\cdot x)\,\tau(v\cdot x)]$ of an ordered pair of activations under a law.

    Args:
        sigma: First activation, or its registered name.
        tau: Second activation, likewise.
        inputs: The law of the inputs.
        quadrature: How finely to integrate where there is no closed form; `Quadrature()` by default.
        biased: Whether the last number of each vector is a bias, so that it meets the input $(x, 1)$.

    Raises:
        UnsupportedCombination: If there is neither a closed form nor a quadrature. Nothing is ever sampled.
        InvalidArgument: If an argument is something else.
    """
    of_kind("inputs", inputs, Inputs, "a law of the inputs", "Build one with a constructor of tutelage.inputs")
    quadrature = Quadrature() if quadrature is None else quadrature
    of_kind("quadrature", quadrature, Quadrature, "a Quadrature", "Pass tutelage.duals.Quadrature(tolerance)")
    return _kernel(get(sigma), get(tau), inputs, quadrature, flag("biased", biased))


def _kernel(sigma: Activation, tau: Activation, inputs: Inputs, quadrature: Quadrature, biased: bool) -> Kernel:
    if isinstance(inputs, Gaussian):
        return _gaussian(sigma, tau, inputs, quadrature, biased)
    if (atoms := inputs.atoms()) is not None:
        points, weights = atoms
        return Atomic(
            of_jax(np.pad(points, ((0, 0), (0, 1)), constant_values=1.0)) if biased else points, weights, sigma, tau
        )
    if isinstance(inputs, Mixture):
        parts = tuple(_kernel(sigma, tau, law, quadrature, biased) for law in inputs.components)
        return Sum(parts, tuple(map(of_jax, inputs.weights)))
    if not biased and inputs.symmetry == "rotation":
        if (found := _polynomials(sigma, tau)) is not None:
            return _spherical_polynomials(*found, inputs)
        if _all_in(DEGREES, sigma, tau):
            return _spherical(sigma, tau, inputs)
    if sigma.elements is not None and tau.elements is not None:
        parts = _from_moments(sigma.elements, tau.elements, inputs, biased)
        if parts is not None:
            return _total(parts)
    raise _refusal(sigma, tau, inputs, " with biases" if biased else "")


def dual(sigma: str | Activation, tau: str | Activation, inputs: Inputs, quadrature: Quadrature | None = None) -> Dual:
    """Return the dual in both orders, as a differentiable function of two vectors; arguments as in `kernel`."""
    return Dual(kernel(sigma, tau, inputs, quadrature), kernel(tau, sigma, inputs, quadrature))


def _total(parts: list[Kernel]) -> Kernel:
    if not parts:
        return Zero()
    return parts[0] if len(parts) == 1 else Sum(tuple(parts))


def _all_in(kinds, *activations: Activation) -> bool:
    """Whether activations are sums of elementary functions of these kinds alone."""
    return all(one.elements is not None and all(e.kind in kinds for e in one.elements) for one in activations)


def _refusal(sigma: Activation, tau: Activation, inputs: Inputs, how: str = "") -> UnsupportedCombination:
    pair = sigma.name if sigma.name == tau.name else f"{sigma.name} with {tau.name}"
    return UnsupportedCombination(
        f"No exact expectation of {pair}{how} under {inputs.name} is known, and none is sampled in its place. "
        f"Use `empirical` or `stream` to sample, {'leave the biases out, ' if how else ''}or choose a Gaussian law."
    )


def _slopes(activation: Activation) -> tuple[float, float]:
    """Return (p, q) of an activation p·z + q·|z|."""
    odd = sum(e.coefficient * e.scale for e in activation.elements or () if e.kind == "identity")
    even = sum(e.coefficient * abs(e.scale) for e in activation.elements or () if e.kind == "absolute")
    return odd, even


def _piecewise_linear(sigma: Activation, tau: Activation, scale: float) -> PiecewiseLinear:
    (p, q), (p_other, q_other) = _slopes(sigma), _slopes(tau)
    at_zero = p if sigma.kink is None else sigma.kink
    return PiecewiseLinear(
        odd=of_jax(scale * p * p_other),
        even=of_jax(scale * q * q_other),
        kink=of_jax(scale * at_zero * p_other),
    )


def _pair(first: Element, second: Element, factor: float = 1.0) -> tuple[Array, Element, Element]:
    """Return the product of both coefficients and a factor, and the elements without their coefficients."""
    product = of_jax(factor * first.coefficient * second.coefficient)
    return product, first._replace(coefficient=1.0), second._replace(coefficient=1.0)


def _same_parity(first: Element, second: Element) -> bool:
    return (first.kind in EVEN_KINDS) == (second.kind in EVEN_KINDS)


def _spherical(sigma: Activation, tau: Activation, inputs: Inputs) -> Kernel:
    """Homogeneous functions see a spherical law only through one radial moment."""
    if _all_in(_TWO_SLOPES, sigma, tau):
        return _piecewise_linear(sigma, tau, _moment_ratio(inputs, 2))
    assert sigma.elements is not None
    assert tau.elements is not None

    def ratio(first: Element, second: Element) -> float:
        return _moment_ratio(inputs, DEGREES[first.kind] + DEGREES[second.kind])

    parts: list[Kernel] = [
        Elementary(Frame(), *_pair(first, second, ratio(first, second)))
        for first in sigma.elements
        for second in tau.elements
        if _same_parity(first, second)
    ]
    return _total(parts + _kink_corrections(sigma, tau, Frame(), ratio))


def _moment_ratio(inputs: Inputs, order: int) -> float:
    """Return E|x|^order over that of a standard Gaussian."""
    ratio = inputs.radial_moment(order) / chi_moment(inputs.dimension, order)
    if not math.isfinite(ratio):
        raise invalid(
            "inputs",
            f"have a finite moment of order {order}, which these activations need",
            f"{inputs.name}, whose moment is infinite",
            "Choose a law with lighter tails",
        )
    return ratio


def _polynomials(sigma: Activation, tau: Activation) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Return the coefficients of two polynomials, one of a degree above two: others have forms of their own."""
    found = _coefficients(sigma), _coefficients(tau)
    high = any(isinstance(one, Polynomial) and one.elements is None for one in (sigma, tau))
    return found if high and all(found) else None  # type: ignore[return-value]


def _coefficients(activation: Activation) -> tuple[float, ...] | None:
    """Return the coefficients of a polynomial, the constant first."""
    if isinstance(activation, Polynomial):
        return activation.coefficients
    powers = {"one": 0, "identity": 1, "square": 2}
    if not activation.elements or not _all_in(powers, activation):
        return None
    numbers = [0.0, 0.0, 0.0]
    for element in activation.elements:
        numbers[powers[element.kind]] += element.coefficient * element.scale ** powers[element.kind]
    return tuple(numbers)


def _spherical_polynomials(first: tuple[float, ...], second: tuple[float, ...], inputs: Inputs) -> Kernel:
    """Every product of two powers sees a spherical law through one radial moment."""

    def power(degree: int) -> tuple[float, ...]:
        return (*[0.0] * degree, 1.0)

    return _total(
        [
            Polynomials(Frame(), of_jax(one * other * _moment_ratio(inputs, i + j)), power(i), power(j))
            for i, one in enumerate(first)
            for j, other in enumerate(second)
            if one and other and (i + j) % 2 == 0
        ]
    )


def _gaussian(sigma: Activation, tau: Activation, inputs: Gaussian, quadrature: Quadrature, biased: bool) -> Kernel:
    frame = Frame(inputs.location, inputs.factor, biased)
    bent = _all_in(_TWO_SLOPES, sigma, tau)
    if bent and frame.centred:
        if inputs.variance is not None:
            return _piecewise_linear(sigma, tau, inputs.variance)
        assert inputs.factor is not None
        return Transformed(_piecewise_linear(sigma, tau, 1.0), inputs.factor)
    if bent and _slopes(sigma)[1] and _slopes(tau)[1]:
        (p, q), (p_other, q_other) = _slopes(sigma), _slopes(tau)
        kink = p if sigma.kink is None else sigma.kink
        slopes = (of_jax(float(p)), of_jax(float(q))), (of_jax(float(p_other)), of_jax(float(q_other)))
        return TwoSlopes(frame, *slopes, of_jax(float(kink)))
    if (found := _polynomials(sigma, tau)) is not None:
        return Polynomials(frame, of_jax(1.0), *found)
    parts = _closed_parts(sigma, tau, frame)
    if parts is not None:
        return _total(parts)
    if sigma.strip is not None and tau.strip is not None:
        return Integrated(frame, sigma, tau, quadrature.rule(min(sigma.strip, tau.strip)))
    raise _refusal(sigma, tau, inputs)


def _closed_parts(sigma: Activation, tau: Activation, frame: Frame) -> list[Kernel] | None:
    """Return the closed forms of all pairs of elements, or `None` if one is missing."""
    if sigma.elements is None or tau.elements is None:
        return None
    parts: list[Kernel] = []
    for first in sigma.elements:
        for second in tau.elements:
            if frame.centred and not _same_parity(first, second):
                continue
            if not is_closed(first.kind, second.kind):
                return None
            if first.kind in WAVES and second.kind in WAVES:
                parts.append(GaussianWaves(frame, *_pair(first, second)))
            else:
                parts.append(Elementary(frame, *_pair(first, second)))
    return parts + _kink_corrections(sigma, tau, frame)


def _kink_corrections(
    sigma: Activation, tau: Activation, frame: Frame, ratio: Callable[[Element, Element], float] | None = None
) -> list[Kernel]:
    """Return what makes the slope of a zero neuron the chosen one.

    The closed forms take the mean of the two slopes of |z| at zero, that is none.
    """
    if sigma.kink is None or not _all_in(_TWO_SLOPES, sigma):
        return []
    missing = sigma.kink - _slopes(sigma)[0]
    identity = Element(1.0, "identity")
    return [
        AtZero(
            Elementary(frame, *_pair(identity, second, 1.0 if ratio is None else ratio(identity, second))),
            of_jax(missing),
        )
        for second in tau.elements or ()
        if missing != 0 and not (frame.centred and not _same_parity(identity, second))
    ]


def _from_moments(
    first: tuple[Element, ...], second: tuple[Element, ...], inputs: Inputs, biased: bool
) -> list[Kernel] | None:
    """Return the duals that exist under every law: affine functions, and waves with a characteristic function."""
    kinds = {element.kind for element in first + second}
    if kinds <= {"one", "identity"}:
        mean, moment = inputs.mean(), inputs.second_moment()
        if biased:  # the inputs are (x, 1)
            mean, moment = np.append(mean, 1.0), np.block([[moment, mean[:, None]], [mean, np.ones((1, 1))]])
        return [Affine(_affine(first), _affine(second), of_jax(mean), of_jax(moment))]
    if kinds <= {"one", *WAVES} and _has_characteristic(inputs):
        # The constant one is a cosine of frequency zero.
        waves = [
            [one._replace(kind="cosine", scale=0.0) if one.kind == "one" else one for one in side]
            for side in (first, second)
        ]
        return [Waves(inputs, *_pair(one, other), biased) for one in waves[0] for other in waves[1]]
    return None


def _affine(elements: tuple[Element, ...]) -> tuple[float, float]:
    """Return (p, q) of a function p + q·z."""
    constant = sum(e.coefficient for e in elements if e.kind == "one")
    return float(constant), float(sum(e.coefficient * e.scale for e in elements if e.kind == "identity"))


def _has_characteristic(inputs: Inputs) -> bool:
    try:
        inputs.characteristic(np.zeros(inputs.dimension))
    except UnsupportedCombination:
        return False
    return True
