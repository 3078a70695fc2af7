"""Every registered study: it runs (smaller than its quick scale), and what it promises is there."""

import re
from dataclasses import replace

import pytest

from tutelage.errors import InvalidArgument
from tutelage.papers import recorded_studies
from tutelage.plot import styled
from tutelage.studies import Conclusion, all_studies, described, find, studies_of
from tutelage.studies.base import Values

STUDIES = {study.id: study for study in all_studies()}
# Settings that make a study small enough for a test; its outcome is then not judged.
SMALLER = {
    "weight_sharing.figure-1": {
        "data": ("gaussian", "photos"),
        "seeds": 2,
        "image_seeds": 1,
        "iterations": 20,
        "samples": 20,
        "variations": ((1.0, 1.0),),
        "scales": (0.1, 30.0),
        "starts": 2,
        "varied_iterations": 20,
    },
    "weight_sharing.time-to-learn": {"degrees": (1, 2, 3), "points": 4, "checked": (100,)},
    "weight_sharing.ring": {"patches": (2, 3), "points": 9, "directions": 4, "starts": 4},
    "weight_sharing.landscape": {
        "shown": (5, 12),
        "random": (12,),
        "most_patches": 14,
        "nodes": 200,
        "turns": 5,
        "sizes": 3,
        "runs": 4,
        "steps": 2000,
    },
    "local_convergence.figure-1": {"iterations": 60},
    "local_convergence.figures-2-3": {"points": 41},
    "local_convergence.lojasiewicz": {"searches": 1, "generations": 3, "points": 20},
    "local_convergence.local-runs": {
        "students": (3,),
        "separations": (1.2,),
        "scales": (0.1, 0.6),
        "runs": 2,
        "iterations": 20,
        "long": 400,
    },
    "local_convergence.fitted-starts": {
        "teachers": (2,),
        "dimensions": (2, 3),
        "students": (4, 8, 16),
        "samples": (50, 100, 200),
        "budgets": (100,),
        "sampled_dimensions": (3,),
        "many": 4,
        "runs": 2,
    },
    "local_convergence.samples": {"dimensions": (2, 4), "samples": (50, 200), "repeats": 3, "steps": 20},
    "local_convergence.random-starts": {"students": (5, 6), "scales": (0.1, 1.0), "runs": 2, "iterations": 20},
    "convolutional_filter.figure-1b": {"random_runs": 4},
    "convolutional_filter.success-probability": {
        "runs": 8,
        "k": 5,
        "ratios": (1.0, 4.0),
        "filter_sizes": (20,),
        "patch_numbers": (5,),
        "steps": (0.4, 1.05),
        "horizon": 100,
    },
    "convolutional_filter.phase-portrait": {"grid": 4, "steps": 50, "ratios": (0.0, 3.0)},
    "convolutional_filter.sampled-data": {"batches": (4, 8), "fitted": 2, "runs": 2, "steps": 25},
    "mild_overparameterization.experiment": {
        "neurons": (6, 8),
        "shown": (6, 8),
        "runs": 8,
        "large_runs": 2,
        "steps": 3000,
    },
    "mild_overparameterization.figure-2": {"samples": 50},
    "mild_overparameterization.table-1": {"neurons": (5,), "copies": (2, 5), "samples": 20},
    "mild_overparameterization.more-students": {"neurons": (6,), "runs": 4, "steps": 50},
    "mild_overparameterization.splitting": {"neurons": (8,), "runs": 20, "classes": 1, "steps": 200},
    "mild_overparameterization.large-networks": {"neurons": (256, 1024)},
    "single_neuron.figure-1": {"iterations": 400, "grid": 9},
    "single_neuron.success-rates": {"dimensions": (20,), "taus": (0.1,), "runs": 20},
    "single_neuron.hard-law": {"dimensions": (4, 32), "runs": 20},
    "single_neuron.learnability-map": {
        "activations": ("relu", "leaky_relu", "cosine-5"),
        "sample": 32,
        "runs": 2,
        "descent_iterations": 20,
        "iterations": 20,
    },
    "copy_or_average.narrow-students": {"teachers": 3, "students": (2,), "activations": ("erf",), "runs": 3},
    "flat_channels.channels": {"runs": 1, "points": 3},
    "single_neuron.shifted-gaussians": {"dimensions": (2,), "lengths": (0.0, 1.0), "runs": 10, "horizon": 10},
}


def test_records_and_studies_are_the_same():
    """Every study has an outcome on record and every record a study, in the same order, with the same title."""
    assert {id: record.title for id, record in recorded_studies().items()} == {
        id: study.title for id, study in STUDIES.items()
    }
    for record in recorded_studies().values():
        assert (record.verdict == "differs") == bool(record.failing) == bool(record.finding)


@pytest.mark.parametrize("id", STUDIES)
def test_it_runs(id):
    """All pieces are measured, and figures, tables and expectations follow from them."""
    study = STUDIES[id]
    assert all(setting.source in ("printed", "chosen") for setting in study.settings)
    values = Values({**study.values("quick"), **SMALLER[id]})
    pieces = study.pieces(values)
    assert all(re.fullmatch(r"[\w.+-]+", name) for name in pieces), "names of pieces are names of files"
    measured = {name: dict(study.measure(values, 0, **arguments)) for name, arguments in pieces.items()}
    with styled():
        conclusion = study.conclude(values, measured)
    assert conclusion.expectations and conclusion.pictures and conclusion.tables
    assert study.verdict(conclusion) in ("reproduced", "measured", "differs")
    for picture in conclusion.pictures:
        assert picture.caption.endswith(".")
        drawn = [axes for axes in picture.figure.axes if axes.has_data()]
        assert drawn == picture.figure.axes, "no empty panels"
        assert all(axes.get_xlabel() for axes in picture.figure.axes if axes.get_subplotspec()), "labelled axes"


def test_paper_scale_is_declared():
    """Every study has values at paper scale too, and its pieces there."""
    for study in STUDIES.values():
        assert len(study.pieces(study.values("paper"))) >= len(study.pieces(study.values("quick")))


def test_find():
    """Papers and studies are found by name; what is neither is refused with the names that exist."""
    assert find(["convolutional_filter"]) == studies_of("convolutional_filter")
    assert [study.id for study in find(["convolutional_filter.figure-1b"])] == ["convolutional_filter.figure-1b"]
    assert find() == tuple(STUDIES.values())
    with pytest.raises(InvalidArgument, match="figure-9"):
        find(["convolutional_filter.figure-9"])
    with pytest.raises(InvalidArgument, match="huge"):
        find(["convolutional_filter.figure-1b"])[0].values("huge")


def test_a_failed_expectation_differs():
    """One expectation that is not met makes the verdict `differs`; with nothing published, it is a measurement."""
    study = STUDIES["convolutional_filter.figure-1b"]
    met, missed = (described("it", "rises", "falls", ok) for ok in (True, False))
    assert study.verdict(Conclusion((met, met), (), {})) == "reproduced"
    assert study.verdict(Conclusion((met, missed), (), {})) == "differs"
    assert replace(study, beyond=True).verdict(Conclusion((met,), (), {})) == "measured"
