"""Checks of arguments."""

import pytest

from tutelage.checks import one_of
from tutelage.errors import InvalidArgument


@pytest.mark.parametrize(
    ("value", "remedy"),
    [("orthogonl", "Perhaps 'orthogonal' is meant"), ("cube", "Choose one of these"), (3, "Choose")],
)
def test_a_wrong_name_is_answered_with_the_closest_one(value, remedy):
    """Where a name is close to one that is allowed, the error says which; otherwise it lists them."""
    with pytest.raises(InvalidArgument, match=f"'ball', 'neurons', 'orthogonal', but received .*{remedy}"):
        one_of("shape", value, ("ball", "neurons", "orthogonal"))
