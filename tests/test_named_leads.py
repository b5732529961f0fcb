"""What the checks say of wrong answers that learners gave: the lead, in words."""

import pytest

import weft  # noqa: F401  before Numba
from verification.cells import checks, run, scope_of
from weft import chapters
from weft.checking.verdict import Verdict
from weft.device import toolkit

COMPILED = pytest.mark.skipif(bool(toolkit.find().missing), reason="no compiler")

# What a verdict says, in its sentences or beside a line.
SAID = {
    "12_global_memory/copy_pieces/wrong_width_of_64": ["blocks of 96 threads"],
    "12_global_memory/polynomial/wrong_stops_at_one": ["the last step is missing"],
    "12_global_memory/polynomial/wrong_from_the_front": ["in the other order"],
    "12_global_memory/polynomial/wrong_first_twice": ["second time with x⁸"],
    "12_global_memory/polynomial/wrong_added_before": ["before the product with `x`"],
    "12_global_memory/polynomial/wrong_index_one_off": ["`c[k + 1]` for `c[k]`"],
    "16_softmax/softmax_warp/wrong_maximum_of_some_lanes": [
        "Lane 0 is at line 20 while lanes 1–31 are at line 24",
        "What leads lanes 1–31 past line 20?",
    ],
    "21_tensor_cores/gemm_pipelined/wrong_wraps_too_early": [
        "The barrier on line 27 is before both lines, 28 and 30."
    ],
    "21_tensor_cores/gemm_pipelined/wrong_write_stays": ["before both lines"],
    "16_softmax/merge_pairs/wrong_maximum_overwritten": [
        "This is the result if `s` is not rescaled",
        "In row 4, m = 79.59",
        "return m, s: the value comes from here",
    ],
    "16_softmax/merge_pairs/wrong_exchanged": ["maximum and sum are exchanged"],
    "16_softmax/softmax_passes/wrong_result_thrown_away": [
        "the threads' maxima are not combined",
        "block_max(m): the result of `block_max` is thrown away",
    ],
    "16_softmax/softmax_passes/wrong_sum_replaced": ["sum is only its last power"],
    "16_softmax/softmax_warp/wrong_part_of_the_maximum": [
        "Does the maximum see all scores"
    ],
    "16_softmax/softmax_warp/wrong_scores_are_divided": ["and not their powers"],
    "16_softmax/softmax_warp/wrong_largest_sum": ["the largest of the lanes' sums"],
    "16_softmax/softmax_warp/wrong_lanes_sum": ["lanes' sums are not combined"],
    "16_softmax/softmax_warp/wrong_lanes_maximum": ["lanes' maxima are not combined"],
    "16_softmax/softmax_warp/wrong_filler_is_zero": ["beyond the end counts as 0"],
    "16_softmax/softmax_block/wrong_lane_0_merges": ["only lane 0 of each warp has"],
    "16_softmax/softmax_block/wrong_sums_as_they_are": ["without being rescaled"],
    "16_softmax/softmax_backward/wrong_sum_replaced": ["only its last product"],
    "16_softmax/softmax_backward/wrong_filler_is_minus_infinity": [
        "counts as minus infinity"
    ],
    "16_softmax/softmax_backward/wrong_sum_combined_in_the_loop": [
        "summed again in each turn"
    ],
}
COMPILES = {
    "12_global_memory/polynomial/wrong_power_of_a_variable": [
        "`x[i] ** k` is computed in float64",
        "float64 on 1 line.",
    ],
}


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def verdict_on(answer: str) -> Verdict:
    """What the lab's check says of a wrong answer."""
    lab, exercise, name = answer.split("/")
    path = chapters.folder() / lab / "answers" / exercise / f"{name}.py"
    scope = scope_of(lab)
    run(path.read_text(encoding="utf-8"), f"<{answer}>", scope)
    found: Verdict = run(checks(lab)[exercise], "<check>", scope)
    return found


def said(verdict: Verdict) -> str:
    notes = [f"{place.text}: {note}" for place, note in verdict.places]
    return " ".join([verdict.message, verdict.why, verdict.when, *notes])


@pytest.mark.parametrize("answer", SAID)
def test_a_wrong_answer_has_a_lead(answer: str) -> None:
    found = said(verdict_on(answer))
    assert [part for part in SAID[answer] if part not in found] == [], found


@COMPILED
@pytest.mark.parametrize("answer", COMPILES)
def test_what_the_compiler_found_has_a_cause(answer: str) -> None:
    found = said(verdict_on(answer))
    assert [part for part in COMPILES[answer] if part not in found] == [], found
