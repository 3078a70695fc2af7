"""Appendix A: learning the outer function when the first layer is known."""

import numpy as np

from tutelage.claims.base import Claim, Form, worst_of
from tutelage.claims.weight_sharing.cube import learn_outer, points
from tutelage.claims.weight_sharing.formulas import PAPER

_ACCURACIES = (0.5, 0.2, 0.05)


def _laws(points_number: int, samples: int, random: np.random.Generator, count: int) -> np.ndarray:
    """Laws on the cube, one a row: uniform, concentrated, random, and the worst (1/(m+1) on all but one point)."""
    uniform = np.full(points_number, 1 / points_number)
    worst = np.full(points_number, min(1 / (samples + 1), 1 / points_number))
    worst[0] = 1 - worst[1:].sum()
    random_laws = random.dirichlet(np.full(points_number, 0.3), size=count)
    return np.concatenate([uniform[None], np.eye(points_number)[:1], worst[None], random_laws])


def _unseen(fraction: float):
    """The expected mass of unseen points is exact: Σ p (1 − p)^m."""

    def test(effort, seed):
        random = np.random.default_rng(seed)
        found, tried = [], 0
        for k in range(1, 11):
            for accuracy in _ACCURACIES:
                samples = int(np.floor(2**k / accuracy)) + 1
                laws = _laws(2**k, samples, random, effort.runs // 10)
                mass = (laws * (1 - laws) ** samples).sum(axis=1)
                tried += len(laws)
                margin = (fraction * accuracy - mass.max()) / accuracy
                shown = {"k": k, "accuracy": accuracy, "samples": samples, "mass": float(mass.max())}
                found.append((margin, shown))
        return worst_of(found, tried, "expected mass in closed form, for many laws")

    return test


UNSEEN = Claim(
    id=f"{PAPER}.appendix-A.unseen",
    place="Appendix A, second paragraph",
    title="mass of the points that a sample misses",
    hypotheses=("any law on $\\{\\pm1\\}^k$, $k \\le 10$", "$m > 2^k/\\epsilon$ samples"),
    as_printed=Form(
        "In expectation the mass of the points outside the sample is at most $\\epsilon$. (It is at most $\\epsilon/e$.)",
        _unseen(1.0),
    ),
    control=Form("It is at most $\\epsilon/4$.", _unseen(0.25)),
    arithmetic="closed form in float64",
)


def _embedding(units_factor: float, biases: bool):
    """How often can random ReLU units fit arbitrary values at all points of the cube?"""

    def test(effort, seed):
        random = np.random.default_rng(seed)
        found, tried = [], 0
        for k in (2, 3, 4, 5):
            cube = points(k)
            units = int(units_factor * len(cube))
            fitted = 0
            trials = effort.runs // 2
            for _ in range(trials):
                values = random.normal(size=len(cube))
                learned = learn_outer(cube, values, units, biases, seed=int(random.integers(2**31)))
                fitted += learned.residual < 1e-6
                tried += 1
            share = fitted / trials
            found.append((share - 0.9, {"k": k, "units": units, "fitted": share}))
        return worst_of(found, tried, "smallest fraction of random layers that fit, minus 0.9")

    return test


EMBEDDING = Claim(
    id=f"{PAPER}.appendix-A.embedding",
    place="Appendix A, third paragraph",
    title="a random first layer fits all samples",
    hypotheses=(
        "ReLU units with Gaussian weights and biases, at least as many as samples; $m > 2^k/\\epsilon$ with $\\epsilon = \\frac12$",
        "values at all points of the cube, drawn at random, $k \\le 5$",
        '"with high probability" is judged as 0.9',
    ),
    as_printed=Form(
        "With high probability there is a second layer with error zero on all samples. (With exactly as many units as different "
        "points it fails for most layers; half as many more suffice.)",
        _embedding(2.0, biases=True),
    ),
    control=Form(
        "The same without biases: such a layer is an even function plus a linear one.", _embedding(2.0, biases=False)
    ),
    arithmetic="least squares in float64",
)


def _procedure(biases: bool):
    """The whole procedure: sample, random layer, least squares; the mass on which the result is wrong."""

    def test(effort, seed):
        random = np.random.default_rng(seed)
        found, tried = [], 0
        for k in (3, 5):
            cube = points(k)
            parity = cube.prod(axis=1)
            for accuracy in (0.5, 0.2):
                samples = int(np.floor(2**k / accuracy)) + 1
                wrong = []
                for trial in range(effort.runs // 20):
                    law = _laws(2**k, samples, random, 1)[trial % 4]
                    drawn = cube[random.choice(len(cube), size=samples, p=law)]
                    seed_here = int(random.integers(2**31))
                    learned = learn_outer(drawn, drawn.prod(axis=1), samples, biases, seed=seed_here)
                    wrong.append(law[np.abs(learned(cube) - parity) > 1e-4].sum())
                    tried += 1
                mass = float(np.mean(wrong))
                shown = {"k": k, "accuracy": accuracy, "samples": samples, "wrong": mass}
                found.append((accuracy - mass, shown))
        return worst_of(found, tried, "mean mass on which the learned parity is wrong")

    return test


PROCEDURE = Claim(
    id=f"{PAPER}.appendix-A.procedure",
    place="Appendix A, last paragraph",
    title="the outer function is learned from 2^k/ε samples",
    hypotheses=("$m > 2^k/\\epsilon$ samples, as many ReLU units with biases, second layer by least squares",),
    as_printed=Form(
        "A procedure polynomial in $2^k$ and $1/\\epsilon$ learns $g^*$ up to an $\\epsilon$-fraction; judged with the parity of $k = 3, 5$ "
        "signs, for uniform and other laws.",
        _procedure(biases=True),
    ),
    control=Form("The same without biases.", _procedure(biases=False)),
    arithmetic="least squares in float64",
)

CLAIMS = (UNSEEN, EMBEDDING, PROCEDURE)
