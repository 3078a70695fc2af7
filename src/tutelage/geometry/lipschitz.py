r"""Third derivatives of duals of neurons with two slopes: Lipschitz constants of Hessians, in ball arithmetic.

The notation is that of `tutelage.geometry.balls`, with $o = sp^2$ and $e = sq^2$.

**Without levels.** At $a$, with parts $a_w$ along $\hat w$, $a_n$ along $n$ and $a_\perp$ beyond both,

$$\partial_w^3K[a, a, a] = -\tfrac{2e}\pi\tfrac{\|v\|}{\|w\|^2}\bigl(\cos\theta\,a_n(2a_n^2 + 3\|a_\perp\|^2)
+ 3\sin\theta\,a_w(2a_n^2 + \|a_\perp\|^2)\bigr).$$

By Cauchy–Schwarz in $\theta$, the square of the bracket is at most $a_n^2(m + 2t)^2 + 9a_w^2m^2$ with
$t = \|a_\perp\|^2$ and $m = 2a_n^2 + t$, which for unit vectors is $9m^2 - 4m^3 - 3tm^2 - 2t^3 \le 27/4$. With $b$ a
change of $v$, of parts $b_v$ along $\hat v$, $b_n$ along its normal in the plane towards $w$, and $b_\perp$,

$$\partial_w^2\partial_vK[a, a, b] = \tfrac{2e}\pi\tfrac1{\|w\|}\bigl((\sin\theta\,b_v - \cos\theta\,b_n)
(2a_n^2 + \|a_\perp\|^2) + 2a_n\,a_\perp\cdot b_\perp\bigr),$$

whose bracket is at most $\sqrt{4a_n^4 + 8a_n^2t + t^2} \le 2$. So these derivatives are at most
$c_{30}e\|v\|/\|w\|^2$ and $c_{21}e/\|w\|$ with $c_{30} = 3\sqrt3/\pi$ and $c_{21} = 4/\pi$. They exist wherever the
vectors are not parallel; on a segment that is everywhere, or but for finitely many points, or nowhere (then the Hessian
of the pair is constant), and the Hessian is continuous where no vector is zero, so that they bound its Lipschitz
constant; the norm of a symmetric trilinear form is attained at three equal vectors (Banach).

**With levels.** $\sigma'' = 2q\delta$. With $T$ the larger slope, unit vectors $a, b$, the density $f$ of $w\cdot\xi$
at zero, and $m \ge E[(a\cdot\xi)^2 \mid w\cdot\xi = 0]$ for all of them, so that $E(a\cdot\xi)^4 \le 3m^2$ and
$E(a\cdot\xi)^6 \le 15m^3$, Cauchy and Schwarz give

$$|\partial_w^2\partial_vK[a, a, b]| = |E[\sigma''(w\cdot\xi)\,\sigma'(v\cdot\xi)(a\cdot\xi)^2\,b\cdot\xi]|
\le 2|q|Tf\sqrt3\,m^{3/2},$$
$$|\partial_w^3K[a, a, a]| \le \tfrac{2|q|Tf}{\sqrt s\|w\|}\,\|v\|\,(\sqrt{15}\,|h|m^2 + 4\sqrt{3s}\,m^{3/2}),$$

the second after an integration by parts along $\hat w$, which takes the derivative of $\delta$ to the other factors;
and $\tfrac12E[\sigma(w\cdot\xi)^2]$ has a third derivative of at most $4|pq|f\sqrt3\,m^{3/2}$. They hold uniformly for
smooth functions close to $\sigma$ in one place of the pair, whose Hessians converge, so that they bound Lipschitz
constants wherever $w \ne 0$. Where the inputs have mean zero, $m = \max(1 + sh^2, s)$ since the mean of $\xi$ is
orthogonal to all that varies there, and $m = (\|\mu\| + \sqrt s|h|)^2 + s$ else.

**Sums of pairs.** With $\rho_i = \|w_i\| - r$ in a ball of radius $r$ and unit vectors $(a_i)_i$, the third derivative
is at most $\sum_i\|a_i\|^3c_{30}e(\sum_{j\ne i}\|w_j\| + \sum_j\|v_j\|)/\rho_i^2 + 3\sum_{i\ne j}
\|a_i\|^2\|a_j\|c_{21}e/\rho_i$, and $\sum_j\|a_j\| \le \sqrt n$; so with levels, at the largest density and the
largest $|h|$ in the ball.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tutelage.geometry.ball_arithmetic import NotProved, dot, flint_module

if TYPE_CHECKING:
    from flint import arb

    from tutelage.geometry.balls import PairsInBalls


def lipschitz_bound(norms: list[arb], counts: list[int], teachers: arb, even: arb, radius: float) -> arb:
    """Return a bound without levels, which depends on norms alone.

    Args:
        norms: Different norms of students.
        counts: How many students have each.
        teachers: Sum of the norms of the teachers.
        even: The factor $sq^2$.
        radius: Radius of the ball around the student.

    Raises:
        NotProved: If a neuron may be zero in the ball.
    """
    arb = flint_module().arb
    reach, students, pure = arb(radius), sum(counts), arb(27).sqrt() / arb.pi()
    others = sum((count * (norm + reach) for norm, count in zip(norms, counts, strict=True)), teachers)
    cubic = mixed = arb(0)
    for norm in norms:
        least = _least(norm, reach, radius)
        cubic = cubic.max(pure * even * (others - norm - reach) / least**2)
        if students > 1:
            mixed = mixed.max(3 * arb(students).sqrt() * mixed_constant() * even / least)
    return cubic + mixed


def mixed_constant() -> arb:
    r"""Return $c_{21}$ of the module's text."""
    return 4 / flint_module().arb.pi()


