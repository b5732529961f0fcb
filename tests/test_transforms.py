"""The models of cuFFT and cuRAND: layouts, plans, random numbers, bad input."""

import json
from ctypes import c_double, c_float, c_int, c_size_t, c_void_p
from pathlib import Path

import numpy as np
import pytest
import torch

from verification import transform_calls
from verification.library_calls import World
from weft.chapters import Chapter
from weft.libraries import cufft, curand, library, on_device
from weft.libraries.cufft import Type
from weft.libraries.faults import ModelFault, Refusal
from weft.libraries.loading import on_model
from weft.libraries.model import Model
from weft.libraries.model_cufft import CuFFT
from weft.libraries.model_curand import stream_words
from weft.libraries.philox import open_at_zero, philox_words, words

arrays = Chapter("26_curand_cufft").arrays
copy_corner, multiply, zeros = arrays.copy_corner, arrays.multiply, arrays.zeros

RECORDED = Path(__file__).parents[1] / "book/recordings/26_curand_cufft/numbers.json"
CALLS = Path(__file__).parents[1] / "verification/transform_calls.json"
ANSWERS = json.loads(CALLS.read_text(encoding="utf-8"))
PHILOX = curand.RngType.PSEUDO_PHILOX4_32_10
ONES = 0xFFFFFFFF
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)


def rows(kind: Type, n: int, batch: int) -> int:
    plan = cufft.create()
    cufft.make_plan1d(plan, n, kind, batch)
    return plan


# cuFFT


def test_there_and_back_multiplies_by_the_size() -> None:
    x = torch.randn(3, 10)
    real, spectrum = on_device(x), zeros(3, 6, dtype=torch.complex64)
    there, back = rows(Type.R2C, 10, 3), rows(Type.C2R, 10, 3)
    cufft.exec_r2c(there, real.data_ptr(), spectrum.data_ptr())
    torch.testing.assert_close(spectrum.cpu(), torch.fft.rfft(x))
    cufft.exec_c2r(back, spectrum.data_ptr(), real.data_ptr())
    torch.testing.assert_close(real.cpu(), 10 * x)
    assert spectrum.cpu().isnan().all()  # it may serve as workspace


def test_real_rows_in_place_are_padded() -> None:
    x = torch.randn(3, 10)
    padded = on_device(torch.nn.functional.pad(x, (0, 2)))
    there, back = rows(Type.R2C, 10, 3), rows(Type.C2R, 10, 3)
    cufft.exec_r2c(there, padded.data_ptr(), padded.data_ptr())
    spectrum = torch.view_as_complex(padded.cpu().view(3, 6, 2))
    torch.testing.assert_close(spectrum, torch.fft.rfft(x))
    cufft.exec_c2r(back, padded.data_ptr(), padded.data_ptr())
    torch.testing.assert_close(padded.cpu()[:, :10], 10 * x)
    tight = on_device(torch.randn(3, 10))
    with pytest.raises(ModelFault, match="ends at byte 1"):
        cufft.exec_r2c(there, tight.data_ptr(), tight.data_ptr())


def test_a_plan_follows_strides_in_two_dimensions() -> None:
    x = torch.randn(2, 6, 8, 3, dtype=torch.complex64)  # every third number, padded
    given, out = on_device(x), zeros(2, 5, 4, dtype=torch.complex64)
    plan = cufft.create()
    inside, wanted = ([6, 8], 3, x.stride(0)), ([5, 4], 1, 20)
    cufft.make_plan_many(plan, 2, [5, 4], *inside, *wanted, Type.C2C, 2)
    cufft.exec_c2c(plan, given.data_ptr(), out.data_ptr(), cufft.Direction.INVERSE)
    aim = torch.fft.ifft2(x[:, :5, :4, 0], norm="forward")
    torch.testing.assert_close(out.cpu(), aim)


