"""Deliberately spoiled claims: each is refuted, called vacuous, or shown to be weak by its measured strength.

Eleven true statements with sharp constants, each spoiled in several ways: the wrong direction, a hypothesis dropped, a
bound that is satisfied anyway, a constant that is looser or sharper than the true one. The honest ones hold, and are
refuted from just beyond their constants.
"""

from dataclasses import replace

import numpy as np
import pytest

from tutelage.claims import Chance, Claim, Effort, Form, fitted_order, judge, log_uniform, real, uniform

EFFORT = Effort(samples=128, restarts=8, generations=4, iterations=40, runs=40)
HALF_TURN = np.pi / 2


def _claim(name: str, *, held: float, false: float, **parts) -> Claim:
    forms = {"as_printed": Form("", constant=held), "control": Form("", constant=false)}
    return Claim(f"spoiled.lemma-{name}", "", name, (), **forms, **parts)


def _profile(angle):
    return np.cos(angle) * (np.pi - angle + np.sin(angle) * np.cos(angle)) + np.sin(angle) ** 3


def _flips(count, random):
    trials = np.full(4, 100 * count)
    return {"successes": random.binomial(trials, 0.5), "trials": trials}


def _cubes(count, random):
    sizes = np.geomspace(1e-3, 1e-1, 8) * random.uniform(0.5, 1, size=(count, 1))
    return {"sizes": sizes, "values": sizes - np.sin(sizes)}


def _paths(count, random):
    start = random.uniform(0.5, 2, size=count)
    share = random.uniform(0.98, 1.0, size=(count, 1))
    return {"start": start, "values": share * start[:, None] * 0.8 ** np.arange(1.0, 20.0)}


HONEST = {
    "means": _claim(
        "means",
        held=2.0,
        false=2.05,
        draw={"x": real((2,))},
        left=lambda x, constant: constant * np.abs(x[..., 0] * x[..., 1]),
        relation="<=",
        right=lambda x: x[..., 0] ** 2 + x[..., 1] ** 2,
    ),
    "chord": _claim(
        "chord",
        held=2 / np.pi,
        false=0.65,
        draw={"angle": uniform(0, np.pi)},
        where=lambda angle: angle <= HALF_TURN,
        left=lambda angle: np.sin(angle),
        relation=">=",
        right=lambda angle, constant: constant * angle,
    ),
    "tangent": _claim(
        "tangent",
        held=1.0,
        false=1.05,
        draw={"x": uniform(-5, 5)},
        left=lambda x: np.exp(x),
        relation=">=",
        right=lambda x, constant: constant + x,
    ),
    "schwarz": _claim(
        "schwarz",
        held=1.0,
        false=1.05,
        draw={"u": real((3,)), "v": real((3,))},
        left=lambda u, v, constant: constant * np.abs(np.sum(u * v, -1)),
        relation="<=",
        right=lambda u, v: np.sqrt(np.sum(u**2, -1) * np.sum(v**2, -1)),
    ),
    "triangle": _claim(
        "triangle",
        held=1.0,
        false=1.05,
        draw={"u": real((4,)), "v": real((4,))},
        left=lambda u, v, constant: constant * np.sqrt(np.sum((u + v) ** 2, -1)),
        relation="<=",
        right=lambda u, v: np.sqrt(np.sum(u**2, -1)) + np.sqrt(np.sum(v**2, -1)),
    ),
    "products": _claim(
        "products",
        held=3.0,
        false=3.1,
        draw={"a": log_uniform(1e-2, 1e2, (3,))},
        left=lambda a, constant: constant * np.prod(a, -1) ** (1 / 3),
        relation="<=",
        right=lambda a: np.sum(a, -1),
    ),
    "sine": _claim(
        "sine",
        held=2.0,
        false=2.05,
        draw={"a": uniform(0.1, 1), "b": uniform(0.1, 1)},
        left=lambda a, b: np.sin(np.arctan2(b, a)),
        relation="==",
        right=lambda a, b, constant: b / np.sqrt(np.abs(a) ** constant + b**2),
    ),
    "profile": _claim(
        "profile",
        held=1.0,
        false=1.05,
        draw={"angle": uniform(0, np.pi)},
        where=lambda angle: angle <= HALF_TURN,
        left=_profile,
        relation=">=",
        right=lambda constant: constant,
        known=0.0,
    ),
    "chance": _claim(
        "chance",
        held=0.5,
        false=0.55,
        draw=_flips,
        runs=True,
        left=Chance(),
        relation=">=",
        right=lambda constant: constant,
        known=0.0,
    ),
    "order": _claim(
        "order",
        held=2.99,
        false=3.05,
        draw=_cubes,
        runs=True,
        left=lambda sizes, values: fitted_order(sizes, values),
        relation=">=",
        right=lambda constant: constant,
    ),
    "decay": _claim(
        "decay",
        held=0.8,
        false=0.78,
        draw=_paths,
        runs=True,
        left=lambda values: values,
        relation="<=",
        right=lambda start, constant: start[:, None] * constant ** np.arange(1.0, 20.0),
        known=lambda start: start[:, None],
    ),
}


