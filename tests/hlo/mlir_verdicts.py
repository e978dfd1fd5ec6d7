"""What does MLIR's verifier say of many modules, some of which make it abort?

`verdicts` runs this file as a child. It forks before the first module and again after each death, which costs
much less than another start.
"""

import os
import struct
import subprocess
import sys
from collections.abc import Sequence

FINE, DIED = "", "died"
LENGTH = struct.Struct(">I")


def verdicts(protos: Sequence[bytes]) -> list[str]:
    """For each module: FINE, what is wrong with it in one line, or DIED."""
    frames = b"".join(LENGTH.pack(len(proto)) + proto for proto in protos)
    child = subprocess.run(
        [sys.executable, __file__], input=frames, capture_output=True, check=True, timeout=600
    )
    answers = child.stdout.decode().split("\n")[:-1]
    assert len(answers) == len(protos)
    return answers


def main() -> None:
    from hlo.interchange import installed_opcodes
    from hlo.interchange.mlir import verify_with_mlir

    data, protos, at = sys.stdin.buffer.read(), list[bytes](), 0
    while at < len(data):
        (length,) = LENGTH.unpack_from(data, at)
        protos.append(data[at + LENGTH.size : at + LENGTH.size + length])
        at += LENGTH.size + length
    installed_opcodes()  # loads jaxlib once for all forks, and starts none of its threads
    answers: list[str] = []
    while len(answers) < len(protos):
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            with os.fdopen(writing, "w", buffering=1) as out:
                for proto in protos[len(answers) :]:
                    out.write("; ".join(verify_with_mlir(proto)).replace("\n", " ") + "\n")
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as lines:
            answers += [line.removesuffix("\n") for line in lines]
        os.waitpid(pid, 0)
        if len(answers) < len(protos):
            answers.append(DIED)
    sys.stdout.write("".join(f"{answer}\n" for answer in answers))


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    main()