def test_strides_are_ignored_without_embed() -> None:
    x = torch.randn(12)
    given, out = on_device(x), zeros(2, 4, dtype=torch.complex64)
    plan = cufft.create()
    cufft.make_plan_many(plan, 1, [6], None, 2, 1, None, 1, 4, Type.R2C, 2)
    cufft.exec_r2c(plan, given.data_ptr(), out.data_ptr())
    torch.testing.assert_close(out.cpu(), torch.fft.rfft(x.view(2, 6)))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: rows(Type.C2C, 0, 1), "CUFFT_INVALID_SIZE (8)"),
        (lambda x: rows(99, 8, 1), "CUFFT_INVALID_TYPE (3)"),
        (lambda x: cufft.destroy(12345), "12345 is no plan"),
        (lambda x: cufft.exec_r2c(cufft.create(), x, x), "never made"),
        (lambda x: cufft.exec_c2c(rows(Type.C2C, 8, 1), x, x, 0), "direction is 0"),
    ],
)
def test_what_cufft_itself_refuses(call, said) -> None:
    address = on_device(torch.zeros(8, dtype=torch.complex64)).data_ptr()
    with pytest.raises(cufft.cuFFTError) as caught:
        call(address)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: cufft.exec_c2c(rows(Type.C2C, 9, 1), x, x, -1), "ends at byte 72"),
        (lambda x: cufft.exec_c2c(rows(Type.C2C, 8, 1), 0, x, -1), "address null"),
        (lambda x: cufft.exec_c2c(rows(Type.C2C, 4, 1), x + 4, x, -1), "byte 4 of"),
        (lambda x: cufft.exec_r2c(rows(Type.C2C, 8, 1), x, x), "made for C2C, not R2C"),
    ],
)
def test_what_cufft_would_not_notice(call, said) -> None:
    address = on_device(torch.zeros(8, dtype=torch.complex64)).data_ptr()
    with pytest.raises(ModelFault) as caught:
        call(address)
    assert said in str(caught.value)


def test_a_refusal_without_a_reason_replaces_none() -> None:
    model = Model()
    plans = CuFFT(model)
    for reason in ("", "rank is 4", ""):
        plans.refused(Refusal(cufft.Result.INVALID_VALUE, reason))
    assert model.refusals == ["CUFFT_INVALID_VALUE: rank is 4."]


def test_one_embed_alone_is_refused() -> None:
    # Recorded on an H200, cuFFT 12: CUFFT_INVALID_VALUE from cufftMakePlanMany.
    plan = cufft.create()
    with pytest.raises(cufft.cuFFTError, match=r"INVALID_VALUE \(4\)"):
        cufft.make_plan_many(plan, 1, [6], [6], 2, 1, None, 1, 4, Type.R2C, 2)


def test_a_destroyed_plan() -> None:
    address = on_device(torch.zeros(8, dtype=torch.complex64)).data_ptr()
    plan = rows(Type.C2C, 8, 1)
    cufft.destroy(plan)
    with pytest.raises(cufft.cuFFTError, match="has been destroyed"):
        cufft.exec_c2c(plan, address, address, -1)


def test_arrays_are_padded_cropped_and_multiplied() -> None:
    wide = zeros(2, 5)
    copy_corner(on_device(torch.ones(3, 4)), wide)
    multiply(wide, on_device(torch.arange(5.0).view(1, 5)), 2)
    assert wide.cpu().tolist() == [[0, 2, 4, 6, 0]] * 2


@pytest.mark.parametrize("case", transform_calls.CASES)
def test_the_models_answer_as_the_libraries_did(case: str) -> None:
    """Numbers agree up to the rounding of sums in float32."""
    model = Model()
    with on_model(model):
        world = World(model.place, lambda x: x.cpu().double().numpy())
        got = transform_calls.answer(world, case)
    np.testing.assert_allclose(got, ANSWERS["answers"][case], atol=3e-3)


def test_every_recorded_answer_has_its_call() -> None:
    assert ANSWERS["answers"].keys() == transform_calls.CASES.keys()


# cuRAND


def test_philox_has_its_known_answers() -> None:
    answers = {
        ((0,) * 4, (0, 0)): "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
        ((ONES,) * 4, (ONES,) * 2): "408f276d 41c83b0e a20bc7c6 6d5451fd",
        PI: "d16cfe09 94fdcceb 5001e420 24126ea1",
    }
    for (counter, key), answer in answers.items():
        got = philox_words([counter], key)[0]
        assert " ".join(f"{word:08x}" for word in got) == answer


def test_seed_and_subsequence_have_64_bits() -> None:
    seed, thread, fours = 5 + (7 << 32), 3 + (9 << 32), 1 + (2 << 32)
    aim = philox_words([(1, 2, 3, 9)], (5, 7))[0]
    assert words(seed, thread, fours, np.arange(4)).tolist() == aim.tolist()


def test_uniform_numbers_lie_above_0_and_reach_1() -> None:
    got = open_at_zero(np.uint32([0, 0xFFFFFF7F, 0xFFFFFF80, ONES]))
    assert got[0] == np.float32(2**-33)
    assert got[1] == np.float32(1 - 2**-24)
    assert got[2] == got[3] == 1