def caught(claim: Claim) -> str:
    """How a claim is caught: its verdict, or `weak` if a clear strengthening of it is not refuted; empty if not."""
    (verdict,) = judge(claim, EFFORT)
    if verdict.verdict != "holds":
        return verdict.verdict
    strength = verdict.refuted_from
    weak = strength is None or abs(np.log(abs(strength["factor"]))) > np.log(1.08)
    return "weak" if weak else ""


@pytest.mark.parametrize("name", HONEST)
def test_the_honest_ones_hold_and_are_sharp(name):
    """Nothing is held against them: they hold, are at risk, and a little more is refuted."""
    assert caught(HONEST[name]) == ""


def _loosened(claim: Claim) -> float:
    """A constant on the easy side of the true one, and far from it."""
    held, false = claim.as_printed.varied["constant"], claim.control.varied["constant"]
    return held * 0.7 if false > held else min(1.2 * held, 0.99)


SPOILED = {}
for _name, _honest in HONEST.items():
    _other = {"<=": ">=", ">=": "<=", "==": "<="}[_honest.relation]
    if _honest.relation != "==":
        SPOILED[f"{_name}: wrong direction"] = (
            replace(_honest, relation=_other, known=None),
            {"refuted", "inconclusive"},
        )
    SPOILED[f"{_name}: beyond the constant"] = (
        replace(
            _honest,
            as_printed=Form(
                "", constant=2 * _honest.control.varied["constant"] - _honest.as_printed.varied["constant"]
            ),
        ),
        {"refuted"},
    )
    SPOILED[f"{_name}: loosened constant"] = (
        replace(_honest, as_printed=Form("", constant=_loosened(_honest))),
        {"refuted"} if _honest.relation == "==" else {"weak", "vacuous"},
    )
for _name in ("chord", "profile"):
    SPOILED[f"{_name}: dropped hypothesis"] = (replace(HONEST[_name], where=None), {"refuted"})
SPOILED |= {
    "tangent: dropped hypothesis": (
        replace(HONEST["tangent"], left=lambda x: x**2, right=lambda x, constant: constant * x),
        {"refuted"},
    ),
    "products: dropped hypothesis": (
        replace(
            HONEST["products"], draw={"a": real((3,))}, left=lambda a, constant: constant * np.cbrt(np.prod(a, -1))
        ),
        {"refuted"},
    ),
    "chord: bound below zero": (
        replace(HONEST["chord"], right=lambda angle, constant: constant * angle - 9, control=Form("", constant=20.0)),
        {"vacuous", "weak"},
    ),
    "schwarz: bound that holds anyway": (
        replace(
            HONEST["schwarz"],
            left=lambda u, v, constant: -constant * np.abs(np.sum(u * v, -1)),
            control=Form("", constant=-1.1),
        ),
        {"vacuous", "weak"},
    ),
    "sine: one expression twice": (
        replace(
            HONEST["sine"],
            right=lambda a, b, constant: np.sin(np.arctan2(b, a)) if constant < 2.02 else constant + 0 * a,
        ),
        {"vacuous"},
    ),
    "triangle: one expression twice": (
        replace(
            HONEST["triangle"],
            right=lambda u, v, constant: constant**-1 * np.sqrt(np.sum((u + v) ** 2, -1)),
        ),
        {"vacuous"},
    ),
    "profile: a square is not negative": (
        replace(HONEST["profile"], left=lambda angle: np.cos(angle) ** 2, as_printed=Form("", constant=0.0)),
        {"vacuous"},
    ),
    "decay: satisfied at the start": (
        replace(
            HONEST["decay"],
            right=lambda start, constant: 9.0 * start[:, None] * constant,
            control=Form("", constant=0.05),
        ),
        {"vacuous", "weak"},
    ),
    "chance: a probability is not negative": (
        replace(HONEST["chance"], as_printed=Form("", constant=-0.1)),
        {"vacuous"},
    ),
    "order: far below what it is": (
        replace(HONEST["order"], as_printed=Form("", constant=1.0)),
        {"weak"},
    ),
    "tangent: a control that is no stronger": (
        replace(HONEST["tangent"], control=Form("", constant=0.9)),
        {"inconclusive"},
    ),
}


@pytest.mark.parametrize("name", SPOILED)
def test_the_spoiled_ones_are_caught(name):
    """Refuted, vacuous, weak or inconclusive, as the way in which it is spoiled has it."""
    claim, ways = SPOILED[name]
    assert caught(claim) in ways


def test_there_are_enough_of_them():
    """At least thirty, of all kinds."""
    assert len(SPOILED) >= 30