def _least(norm: arb, reach: arb, radius: float) -> arb:
    """Return the smallest norm that a neuron may have in a ball, or raise if that may be zero."""
    least = norm - reach
    if not least > 0:
        raise NotProved(f"a neuron may be zero within {radius:.3g} of the point")
    return least


def shifted_bound(pairs: PairsInBalls, coefficients: list[arb], radius: float) -> arb:
    """Return a bound with levels.

    Args:
        pairs: The rows; the coefficients of the first ones differ by signs alone.
        coefficients: What neurons are multiplied with.
        radius: Radius of the ball around the student.

    Raises:
        NotProved: If a neuron may be zero in the ball.
    """
    arb, centre, number = flint_module().arb, pairs.centre, pairs.number
    p, q = pairs.loss.slopes
    reach, scale = arb(radius), arb(pairs.loss.scale)
    steepest = abs(arb(pairs.loss.left)).max(abs(arb(pairs.loss.right)))
    size_of_centre, unit, rows = dot(centre, centre).sqrt(), abs(coefficients[0]), pairs.matrix.tolist()
    sizes = [abs(c) * dot(row, row).sqrt() for row, c in zip(rows, coefficients, strict=True)]
    others = sum(sizes, (number - 1) * unit * reach)
    pure = mixed = arb(0)
    for row, numbers, size in zip(pairs.rows[:number], rows, sizes, strict=False):
        least = _least(row.norm, reach, radius)
        offset = abs(dot(centre, numbers))
        high = (offset + size_of_centre * reach) / (scale.sqrt() * least)
        low = (offset - size_of_centre * reach).max(arb(0)) / (scale.sqrt() * (row.norm + reach))
        if pairs.loss.mean is None:
            moment = (1 + scale * high**2).max(scale)
        else:
            moment = (size_of_centre + scale.sqrt() * high) ** 2 + scale
        density = (-(low**2) / 2).exp() / (2 * arb.pi() * scale).sqrt() / least
        cubed = arb(3).sqrt() * moment * moment.sqrt()
        bend = 2 * abs(q) * steepest * density
        along = (arb(15).sqrt() * high * moment**2 + 4 * scale.sqrt() * cubed) / (scale.sqrt() * least)
        own_part = 4 * abs(p * q) * density * cubed
        pure = pure.max(unit * (bend * along * (others - size) + unit * own_part))
        mixed = mixed.max(unit * bend * cubed)
    if number > 1:
        pure += 3 * arb(number).sqrt() * mixed * unit
    return pure
