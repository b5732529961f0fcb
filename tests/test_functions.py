"""What the check of a plain Python function says."""

from weft import check


def test_a_pair_has_no_first_element_before_all_others() -> None:
    def peaks(n):
        return n, n

    verdict = check(peaks, spec=lambda n: (n, 2 * n), inputs=[(3,)], unseen=False)
    assert verdict.kind == "wrong-value"
    assert "result[1] is 3 and should be 6" in verdict.message
    assert not verdict.why


def test_a_float_on_the_host_is_not_what_numba_refuses() -> None:
    def half(n):
        return n / 2

    verdict = check(half, spec=lambda n: n // 2, inputs=[(4,)], unseen=False)
    assert verdict.kind == "type"
    assert "a float instead of an integer" in verdict.title
    assert "Numba" not in verdict.title


def test_a_long_text_is_named_by_its_first_line() -> None:
    def lines(text):
        return 0

    text = "\n    ld.global.f32     %f1, [%rd8];\n    ret;\n"
    verdict = check(lines, spec=lambda t: 2, inputs=[(text,)], unseen=False)
    assert verdict.message == (
        'lines("ld.global.f32 %f1, [%rd8]; …" (2 lines)) returns 0 and should return 2.'
    )
