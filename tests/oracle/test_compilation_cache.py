import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
import numpy as np
from hlo import ArrayShape, HloModule, Opcode, PrimitiveType
from oracle.reference import run_jax, use_compilation_cache

use_compilation_cache(sys.argv[1])
module = HloModule("m")
entry = module.add_computation("main")
module.set_entry_computation(entry)
x = entry.add_parameter(0, ArrayShape(PrimitiveType.F32, (3,)))
entry.set_root(entry.add(Opcode.NEGATE, x.shape, (x,)))
print(run_jax(module, (np.ones(3, np.float32),)).tolist())
"""


def run(directory: Path) -> set[str]:
    """Run the program in a child, because JAX's configuration is the whole process's. Returns what is kept."""
    command = [sys.executable, "-c", PROGRAM, str(directory)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[-1.0, -1.0, -1.0]"
    return {path.name for path in directory.iterdir() if not path.name.endswith("-atime")}


def test_compiled_operations_are_kept_for_the_next_process(tmp_path):
    first = run(tmp_path / "cache")
    assert first
    assert run(tmp_path / "cache") == first
