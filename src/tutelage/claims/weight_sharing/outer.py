"""Appendix A: learning the outer function when the first layer is known."""

import numpy as np

from tutelage.claims import Chance, Claim, Form, log_uniform
from tutelage.claims.weight_sharing.cube import learn_outer, points
from tutelage.claims.weight_sharing.formulas import PAPER


def _unseen_share(weights, accuracy, counted=1.0):
    """The expected share of the points that a sample misses, each counted once or by its mass."""
    law = weights / np.sum(weights, -1, keepdims=True)
    samples = np.floor(weights.shape[-1] / accuracy) + 1
    share = counted / weights.shape[-1] + (1 - counted) * law
    return np.sum(share * (1 - law) ** samples[..., None], -1)


def _hiding(k, accuracy):
    """The law that hides most: all points but one have the mass 1/(m + 1)."""
    samples = np.floor(2**k / accuracy) + 1
    return {"weights": np.r_[samples + 2 - 2.0**k, np.ones(2**k - 1)], "accuracy": accuracy}


UNSEEN = Claim(
    id=f"{PAPER}.appendix-A.unseen",
    title="mass of the points that a sample misses",
    hypotheses=(
        "any law on $\\{\\pm1\\}^k$, $k \\le 10$ (searched for $k \\le 4$), or on 3 or 7 cells",
        "$m > 2^k/\\epsilon$ samples, the number of cells over $\\epsilon$",
    ),
    draw=[{"weights": log_uniform(1e-6, 1, (size,)), "accuracy": log_uniform(0.01, 1)} for size in (2, 3, 4, 7, 16)],
    corners=[_hiding(k, accuracy) for k in range(1, 11) for accuracy in (0.01, 0.2, 1.0)],
    left=lambda weights, accuracy: _unseen_share(weights, accuracy, 0.0),
    relation="<=",
    right=lambda accuracy, fraction: fraction * accuracy,
    as_printed=Form(
        "In expectation the mass of the points outside the sample is at most $\\epsilon$. More is true, and judged: at most $\\epsilon/e$.",
        fraction=np.exp(-1),
    ),
    control=Form("It is at most $0.36\\,\\epsilon$.", fraction=0.36),
)


FRACTION = Claim(
    id=f"{PAPER}.appendix-A.fraction",
    title="share of the vectors on which a fit may be wrong",
    hypotheses=(
        "any law on $\\{\\pm1\\}^k$, $k \\in \\{1, 2, 4\\}$",
        "$m > 2^k/\\epsilon$ samples, all of them fitted",
    ),
    draw=[{"weights": log_uniform(1e-6, 1, (2**k,)), "accuracy": log_uniform(0.01, 1)} for k in (1, 2, 4)],
    left=_unseen_share,
    relation="<=",
    right=lambda accuracy, fraction=1.0: fraction * accuracy,
    as_printed="A function that fits the sample agrees with $g^*$ on all but an $\\epsilon$-fraction of the vectors in $\\{\\pm1\\}^k$.",
    as_meant=Form(
        "In expectation it agrees with $g^*$ on all but a mass of at most $\\epsilon$; judged with $\\epsilon/e$.",
        counted=0.0,
        fraction=np.exp(-1),
    ),
    supplied="the sentence before, on the mass outside the sample, in expectation",
    correction="What is rare is seldom seen, and may be most of the cube: the fraction has to be weighed by the law, and its mean is meant.",
    control=Form("On all but $0.34\\,\\epsilon$ of the mass.", counted=0.0, fraction=0.34),
)


def _fits(count, random, factor):
    """How often random ReLU units, `factor` per point of the cube, fit arbitrary values at all of its points."""
    rows = []
    for k in (2, 3, 4, 5):
        cube = points(k)
        values = random.normal(size=(count // 2, len(cube)))
        learned = [
            learn_outer(cube, some, int(factor * len(cube)), seed=int(random.integers(2**31))) for some in values
        ]
        rows.append((k, sum(one.residual < 1e-6 for one in learned), len(learned)))
    k, successes, trials = np.array(rows).T
    return {"k": k, "successes": successes, "trials": trials}


EMBEDDING = Claim(
    id=f"{PAPER}.appendix-A.embedding",
    title="a random first layer fits all samples",
    hypotheses=(
        "ReLU units with Gaussian weights and biases, at least as many as samples; $m > 2^k/\\epsilon$ with $\\epsilon = \\frac12$",
        "values at all points of the cube, drawn at random, $k \\le 5$",
        '"with high probability" is judged as 0.9',
    ),
    draw=_fits,
    runs=True,
    left=Chance(),
    relation=">=",
    right=0.9,
    as_printed=Form(
        "With high probability there is a second layer with error zero on all samples. (With exactly as many units as different "
        "points it fails for most layers; half as many more suffice.)",
        factor=2.0,
    ),
    control=Form("The same with exactly as many units as points.", factor=1.0),
    arithmetic="least squares in float64",
)


def _procedures(count, random):
    """The whole procedure: sample, random layer, least squares; the mean mass on which the learned parity is wrong."""
    rows = []
    for k in (3, 5):
        cube = points(k)
        hiding = [_hiding(k, accuracy)["weights"] for accuracy in (0.5, 0.2)]
        uneven = [np.ones(2**k), np.arange(1, 2**k + 1.0) ** -2, random.exponential(size=2**k)]
        for accuracy, weights in [(accuracy, law) for accuracy in (0.5, 0.2) for law in (*hiding, *uneven)]:
            law, samples, wrong = weights / weights.sum(), int(np.floor(2**k / accuracy)) + 1, []
            for _ in range(count // 10):
                drawn = cube[random.choice(len(cube), size=samples, p=law)]
                learned = learn_outer(drawn, drawn.prod(axis=1), samples, seed=int(random.integers(2**31)))
                wrong.append(law[np.abs(learned(cube) - cube.prod(axis=1)) > 1e-4].sum())
            rows.append((k, accuracy, np.mean(wrong)))
    return dict(zip(("k", "accuracy", "wrong"), np.array(rows).T, strict=True))


PROCEDURE = Claim(
    id=f"{PAPER}.appendix-A.procedure",
    title="the outer function is learned from 2^k/ε samples",
    hypotheses="$m > 2^k/\\epsilon$ samples, as many ReLU units with biases, second layer by least squares",
    draw=_procedures,
    runs=True,
    left=lambda wrong: wrong,
    relation="<=",
    right=lambda accuracy, fraction=1.0: fraction * accuracy,
    note="mean mass on which the learned parity is wrong",
    as_printed="A procedure polynomial in $2^k$ and $1/\\epsilon$ learns $g^*$ up to an $\\epsilon$-fraction; judged with the parity of $k = 3, 5$ "
    "signs, for uniform, uneven and random laws and for those that hide most.",
    control=Form("Up to $0.3\\,\\epsilon$.", fraction=0.3),
    arithmetic="least squares in float64",
)
