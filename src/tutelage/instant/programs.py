"""A traced function as a list of NumPy calls.

Nested functions are inlined, what depends on constants alone is computed once, what is computed twice is shared, and
what nobody uses is left out. Arrays that were broadcast stay small as long as operations act on entries.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from tutelage.instant import keys
from tutelage.instant.indexing import gather, scatter
from tutelage.instant.rules import COSTS, SEVERAL, STRUCTURAL, Function, Unsupported, elementwise, structural

# Operations that call a traced function, and what they call it.
_NESTED = {
    **dict.fromkeys(("jit", "pjit", "remat", "remat2", "checkpoint"), "jaxpr"),
    **dict.fromkeys(("closed_call", "core_call", "custom_jvp_call", "custom_vjp_call"), "call_jaxpr"),
}
STRUCTURAL.update({**keys.RULES, "gather": gather, "scatter": scatter})


class Value(NamedTuple):
    """A result of a step, or a constant.

    Attributes:
        slot: Where it is kept.
        shape: The shape that it has, which may be smaller than the one traced: a broadcast that is still to come.
        constant: The array, where it is known beforehand.
    """

    slot: int
    shape: tuple[int, ...]
    constant: Any = None


class Instruction(NamedTuple):
    """A function of the contents of slots, and where its results go (one slot, or several)."""

    function: Function
    inputs: tuple[int, ...]
    output: int
    outputs: tuple[int, ...] | None

    @property
    def written(self) -> tuple[int, ...]:
        """All slots that it writes to."""
        return (self.output,) if self.outputs is None else self.outputs


class Program:
    """A traced function as a list of NumPy calls.

    Attributes:
        cost: About how many numbers are computed.

    Raises:
        Unsupported: If it has an operation that NumPy has no rule for.
    """

    def __init__(self, closed: ClosedJaxpr):
        self.cost = 0
        self._memory: list[Any] = []
        self._steps: list[Instruction] = []
        self._seen: dict[Any, tuple[Value, ...]] = {}
        arguments = [self._argument(variable.aval) for variable in closed.jaxpr.invars]
        self._open = slice(0, len(arguments))
        results = self._inline(closed.jaxpr, closed.consts, arguments)
        shapes = [variable.aval.shape for variable in closed.jaxpr.outvars]  # type: ignore[union-attr]
        self._results = tuple(self._full(one, shape).slot for one, shape in zip(results, shapes, strict=True))
        self._drop_unused()
        del self._seen

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """Return the results for arrays (or numbers) of the shapes and types that were traced."""
        memory = self._memory.copy()
        memory[self._open] = arguments
        _execute(self._steps, memory)
        return [memory[slot] for slot in self._results]

    def after(self, first: Sequence[Any]) -> Program:
        """Return the program of the arguments behind the first ones: what depends on these alone is computed here."""
        program, unknown = copy.copy(self), set(range(len(first), self._open.stop))
        program._memory, program._open = self._memory.copy(), slice(len(first), self._open.stop)
        program._memory[: len(first)] = first
        known, program._steps = [], []
        for step in self._steps:
            if unknown.isdisjoint(step.inputs):
                known.append(step)
            else:
                program._steps.append(step)
                unknown.update(step.written)
        _execute(known, program._memory)
        return program

    def _drop_unused(self) -> None:
        needed, kept = set(self._results), []
        for step in reversed(self._steps):
            if not needed.isdisjoint(step.written):
                needed.update(step.inputs)
                kept.append(step)
        self._steps = kept[::-1]

    def _argument(self, aval: Any) -> Value:
        if keys.is_key(aval) and not keys.is_known(aval.dtype):
            raise Unsupported(str(aval.dtype))
        self._memory.append(None)
        return Value(len(self._memory) - 1, aval.shape)

    def _constant(self, array: Any) -> Value:
        # Numbers without axes as scalars, which are quicker than arrays.
        array = np.asarray(array)[()]
        self._memory.append(array)
        return Value(len(self._memory) - 1, np.shape(array), array)

    def _inline(self, jaxpr: Jaxpr, constants: Sequence[Any], arguments: Sequence[Value]) -> list[Value]:
        known: dict[Any, Value] = dict(zip(jaxpr.constvars, map(self._constant, constants), strict=True))
        known.update(zip(jaxpr.invars, arguments, strict=True))

        def read(atom) -> Value:
            return self._literal(atom) if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            results = self._equation(equation, [read(atom) for atom in equation.invars])
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _literal(self, literal: Literal) -> Value:
        value = np.asarray(literal.val, literal.aval.dtype)  # type: ignore[attr-defined]
        key = (value.tobytes(), value.dtype, value.shape)
        if key not in self._seen:
            self._seen[key] = (self._constant(value),)
        return self._seen[key][0]

    def _equation(self, equation: Any, arguments: list[Value]) -> Sequence[Value]:
        name, parameters = equation.primitive.name, equation.params
        if name in _NESTED:
            nested = parameters[_NESTED[name]]
            if isinstance(nested, ClosedJaxpr):
                return self._inline(nested.jaxpr, nested.consts, arguments)
            return self._inline(nested, (), arguments)
        outputs = [variable.aval for variable in equation.outvars]
        self.cost += sum(math.prod(aval.shape) for aval in outputs) * COSTS.get(name, 1)
        if name == "broadcast_in_dim":
            return [self._broadcast(parameters, arguments[0], outputs[0].shape)]
        if name == "iota":
            return [self._constant(_iota(parameters))]
        if name == "empty2":  # a place that a scan will write to
            return [self._constant(np.zeros((), parameters["dtype"]))]
        if (function := elementwise(name, parameters, outputs[0].dtype)) is not None:
            shape = np.broadcast_shapes(*(argument.shape for argument in arguments))
            return self._step((name, _key(parameters)), function, arguments, [shape], single=True)
        shapes = [variable.aval.shape for variable in equation.invars]
        arguments = [self._full(argument, shape) for argument, shape in zip(arguments, shapes, strict=True)]
        shapes_out = [aval.shape for aval in outputs]
        if name in _LOOPS:
            function, cost = _LOOPS[name](parameters)
            self.cost += cost
            return self._step((name, None), function, arguments, shapes_out, single=False)
        function = structural(name, parameters, shapes)
        if name == "dot_general":
            self.cost += math.prod(shapes_out[0]) * _inner(parameters, shapes[0])
        return self._step((name, _key(parameters)), function, arguments, shapes_out, single=name not in SEVERAL)

    def _step(self, key, function: Function, arguments, shapes, *, single: bool) -> Sequence[Value]:
        """Add a call; or return the results at once, or those of an equal call."""
        if all(argument.constant is not None for argument in arguments):
            with np.errstate(all="ignore"):
                results = function(*(argument.constant for argument in arguments))
            return [self._constant(result) for result in ((results,) if single else results)]
        inputs = tuple(argument.slot for argument in arguments)
        # Calls whose parameters cannot be compared are never taken for equal.
        label = (*key, inputs) if key[1] is not None else None
        if label is not None and label in self._seen:
            return self._seen[label]
        begin = len(self._memory)
        results = tuple(Value(begin + place, tuple(shape)) for place, shape in enumerate(shapes))
        self._memory.extend([None] * len(results))
        self._steps.append(Instruction(function, inputs, begin, None if single else tuple(one.slot for one in results)))
        if label is not None:
            self._seen[label] = results
        return results

    def _broadcast(self, parameters, argument: Value, shape: tuple[int, ...]) -> Value:
        """Return an array with axes of size one in place of those that a broadcast adds."""
        if argument.shape == ():
            return argument
        thin = [1] * len(shape)
        for place, size in zip(parameters["broadcast_dimensions"], argument.shape, strict=True):
            thin[place] = size
        return argument if tuple(thin) == argument.shape else self._reshaped(argument, tuple(thin))

    def _reshaped(self, argument: Value, shape: tuple[int, ...]) -> Value:
        return self._step(("reshaped", shape), lambda x: np.reshape(x, shape), [argument], [shape], single=True)[0]

    def _full(self, argument: Value, shape: tuple[int, ...]) -> Value:
        """Return an array with the shape that was traced."""
        if argument.shape == tuple(shape):
            return argument
        function = lambda x: np.broadcast_to(x, shape)  # noqa: E731
        return self._step(("full", tuple(shape)), function, [argument], [shape], single=True)[0]


def _execute(steps: list[Instruction], memory: list[Any]) -> None:
    """Execute calls, which read and write slots."""
    for function, inputs, output, outputs in steps:
        # Most have one or two arguments, and a list of them would take as long as a call on small arrays.
        if len(inputs) == 2:
            result = function(memory[inputs[0]], memory[inputs[1]])
        elif len(inputs) == 1:
            result = function(memory[inputs[0]])
        else:
            result = function(*[memory[slot] for slot in inputs])
        if outputs is None:
            memory[output] = result
        else:
            for slot, one in zip(outputs, result, strict=True):
                memory[slot] = one


def _key(parameters: dict[str, Any]) -> Any:
    """Return parameters as something that can be compared, or `None` if they cannot."""
    key = tuple(sorted((name, str(value)) for name, value in parameters.items() if name != "sharding"))
    return key if all(len(text) < 200 for _, text in key) else None


def _inner(parameters: dict[str, Any], shape: tuple[int, ...]) -> int:
    """Return how many products each entry of a matrix product sums."""
    return math.prod(shape[axis] for axis in parameters["dimension_numbers"][0][0])


def _iota(parameters: dict[str, Any]) -> np.ndarray:
    shape, axis = parameters["shape"], parameters["dimension"]
    along = np.arange(shape[axis], dtype=parameters["dtype"])
    return np.broadcast_to(along.reshape([-1 if other == axis else 1 for other in range(len(shape))]), shape)


def _scan(parameters: dict[str, Any]) -> tuple[Function, int]:
    body = Program(parameters["jaxpr"])
    constants, carried, length = parameters["num_consts"], parameters["num_carry"], parameters["length"]
    order = range(length - 1, -1, -1) if parameters["reverse"] else range(length)
    shapes = [variable.aval for variable in parameters["jaxpr"].jaxpr.outvars[carried:]]

    def function(*arguments):
        shared, carry = arguments[:constants], arguments[constants : constants + carried]
        stacks = None
        rows = arguments[constants + carried :]
        for place in order:
            results = body([*shared, *carry, *(row[place] for row in rows)])
            carry = results[:carried]
            if stacks is None:  # of the kind of arrays that the first turn returns
                ends = zip(results[carried:], shapes, strict=True)
                stacks = [np.empty_like(one, aval.dtype, shape=(length, *aval.shape)) for one, aval in ends]
            for stack, result in zip(stacks, results[carried:], strict=True):
                stack[place] = result
        if stacks is None:
            stacks = [np.empty((length, *aval.shape), aval.dtype) for aval in shapes]
        return [*carry, *stacks]

    return function, length * body.cost


def _while(parameters: dict[str, Any]) -> tuple[Function, int]:
    condition, body = Program(parameters["cond_jaxpr"]), Program(parameters["body_jaxpr"])
    first, second = parameters["cond_nconsts"], parameters["body_nconsts"]

    def function(*arguments):
        of_condition, of_body = arguments[:first], arguments[first : first + second]
        carry = list(arguments[first + second :])
        while condition([*of_condition, *carry])[0]:
            carry = body([*of_body, *carry])
        return carry

    return function, _TURNS * body.cost


def _cond(parameters: dict[str, Any]) -> tuple[Function, int]:
    branches = [Program(branch) for branch in parameters["branches"]]

    def function(which, *arguments):
        return branches[min(max(int(which), 0), len(branches) - 1)](arguments)

    return function, max(branch.cost for branch in branches)


# How often a loop is taken to turn whose number of turns is not known.
_TURNS = 100
_LOOPS = {"scan": _scan, "while": _while, "cond": _cond}
