from importlib.metadata import version

import pytest


@pytest.fixture(scope="session")
def jaxlib_version() -> str:
    return version("jaxlib")
