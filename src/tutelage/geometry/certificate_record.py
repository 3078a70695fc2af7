"""Certificates as plain data, to be kept with an atlas or in a table, and as certificates again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import jax.numpy as jnp
import numpy as np
from pydantic import Field

from tutelage.errors import MalformedData
from tutelage.geometry.ball_losses import LossInBalls
from tutelage.geometry.certificate import Certificate, ProvedKind
from tutelage.geometry.decay import Decay
from tutelage.geometry.splitting import neurons_of
from tutelage.work.documents import Document

if TYPE_CHECKING:
    from jaxtyping import PyTree

Bound = Annotated[float, Field(ge=0)] | None
Interval = Annotated[list[float], Field(min_length=2, max_length=2)] | None
Place = Annotated[int, Field(ge=0)]
Decimals = Annotated[str, Field(pattern=r"^-?[0-9]+(\.[0-9]+)?$", max_length=1500)]

# What is text or whole numbers, the numbers of a proof, and their pairs.
_PLAIN = ("kind", "reason", "problem", "digits", "blocks", "index")
_BOUNDS = (
    "radius", "unique_radius", "distance", "gradient_norm", "least_curvature", "lipschitz", "split_curvature",
)  # fmt: skip
_INTERVALS = ("loss", "excess", "smallest_eigenvalue")


class StatedLoss(Document):
    """The numbers of a problem besides its teacher; see `LossInBalls`."""

    left: float
    right: float
    scale: Annotated[float, Field(gt=0)]
    noise: Annotated[float, Field(ge=0)]
    signs: list[float] | None
    outputs: list[float] | None
    decay: Annotated[list[float], Field(max_length=2, default_factory=list)]  # of vectors, of output weights
    bias_decay: Annotated[float, Field(ge=0)] = 0.0
    factors: Annotated[list[float], Field(min_length=2, max_length=2, default_factory=lambda: [1.0, 1.0])]
    mean: list[float] | None = None
    biases: list[float] | None = None  # of the teacher


class CertificateRecord(Document):
    """A certificate as `document` writes it: see `Certificate` for what the numbers are.

    Attributes:
        entries: The different decimals of the centre.
        centre: Which of them stands where, one row per neuron.
        stated: The numbers of the problem, if the centre is written out in full.
    """

    kind: ProvedKind
    reason: str
    problem: str
    digits: Annotated[int, Field(ge=1, le=1000)]
    entries: list[Decimals]
    centre: list[list[Place]]
    blocks: str
    parts: list[Place]
    index: Place | None
    radius: Bound
    unique_radius: Bound
    distance: Bound
    gradient_norm: Bound
    least_curvature: Bound
    lipschitz: Bound
    split_curvature: Bound
    loss: Interval
    excess: Interval
    smallest_eigenvalue: Interval
    stated: StatedLoss | None


def document(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as plain data; what is not a number is `None`."""
    entries = sorted({entry for row in certificate.decimals for entry in row}, key=lambda text: (float(text), text))
    place = {entry: number for number, entry in enumerate(entries)}
    loss = certificate._loss
    stated = None
    if loss is not None:
        biases = loss.teacher[:, -1] if loss.biased else None
        lists = {"signs": loss.signs, "outputs": loss.outputs, "mean": loss.mean, "biases": biases}
        rates = () if loss.decay is None else (loss.decay.rates[0], loss.decay.output)
        stated = {
            "left": loss.left, "right": loss.right, "scale": loss.scale, "noise": loss.noise,
            "factors": list(loss.factors), "decay": [rate for rate in rates if rate is not None],
            "bias_decay": loss.decay.rates[-1] if loss.decay is not None and loss.biased else 0.0,
            **{name: None if numbers is None else np.asarray(numbers).tolist() for name, numbers in lists.items()},
        }  # fmt: skip
    return {
        **{name: getattr(certificate, name) for name in _PLAIN},
        "entries": entries,
        "centre": [[place[entry] for entry in row] for row in certificate.decimals],
        "parts": list(certificate.parts),
        **{name: _known(getattr(certificate, name)) for name in (*_BOUNDS, *_INTERVALS)},
        "stated": stated,
    }