def test_a_generator_goes_on_where_it_was() -> None:
    generator = curand.create_generator(PHILOX)
    curand.set_pseudo_random_generator_seed(generator, 42)
    parts = []
    for count in (4, 8):
        out = zeros(count)
        curand.generate_uniform(generator, out.data_ptr(), count)
        parts += out.cpu().tolist()
    curand.set_generator_offset(generator, 0)
    whole = zeros(12)
    curand.generate_uniform(generator, whole.data_ptr(), 12)
    assert whole.cpu().tolist() == parts
    assert parts[0] == pytest.approx(0.61295986)
    curand.destroy_generator(generator)
    with pytest.raises(ModelFault, match="has been destroyed"):
        curand.generate(generator, whole.data_ptr(), 12)


def test_the_same_seed_does_not_begin_again() -> None:
    # Recorded on an H200, cuRAND 10.4: transform_calls.json, "seed set again".
    generator, parts = curand.create_generator(PHILOX), []
    curand.set_generator_offset(generator, 4)
    for _ in range(2):
        curand.set_pseudo_random_generator_seed(generator, 42)
        out = zeros(4)
        curand.generate_uniform(generator, out.data_ptr(), 4)
        parts += out.cpu().tolist()
    assert parts == open_at_zero(stream_words(42, np.arange(4, 12))).tolist()
    with pytest.raises(ModelFault, match="lacks another seed"):
        curand.set_pseudo_random_generator_seed(generator, 43)


def test_what_the_models_lack_is_no_refusal() -> None:
    generator, out = curand.create_generator(PHILOX), zeros(4).data_ptr()
    dynamic = curand.Ordering.PSEUDO_DYNAMIC
    for call, text in (
        (lambda: curand.generate_normal(generator, out, 4, 0.0, 1.0), "GenerateNormal"),
        (lambda: curand.set_generator_ordering(generator, dynamic), "depends on the"),
        (lambda: curand.create_generator(201), "the generator 201"),
        (lambda: rows(0x69, 8, 1), "the type 0x69, in double precision"),
    ):
        with pytest.raises(ModelFault, match=text) as found:
            call()
        assert found.value.fault.kind == "lacking"


def test_a_float_is_passed_as_a_float() -> None:
    generator, out = curand.create_generator(PHILOX), zeros(4).data_ptr()
    normal = library("curand").curandGenerateNormal
    for passed, text in (
        (c_double, "passed as a double; C expects a float"),
        (c_int, "passed as an integer; C expects a float"),
        (c_float, "lacks curandGenerateNormal"),
    ):
        normal.argtypes = [c_void_p, c_void_p, c_size_t, passed, c_float]
        with pytest.raises(ModelFault, match=text):
            normal(generator, out, 4, 0, 1)


def test_bad_input_to_curand() -> None:
    with pytest.raises(curand.cuRANDError, match=r"CURAND_STATUS_TYPE_ERROR \(103\)"):
        curand.create_generator(7)
    generator = curand.create_generator(PHILOX)
    with pytest.raises(curand.cuRANDError, match="OUT_OF_RANGE"):
        curand.set_generator_ordering(generator, curand.Ordering.PSEUDO_SEEDED)
    with pytest.raises(ModelFault, match="5 numbers of 4 bytes"):
        curand.generate(generator, zeros(4).data_ptr(), 5)
    with pytest.raises(ModelFault, match="lacks the generator PSEUDO_XORWOW"):
        curand.create_generator(curand.RngType.PSEUDO_XORWOW)


def test_the_numbers_are_those_of_a_gpu() -> None:
    found = json.loads(RECORDED.read_text(encoding="utf-8"))
    for ordering in ("PSEUDO_DEFAULT", "PSEUDO_LEGACY", "PSEUDO_BEST"):
        places = np.array([int(i) for i in found[ordering]])
        assert stream_words(42, places).tolist() == list(found[ordering].values())
    for offset in (1, 4, 5, 1000, 300_000):
        got = stream_words(42, offset + np.arange(12)).tolist()
        assert got == found[f"offset {offset}"]


def test_torch_rand_is_predicted() -> None:
    found = json.loads(RECORDED.read_text(encoding="utf-8"))
    cases = [key.split() for key in found if key.startswith("rand ")]
    assert len(cases) == 12
    for _, seed, size in cases:
        values = found[f"rand {seed} {size}"]
        places = np.array([int(i) for i in values])
        threads = 256 * min(-(-int(size) // 256), found["sms"] * 8)
        rounds, rest = np.divmod(places, 4 * threads)
        word, thread = np.divmod(rest, threads)
        got = open_at_zero(words(int(seed), thread, rounds, word))
        assert got.tolist() == list(values.values())
