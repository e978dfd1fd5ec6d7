"""What every test gets: Hypothesis profiles and the public data. No JAX here: collection stays fast."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"

# Before anything imports JAX: the reference is JAX on CPU, and workers cannot share an accelerator.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# The first example that needs an operation compiles it (20 ms and more, later ones microseconds), so the time
# of one example says nothing: no deadline, and no complaint that drawing and building a graph is slow.
_SLOW_IS_NORMAL = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# ci: the same examples every time, so that a red build is the change's doing. Looking for news is the job of
# the campaign and of nightly.
settings.register_profile("ci", _SLOW_IS_NORMAL, max_examples=40, derandomize=True)
settings.register_profile("dev", _SLOW_IS_NORMAL, max_examples=100, print_blob=True)
settings.register_profile("nightly", _SLOW_IS_NORMAL, max_examples=20_000, print_blob=True)
settings.load_profile("ci")  # --hypothesis-profile, read later, wins


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public programs beside the checkout, ../shared/data; skips where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no public data at {SHARED_DATA}")
    return SHARED_DATA
