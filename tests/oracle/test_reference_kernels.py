from collections.abc import Callable

import jax.numpy as jnp
import pytest

from oracle.reference import kernels
from oracle.reference.kernels import Kernel, compiled


def kernel(number: int) -> Kernel:
    return Kernel(key=("test", number), function=lambda x: jnp.add(x, number))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    kept = dict[object, kernels.JaxFunction]()
    monkeypatch.setattr(kernels, "_compiled", kept)
    monkeypatch.setattr(kernels, "MOST_COMPILED", 3)
    return lambda: len(kept)


def test_a_long_campaign_keeps_only_the_functions_that_were_used_lately(few: Callable[[], int]) -> None:
    first = compiled(kernel(0))
    for number in range(1, 10):
        assert compiled(kernel(0)) is first, "it is used all the time"
        compiled(kernel(number))
        assert few() <= 3
    assert compiled(kernel(9)) is compiled(kernel(9))
    old = compiled(kernel(8))
    for number in range(20, 23):
        compiled(kernel(number))
    assert compiled(kernel(8)) is not old
    assert few() == 3
