import pytest

from fuzz.campaign.plan import Job, Position, Programs
from fuzz.campaign.source import StopDrawing, for_each_program
from fuzz.generators import Program
from hlo.canonical import structure

JOB = Job((), {}, seed=1, worker=0, workers=1, directory="", cache="", examples=100)


def drawn(seed: int, batch: int, size: int, kind: Programs = Programs.LOOPS) -> list[Program]:
    programs: list[Program] = []
    for_each_program(seed, batch, size, lambda _, program: programs.append(program), kind)
    return programs


def test_every_kind_of_programs_and_all_together_can_be_drawn() -> None:
    kinds = set(Programs) - {Programs.SYMBOLIC}
    names = {kind: {program.module.name for program in drawn(1, 0, 30, kind)} for kind in kinds}
    assert names == {
        Programs.LOOPS: {"fuzz"},
        Programs.WHILES: {"whiles"},
        Programs.GRAPHS: {"graph"},
        Programs.ALL: {"fuzz", "graph", "whiles"},
        Programs.DYNAMIC: {"dynamic"},
        Programs.SIZES_OUTSIDE: {"dynamic"},
        Programs.WRONG_COUNTS: {"whiles"},
    }


def test_programs_with_unknown_sizes_are_drawn_and_the_same_every_time() -> None:
    first, second = drawn(1, 0, 10, Programs.SYMBOLIC), drawn(1, 0, 10, Programs.SYMBOLIC)
    assert len(first) == 10
    assert [str(program.module) for program in first] == [str(program.module) for program in second]


def test_a_batch_is_the_same_every_time() -> None:
    first, second = drawn(1, 2, 30), drawn(1, 2, 30)
    assert len(first) == 30
    for a, b in zip(first, second, strict=True):
        assert structure(a.module) == structure(b.module)
        assert (a.input_seed, a.environment, a.features) == (b.input_seed, b.environment, b.features)


def test_batches_and_seeds_differ() -> None:
    texts = {hash(structure(drawn(seed, batch, 10)[-1].module)) for seed in (1, 2) for batch in (0, 1)}
    assert len(texts) == 4


def test_drawing_can_be_stopped() -> None:
    seen = []

    def visit(index: int, _: Program) -> None:
        seen.append(index)
        if index == 4:
            raise StopDrawing

    for_each_program(1, 0, 30, visit)
    assert seen == [0, 1, 2, 3, 4]


def test_what_a_visitor_raises_comes_out_and_nothing_is_visited_after_it() -> None:
    seen = []

    def visit(index: int, _: Program) -> None:
        seen.append(index)
        if index == 4:
            raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        for_each_program(1, 0, 30, visit)
    assert seen == [0, 1, 2, 3, 4]


def test_every_graph_of_a_campaign_is_in_one_workers_share() -> None:
    for workers in (1, 2, 3, 7):
        shares = [
            [(batch, JOB.size_of(batch)) for batch in worker.batches()]
            for number in range(workers)
            for worker in [Job((), {}, 1, number, workers, "", "", examples=1010, first=Position(number, 0))]
        ]
        together = sorted(share for worker in shares for share in worker)
        assert [batch for batch, _ in together] == list(range(len(together)))


def test_a_small_campaign_is_cut_so_that_workers_can_share_it() -> None:
    sizes = [JOB.size_of(batch) for batch in JOB.batches()]
    assert sizes == [25] * 4
    assert sum(sizes) == JOB.examples


def test_a_job_arrives_as_it_was_sent() -> None:
    job = Job(
        ("dce", "cse"),
        {"A": "1"},
        1,
        0,
        2,
        "out",
        "cache",
        deadline=1.5,
        first=Position(4, 7, 1),
        programs=Programs.GRAPHS,
        voted=0.5,
        given_up=(0,),
        alone=True,
        save_as="agree",
        why="x",
    )
    assert Job.from_json(job.to_json()) == job
