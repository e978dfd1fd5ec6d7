from collections.abc import Callable

import pytest

from hlo.attributes import ScanOptions

Infer = Callable[..., str]

SUM = "(f32[2], f32[2]) -> (f32[2], f32[2])"


def test_a_scan_puts_the_dimension_back_into_its_outputs(infer: Infer) -> None:
    assert (
        infer("scan", "f32[5,2]", "f32[2]", attributes=ScanOptions(0, 1), called=[SUM])
        == "(f32[5,2], f32[2])"
    )
    body = "(f32[2], s8[1], pred[3]) -> (s16[4,6], pred[3])"
    gives = infer("scan", "f32[2,7]", "s8[1,7]", "pred[3]", attributes=ScanOptions(1, 1), called=[body])
    assert gives == "(s16[4,7,6], pred[3])"
    dynamic = "(f32[<=2]) -> (f32[<=2,3])"
    assert infer("scan", "f32[5,<=2]", attributes=ScanOptions(0, 0), called=[dynamic]) == "(f32[5,<=2,3])"


def test_a_computation_that_gives_an_array_makes_a_scan_of_an_array(infer: Infer) -> None:
    assert infer("scan", "f32[3,2]", attributes=ScanOptions(0, 0), called=["(f32[2]) -> s8[]"]) == "s8[3]"


@pytest.mark.parametrize(
    ("operands", "options", "body", "message"),
    [
        (("f32[5,2]", "f32[2]"), ScanOptions(2, 1), SUM, "dimension 2"),
        (("f32[5,2]", "f32[2]"), ScanOptions(0, 2), SUM, "2 operands are not an input and 2 carries"),
        (("f32[5,2]", "f32[2]"), ScanOptions(0, -1), SUM, "-1 carries"),
        (("f32[<=5,2]", "f32[2]"), ScanOptions(0, 1), SUM, "is dynamic"),
        (("f32[5,2]", "f32[3]"), ScanOptions(0, 1), SUM, "expected (f32[2], f32[3])"),
        (
            ("f32[5,2]", "f32[2]"),
            ScanOptions(0, 1),
            "(f32[2], f32[2]) -> (f32[2], f32[3])",
            "does not end in",
        ),
        (("f32[5,2]", "f32[2]"), ScanOptions(0, 1), "(f32[2], f32[2]) -> ()", "does not end in"),
        (
            ("f32[2,5]", "f32[2]"),
            ScanOptions(1, 1),
            "(f32[2], f32[2]) -> (f32[], f32[2])",
            "no room for dimension 1",
        ),
        (("f32[5]", "f32[4]"), ScanOptions(0, 0), "(f32[], f32[]) -> f32[]", "differ along dimension 0"),
    ],
)
def test_a_scan_that_does_not_fit_is_refused(
    refusal: Infer, operands: tuple[str, ...], options: ScanOptions, body: str, message: str
) -> None:
    assert message in refusal("scan", *operands, attributes=options, called=[body])
