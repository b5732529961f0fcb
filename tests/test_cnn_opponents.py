"""PyTorch's networks that the fused step of chapter 35 is compared with."""

import numpy as np
import pytest
import torch

from weft.chapters import Chapter

chapter = Chapter("35_mnist_cnn")
opponents, network, measure = chapter.opponents, chapter.network, chapter.measure


@pytest.fixture(scope="module")
def data():
    images, labels = chapter.digits.packed()
    return opponents.on_device(images[:128], labels[:128])


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("tutorial", [False, True])
def test_a_network_computes_what_the_layers_do(data, norm, tutorial):
    given = network.fresh(np.random.default_rng(3), norm=norm)
    net = opponents.Net(norm, tutorial)
    net.load_state_dict(opponents.as_module(given, tutorial=tutorial))
    x = opponents.loaded(data, torch.arange(16))
    p = {name: torch.as_tensor(value) for name, value in given.items()}
    logits = network.network(p, x.permute(0, 2, 3, 1), norm)
    torch.testing.assert_close(net(x), logits.log_softmax(1), atol=1e-4, rtol=1e-3)


def test_a_bias_before_a_normalisation_is_in_tutorials_only():
    biased = opponents.Net(norm=True, tutorial=True).state_dict().keys()
    lean = opponents.Net(norm=True).state_dict().keys()
    assert biased - lean == {"conv1.bias", "conv2.bias"}
    assert "conv1.bias" in opponents.Net().state_dict()


def test_a_step_learns_from_one_batch_after_the_other(data):
    torch.manual_seed(0)
    net = opponents.Net().to(memory_format=torch.channels_last)
    order = torch.arange(128, dtype=torch.int32)
    step = opponents.half_step(data, order, 64, net, rate=0.1)

    def right():
        with torch.no_grad():
            found = net(opponents.loaded(data, order.long())).argmax(1)
        return (found == data["labels"]).float().mean().item()

    before = right()
    for _ in range(40):
        step()
    assert right() > max(0.8, before)


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("sm90_xmma_fprop_implicit_gemm_bf16bf16_nhwc", "convolutions"),
        ("void cutlass__5x_cudnn::Kernel<cutlass_wgrad_optimized>", "convolutions"),
        ("triton_tem_fused__to_copy_convolution_4", "convolutions"),
        ("triton_poi_fused_convolution_max_pool2d_relu_3", "pooling and its gradient"),
        ("nvjet_hsh_128x256_64x4_TNN", "matrix products"),
        ("triton_tem_fused_mm_7", "matrix products"),
        ("triton_red_fused_sum_9", "sums"),
        ("triton_poi_fused_add_1", "other generated kernels"),
        ("Memset (Device)", "the rest"),
    ],
)
def test_a_kernel_is_known_by_its_name(kernel, kind):
    assert measure.kind_of(kernel) == kind