def _known(value: float | tuple[float, float]) -> float | list[float] | None:
    """Return a number or a pair of them, or `None` if that is not a number."""
    if np.isnan(value).any():
        return None
    return list(value) if isinstance(value, tuple) else value


def _loss(stated: StatedLoss, teacher: np.ndarray, width: int) -> LossInBalls:
    """Return the loss of a certificate whose student has rows of some width.

    Raises:
        MalformedData: If something does not fit; the text continues a sentence.
    """
    lists = {name: getattr(stated, name) for name in ("signs", "outputs", "mean", "biases")}
    arrays = {name: None if numbers is None else np.array(numbers) for name, numbers in lists.items()}
    biases, rates, dimension = arrays.pop("biases"), stated.decay, teacher.shape[1]
    sizes = len(teacher[0] if stated.mean is None else stated.mean), len(teacher if biases is None else biases)
    if sizes != (dimension, len(teacher)) or not all(stated.factors):
        raise MalformedData("has a certificate whose numbers do not fit the problem")
    decay = None
    if rates:
        of_rows = [rates[0]] * dimension + [stated.bias_decay] * (width - dimension)
        decay = Decay(tuple(of_rows), rates[1] if len(rates) > 1 else None)
    return LossInBalls(
        teacher if biases is None else np.column_stack([teacher, biases]),
        stated.left,
        stated.right,
        stated.scale,
        stated.noise,
        decay=decay,
        factors=(stated.factors[0], stated.factors[1]),
        biased=biases is not None,
        **arrays,
    )


def certificate_of(record: CertificateRecord, teacher: np.ndarray, point: PyTree) -> Certificate:
    """Return the certificate of a record, if it fits its problem.

    Args:
        record: The record.
        teacher: The teacher's vectors.
        point: A student of the problem, for the form of the centre.

    Raises:
        MalformedData: If something does not fit; the text continues a sentence.
    """
    numbers: dict[str, Any] = {name: getattr(record, name) for name in (*_BOUNDS, *_INTERVALS)}
    # Of a continuum of saddles the smallest eigenvalue is not known; of one point there is no other curvature.
    optional = ("split_curvature", *(("smallest_eigenvalue",) if record.parts else ()))
    needed = [record.index, *(value for name, value in numbers.items() if name not in optional)]
    if record.kind == "not proved":
        if any(value is not None for value in (record.index, *numbers.values())) or record.centre:
            raise MalformedData("has a certificate that proves nothing, but with the numbers of a proof")
    elif any(value is None for value in needed) or not record.centre or record.stated is None:
        raise MalformedData("has a certificate that lacks some of its numbers")
    rows, output, put = neurons_of(point)
    width = rows.shape[1]
    if any(len(row) != width or max(row) >= len(record.entries) for row in record.centre):
        raise MalformedData("has a certificate whose centre does not fit the problem")
    if record.parts and max(record.parts) >= len(record.centre):
        raise MalformedData("has a certificate with parts of neurons that are not there")
    decimals = tuple(tuple(record.entries[entry] for entry in row) for row in record.centre)
    loss = None if record.stated is None else _loss(record.stated, teacher, width)
    centre: Any = point
    if decimals and not record.parts:
        signs = output if loss is None or loss.signs is None else jnp.asarray(loss.signs)
        centre = put(jnp.asarray([[float(entry) for entry in row] for row in decimals]), signs)
    known = {name: value for name, value in numbers.items() if value is not None}
    known |= {name: tuple(known[name]) for name in _INTERVALS if name in known}
    return Certificate(
        **{name: getattr(record, name) for name in _PLAIN},
        **known,
        decimals=decimals,
        parts=tuple(record.parts),
        centre=centre,
        _loss=loss,
    )
