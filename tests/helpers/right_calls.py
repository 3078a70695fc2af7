"""A right call of every public function and method; `fuzz` makes senseless ones of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from matplotlib.figure import Figure

import tutelage as tl

# Packages with names of their own. Stores (`sweeps`, `studies`, `papers`) are tried by tests of damaged files.
PACKAGES = ("activations", "inputs", "problems", "starts", "dynamics", "geometry", "claims", "plot", "cube")


@dataclass(frozen=True)
class Call:
    """A call that is right.

    Attributes:
        name: Package and name, as `problems.committee`.
        function: What is called.
        arguments: The arguments without which it is not right; others have defaults.
        probe: Takes the result to what its user would ask of it next.
        unbounded: Why a result may hold infinities or what is not a number, where the documentation says so.
        endless: Arguments that say how long to go on, which may be as large as the user likes.
    """

    name: str
    function: Callable
    arguments: Mapping[str, Any] = field(default_factory=dict)
    probe: Callable[[Any], Any] = lambda result: None
    unbounded: str = ""
    endless: tuple[str, ...] = ()

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """What can be replaced: all parameters but options that are passed on to other libraries."""
        kinds = (inspect.Parameter.VAR_KEYWORD,)
        return [one for one in inspect.signature(self.function).parameters.values() if one.kind not in kinds]

    def made(self, changes: Mapping[str, Any]) -> Any:
        """Make the call with some arguments replaced, and probe the result."""
        positional, keywords = [], {}
        for parameter in self.parameters:
            if parameter.name not in changes and parameter.name not in self.arguments:
                continue
            value = changes.get(parameter.name, self.arguments.get(parameter.name))
            if (
                parameter.kind is inspect.Parameter.VAR_POSITIONAL
                or parameter.kind is inspect.Parameter.POSITIONAL_ONLY
            ):
                positional.append(value)
            else:
                keywords[parameter.name] = value
        result = self.function(*positional, **keywords)
        return result, self.probe(result)


@cache
def world() -> SimpleNamespace:
    """Small objects of every kind, made once."""
    problem = tl.problems.committee(np.eye(2, 3), 3)
    objective = tl.population(problem)
    random = np.random.default_rng(0)
    point = random.normal(size=(3, 3))
    starts = random.normal(size=(2, 3, 3))
    neuron = tl.problems.neuron(np.eye(3)[0])
    convolution = tl.problems.convolution(np.ones(2), np.ones(2))
    method = tl.GradientDescent(0.1)
    record = tl.record("loss", student=_itself)
    runs = tl.descend(objective, starts, method, tl.step_limit(3), record)
    wide = tl.problems.homogeneous(np.eye(2), 3)
    form = tl.claims.Form("a square is not negative", bound=0.0)
    false = tl.claims.Form("a square is above one", bound=1.0)
    relation = {"draw": {"w": (2,)}, "left": _square, "relation": ">=", "right": _bound}
    return SimpleNamespace(
        problem=problem,
        objective=objective,
        point=point,
        starts=starts,
        neuron=neuron,
        neuron_objective=tl.population(neuron),
        convolution=convolution,
        convolution_objective=tl.population(convolution),
        convolution_starts=tl.starts.sphere_ball(convolution, 2),
        method=method,
        record=record,
        runs=runs,
        minimum=np.vstack([np.eye(2, 3), 0.5 * np.eye(1, 3)]),
        wide=wide,
        minima=tl.geometry.global_minima(wide),
        law=tl.inputs.gaussian(3),
        key=jax.random.key(0),
        neighbourhood=tl.geometry.Neighbourhood(np.eye(3)[0], 0.5),
        atlas=tl.atlas(tl.population(neuron), np.eye(3)[:1]),
        effort=tl.claims.Effort(samples=4, restarts=2, generations=1, iterations=1, runs=2),
        form=form,
        false=false,
        claim=tl.claims.Claim("own.square", "", "squares", (), form, false, **relation),
        relation=relation,
        quadrature=tl.duals.Quadrature(),
        gradient=np.asarray(objective.gradient(point)),
    )


def _itself(student):
    return student


def _square(w):
    return np.sum(w**2, -1)


def _anywhere(w):
    return w[..., 0] < 1e9


def _bound(bound):
    return bound


def _law_probe(law):
    key = jax.random.key(1)
    return law.name, law.mean(), law.covariance(), law.second_moment(), law.sample(key, 2)


def _problem_probe(problem):
    return problem.sample(jax.random.key(1), 2), problem.parameters


def _activation_probe(activation):
    z = np.array([-1.0, 0.0, 2.0])
    return activation(z), activation.derivative(jnp.asarray(z)), activation.elements


def _method_probe(method):
    w = world()
    return _advanced(method, w.objective, jnp.asarray(w.point), jnp.asarray(w.gradient), w.key)


@eqx.filter_jit
def _advanced(method, objective, point, gradient, key):
    """A student after a step, compiled as by `descend`: operation by operation that takes longer."""
    return method.advance(objective, point, gradient, method.init(objective, point), jnp.asarray(0), key)[0]


def _figure_probe(result):
    figure = result[0] if isinstance(result, tuple) else result
    assert isinstance(figure, Figure)


def _runs_probe(runs):
    return runs.frame(), str(runs)


def _draw_radius(key, shape):
    return jax.random.exponential(key, shape)


def _moments(order):
    return {0.0: 1.0, 1.0: 1.0, 2.0: 2.0}[float(order)]


@cache
def right_calls() -> dict[str, Call]:
    """All right calls, by name."""
    w = world()
    calls: list[Call] = []

    def add(name: str, /, *, of: Any = None, unbounded: str = "", endless=(), probe=None, **arguments: Any) -> None:
        package, _, own = name.partition(".")
        function = of if of is not None else getattr(getattr(tl, package), own)
        calls.append(Call(name, function, arguments, probe or (lambda result: None), unbounded, endless))

    # Activations.
    activation = partial(add, probe=_activation_probe)
    for name in ("Absolute", "LeakyReLU", "Linear", "ReLU", "Sign", "Step", "GELU", "Erf", "Quadratic", "Sigmoid"):
        activation(f"activations.{name}")
    for name in ("Softplus", "Tanh", "Cosine", "Sine"):
        activation(f"activations.{name}")
    activation(
        "activations.Custom", name="silu", function=jax.nn.silu, unbounded="an infinite strip, slope or Lipschitz bound"
    )
    activation("activations.Polynomial", name="cubic", coefficients=[0.0, 1.0, 0.0, 2.0])
    activation("activations.monomial", degree=3)
    activation("activations.hermite", degree=3)
    activation("activations.get", activation="relu")
    add("activations.names")
    for example in (tl.activations.ReLU(), tl.activations.Tanh(), tl.activations.Quadratic()):
        overflow = "as in NumPy, a value beyond the range of numbers is infinite"
        add(f"activations.{type(example).__name__}()", of=example, z=np.ones(3), unbounded=overflow)
    add("activations.Element", coefficient=1.0, kind="identity", unbounded="a plain tuple")

    # Inputs.
    law = partial(add, probe=_law_probe)
    law("inputs.gaussian", dimension=3)
    law("inputs.sphere", dimension=3)
    law("inputs.ball", dimension=3)
    law("inputs.student_t", dimension=3, degrees=5.0)
    law("inputs.spherical", dimension=3, radius=_draw_radius, moments=_moments)
    law("inputs.uniform_box", dimension=3)
    law("inputs.rademacher", dimension=3)
    law("inputs.finite", points=np.eye(3))
    law("inputs.data", array=np.eye(3))
    law("inputs.mixture", components=[w.law, tl.inputs.sphere(3)])
    add("inputs.registry")
    add("inputs.plane_basis", first=np.eye(3)[0], second=np.eye(3)[1])
    for example in ("gaussian", "sphere", "uniform_box", "finite", "mixture"):
        one = tl.inputs.registry()[example](3)
        add(f"inputs.{example}(3).sample", of=one.sample, key=w.key)
        add(f"inputs.{example}(3).plane_density", of=one.plane_density, first=np.eye(3)[0], second=np.eye(3)[1])
        add(
            f"inputs.{example}(3).radial_moment",
            of=one.radial_moment,
            order=2.0,
            unbounded="a moment that diverges, or is beyond the range of numbers, is infinite",
        )
        add(f"inputs.{example}(3).characteristic", of=one.characteristic, frequency=np.ones(3))

    # Problems.
    problem = partial(add, probe=_problem_probe)
    problem("problems.neuron", target=np.eye(3)[0])
    problem("problems.committee", teacher=np.eye(2, 3), students=3)
    problem("problems.homogeneous", teacher=np.eye(2, 3), students=3)
    problem("problems.two_layer", teacher=np.eye(2, 3), students=3)
    problem("problems.convolution", filter=np.ones(2), output_weights=np.ones(2))
    problem("problems.wave", target=np.eye(3)[0], patches=2)
    problem("problems.parity", target=np.eye(3)[0], patches=2)
    problem("problems.composite", outer="low", target=np.eye(3)[0], patches=2, units=3)

    # Starts.
    for name in ("xavier", "gaussian", "signs", "uniform"):
        add(f"starts.{name}", problem=w.problem, runs=2)
    add("starts.product", problem=w.problem, runs=2, draw=jax.random.normal)
    add("starts.near", problem=w.problem, runs=2, point=w.point, distance=0.1)
    add("starts.large_norm", problem=w.problem, runs=2, norm_sum=3.0)
    add("starts.sphere_ball", problem=w.convolution, runs=2)
    add("starts.fitted", problem=w.wide, runs=2)
    add("starts.subspace", problem=w.wide, runs=2, samples=50)
    add("starts.run_keys", seed=0, runs=2)

    # Dynamics.
    method = partial(add, probe=_method_probe)
    method("dynamics.GradientDescent", step=0.1)
    method("dynamics.StochasticGradientDescent", step=0.1)
    method("dynamics.PerturbedGradientDescent", step=0.1, noise=0.1)
    method("dynamics.AcceleratedDescent", step=0.1)
    method("dynamics.ChebyshevDescent", step=0.1)
    method("dynamics.GradientFlow", unbounded="an infinite horizon")
    method("dynamics.OptaxMethod", transformation=optax.sgd(0.1))
    add("dynamics.Ball", radius=2.0, probe=lambda ball: ball(w.objective, jnp.asarray(w.point)))
    add("dynamics.Newton", endless=("most_parameters", "most_steps"))
    add("dynamics.NewtonKrylov", endless=("most_steps", "most_products"))
    add("dynamics.gradient_norm", tolerance=1e-3)
    add("dynamics.loss_below", value=1e-3)
    add("dynamics.parameter_change", tolerance=1e-3)
    add("dynamics.step_limit", steps=3)
    add("dynamics.wall_time", seconds=1.0)
    add("dynamics.Stop", steps=3, probe=lambda stop: (stop | tl.dynamics.Stop(), stop.describe("gradient")))
    add("dynamics.record")
    shared = {"objective": w.objective, "starts": w.starts, "method": w.method}
    add("dynamics.descend", **shared, stop=tl.step_limit(3), probe=_runs_probe)
    descend_once = partial(tl.dynamics.descend_to_minima, most_steps=5)
    add(
        "dynamics.descend_to_minima",
        of=descend_once,
        endless=("most_steps",),
        objective=w.objective,
        starts=w.starts,
        step=0.1,
    )
    restarts_once = partial(tl.restarts, stop=tl.step_limit(3))
    add("dynamics.restarts", of=restarts_once, **shared, success=1e-3)
    add("dynamics.Runs.point", of=w.runs.point, run=0)
    add("dynamics.Runs.where", of=w.runs.where, status="converged")
    add("dynamics.Runs.curve", of=w.runs.curve, quantity="loss", run=0)

    # Geometry.
    pair = {"students": w.point, "teachers": np.eye(2, 3)}
    at = {"objective": w.objective, "point": w.point}
    add("geometry.atlas", objective=w.neuron_objective, runs=np.eye(3)[:2], unbounded="no Hessian, no eigenvalue")
    add("geometry.critical_point", **at, probe=lambda result: result.kind)
    add("geometry.Tolerances")
    add("geometry.certify", objective=w.neuron_objective, point=np.eye(3)[0], unbounded="a point that is not proved")
    add("geometry.spectrum", **at)
    add("geometry.known_minima", neurons=6, probe=lambda result: [one.student() for one in result])
    few = tl.family("k-1,1")
    add("geometry.family", blocks="k", probe=lambda result: result.points(4))
    add("geometry.Family.points", of=few.points, neurons=4)
    add("geometry.Family.point", of=few.point, neurons=4, table=np.ones((2, 3)))
    branch = few.follow(few.points(7)[1], 5)
    add("geometry.Family.follow", of=few.follow, point=few.points(7)[1], to=6.5)
    add("geometry.Branch.enclose", of=branch.enclose, event=branch.events[0])
    add("geometry.FamilyPoint.certify", of=few.point(4, few.points(4)[1].table).certify)
    add("geometry.split", point=w.point, neuron=0)
    add("geometry.merge", point=w.minimum, first=0, second=2)
    add("geometry.wider", objective=w.objective)
    add("geometry.reduced_blocks", **at, neurons=[0])
    add("geometry.descent_direction", **at)
    add("geometry.global_minima", problem=w.wide)
    add("geometry.GlobalMinima.partition", of=w.minima.partition, point=np.eye(3, 2))
    add("geometry.GlobalMinima.contains", of=w.minima.contains, point=np.eye(3, 2))
    add("geometry.GlobalMinima.point", of=w.minima.point, owners=[0, 1, 1], weights=[1.0, 0.5, 0.5])
    add("geometry.GlobalMinima.sample", of=w.minima.sample, number=2)
    add("geometry.match", **pair)
    add("geometry.line_angles", **pair)
    add("geometry.nearest_teacher", **pair)
    add("geometry.teacher_mass", **pair)
    add("geometry.average_neurons", **pair)
    add("geometry.separation", teachers=np.eye(2, 3))
    add("geometry.norm_range", teachers=np.eye(2, 3))
    add("geometry.Neighbourhood", centre=np.eye(3)[0], radius=0.5, probe=lambda near: near.sample(w.key))
    for name in ("tangent", "size", "contains", "project", "reach"):
        bound = getattr(w.neighbourhood, name)
        argument = "direction" if name in ("tangent", "reach") else "point"
        add(f"geometry.Neighbourhood.{name}", of=bound, **{argument: np.ones(3)})
    add("geometry.Neighbourhood.sample", of=w.neighbourhood.sample, key=w.key)
    near = {"objective": w.neuron_objective, "point": 0.9 * np.ones(3), "minimum": np.eye(3)[0]}
    infinite = "infinite at the minimum, and where the loss is not resolved"
    for name in ("OnePointConvexity", "PolyakLojasiewicz", "Lojasiewicz"):
        add(f"geometry.{name}", probe=lambda quotient: quotient(**near), unbounded=infinite)
        add(f"geometry.{name}()", of=getattr(tl.geometry, name)(), **near, unbounded=infinite)
    search = {"objective": w.neuron_objective, "samples": 4}
    quotient = tl.geometry.OnePointConvexity()
    add(
        "geometry.worst",
        **search,
        quotient=quotient,
        neighbourhood=w.neighbourhood,
        rounds=1,
        endless=("rounds",),
        unbounded="nothing below infinity is found where the loss is not resolved",
    )
    add(
        "geometry.convexity_radius",
        **search,
        minimum=np.eye(3)[0],
        unbounded="no point with a negative eigenvalue is found",
    )
    exponent = partial(tl.geometry.lojasiewicz_exponent, samples=4, rounds=1)
    add("geometry.lojasiewicz_exponent", of=exponent, objective=w.neuron_objective, minimum=np.eye(3)[0])
    add("geometry.Atlas.find", of=w.atlas.find, vectors=np.eye(3)[:1])
    add("geometry.Atlas.merge", of=w.atlas.merge, other=w.atlas, unbounded="no Hessian, no eigenvalue")
    add("geometry.Atlas.figure", of=w.atlas.figure)

    # Claims.
    add(
        "claims.Effort",
        samples=4,
        restarts=2,
        generations=1,
        iterations=1,
        runs=2,
        endless=("generations", "iterations"),
    )
    add("claims.Form", statement="", bound=1.0)
    parts = {"id": "own.square", "place": "", "title": "squares", "hypotheses": ()}
    parts |= {"as_printed": w.form, "control": w.false, **w.relation}
    add("claims.Claim", **parts, probe=lambda claim: (claim.paper, claim.forms))
    add("claims.real", shape=(2,))
    add("claims.uniform", low=0.0, high=1.0, shape=(2,))
    add("claims.log_uniform", low=0.1, high=1.0)
    add("claims.integers", low=1, high=9)
    add("claims.unit", dimension=3)
    add("claims.choice", values=[1.0, 2.0])
    add("claims.Chance", successes="successes", trials="trials", error=0.01)
    add("claims.fitted_order", sizes=[1.0, 2.0], values=[1.0, 4.0], unbounded="no order of what is not positive")
    add("claims.limit", values=[1.0, 1.5, 1.75], unbounded="no limit of what is not finite")
    relation = {"draw": {"w": (2,)}, "left": _square, "relation": ">=", "right": 0.0, "where": _anywhere}
    add("claims.Relation", **relation, probe=lambda test: test(w.effort, 0), unbounded="a side may be infinite")
    add("claims.conjecture", **relation, effort=w.effort, unbounded="a side may be infinite")
    add("claims.judge", claim=w.claim, effort=w.effort)
    add(
        "claims.judge_all",
        of=lambda claims, effort=w.effort, seed=0: list(tl.claims.judge_all(claims, effort, seed)),
        claims=[w.claim],
    )
    add("claims.claims_of", paper="single_neuron")
    add("claims.find", patterns=["single_neuron.theorem-*"])
    add("claims.paste", witness={"w": np.ones(2)}, recipe="left = right = 0")

    # Pictures.
    draw = partial(add, probe=_figure_probe)
    draw("plot.histories", runs=w.runs)
    draw("plot.losses", runs=w.runs)
    draw("plot.final_losses", runs=w.runs)
    add("plot.animate", runs=w.runs, quantity="student", frames=2)
    draw("plot.trajectories", runs=w.runs, quantity="student")
    draw("plot.intervals", x=[1.0, 2.0], middle=[1.0, 2.0], low=[0.5, 1.0], high=[1.5, 3.0])
    draw("plot.success", x=[1.0, 2.0], successes=[1, 2], trials=3)
    draw(
        "plot.landscape",
        objective=w.neuron_objective,
        centre=np.ones(3),
        first=np.eye(3)[0],
        second=np.eye(3)[1],
        resolution=3,
    )
    draw("plot.spectrum", eigenvalues=[1.0, 2.0])
    draw("plot.atlas", atlas=w.atlas)
    draw("plot.panels")
    add("plot.render", figure=tl.plot.spectrum([1.0, 2.0]), kind="png")
    add("plot.styled")

    # The cube.
    add("cube.points", patches=2)
    add("cube.fourier", outer="low", patches=2, probe=lambda result: (result.weights, result.terms()))
    add("cube.FourierExpansion.terms", of=tl.cube.fourier("both", 3).terms)
    add("cube.learn_outer", signs=tl.cube.points(2), values=[1.0, -1.0, -1.0, 1.0], units=8)
    add("cube.LearnedOuter.__call__", of=tl.cube.learn_outer(tl.cube.points(2), np.ones(4), 8), signs=tl.cube.points(2))

    # Objectives, models and duals.
    add("objectives.population", problem=w.problem)
    add("objectives.empirical", problem=w.problem, inputs=np.eye(3))
    add("objectives.stream", problem=w.problem, batch=2, probe=lambda stream: stream.loss(jnp.asarray(w.point), w.key))
    for name in ("loss", "gradient", "error_estimate", "singular"):
        add(f"objectives.Objective.{name}", of=getattr(w.objective, name), point=w.point)
    # Compiled methods do not show their signatures.
    add("objectives.Objective.hessian", of=lambda point: w.objective.hessian(point), point=w.point)
    product = lambda point, direction: w.objective.hessian_vector(point, direction)  # noqa: E731
    add("objectives.Objective.hessian_vector", of=product, point=w.point, direction=w.point)
    add(
        "objectives.Objective.hessian_lipschitz",
        of=w.objective.hessian_lipschitz,
        point=w.point,
        radius=0.1,
        unbounded="infinite if unknown",
    )
    add("objectives.Objective.with_target", of=w.objective.with_target, target=np.eye(2, 3))
    # Their second argument is the name that an error gives to the first.
    add("problems.Problem.point", of=lambda point: w.problem.point(point), point=w.point)
    add("problems.Problem.points", of=lambda points: w.problem.points(points), points=w.starts)
    add("problems.Problem.sample", of=w.problem.sample, key=w.key, batch=2)
    add("problems.Problem.with_teacher", of=w.problem.with_teacher, target=np.eye(2, 3))
    add("models.TwoLayer.predict", of=w.problem.student.predict, parameters=w.point, inputs=np.eye(3))
    relu = tl.activations.ReLU()
    two = {"sigma": relu, "tau": relu, "inputs": w.law, "quadrature": w.quadrature}
    add("duals.dual", **two)
    add("duals.kernel", **two)
    add("duals.mean", activation=relu, inputs=w.law, quadrature=w.quadrature)
    add("duals.Quadrature")
    add("duals.Dual.__call__", of=tl.duals.dual(**two), first=np.ones(3), second=np.ones(3))
    add("duals.Mean.__call__", of=tl.duals.mean(relu, w.law, w.quadrature), weights=np.ones(3))
    return {call.name: call for call in calls}


# Names that are not called by users: contracts, and what functions return ("build one with ...").
NOT_CALLED = {
    "activations": {"Activation"},
    "inputs": {
        *("Atoms", "Finite", "Gaussian", "ImagePatches", "Inputs", "Mixture", "PlaneDensity", "Rademacher"),
        *("Spherical", "Symmetry", "UniformBox", "mnist_patches", "photo_patches"),
    },
    "problems": {"Problem"},
    "starts": set(),
    "dynamics": {"Interrupted", "Method", "Record", "Restarts", "Runs", "Stepwise", "Traits"},
    "geometry": {
        *("Atlas", "AtlasEntry", "Block", "Certificate", "ConvexityRadius", "CriticalPoint", "Descent"),
        *("Branch", "Eigenvalue", "Event", "Expansion", "Family", "FamilyExpansion", "FamilyPoint", "FamilyPoints"),
        *(
            "FittedExponent",
            "GlobalMinima",
            "KnownMinima",
            "KnownMinimum",
            "Matching",
            "Partition",
            "Quotient",
            "Spectrum",
            "Structure",
            "Verification",
            "Worst",
        ),
        "load_atlas",
    },
    "claims": {"Attempt", "Law", "Outcome", "Verdict", "all_claims"},
    "plot": set(),
    "cube": {"FourierExpansion", "LearnedOuter"},
}


def public_callables(package: str) -> list[str]:
    """Return the public names of a package that can be called."""
    module = getattr(tl, package)
    source = Path(module.__file__ or "")
    names = [name for name in vars(module) if not name.startswith("_")]
    own = [name for name in names if callable(getattr(module, name)) and not inspect.ismodule(getattr(module, name))]
    if source.name != "__init__.py":  # a module: what it defines, not what it imports
        own = [name for name in own if getattr(module, name).__module__ == module.__name__]
    return sorted(own)
